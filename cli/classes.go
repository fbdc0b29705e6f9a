package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/train"
	"ocl/run/trained"
)

// changedJSON is what `ocl classes RUN OPERATION --json` prints.
type changedJSON struct {
	Run     string         `json:"run"` // the new folder
	Parent  string         `json:"parent"`
	Changes []train.Change `json:"changes"`
	Carried string         `json:"carried,omitempty"` // what the learner still has of what has gone
}

func newClasses() *cobra.Command {
	var out, as string
	var older bool
	var asJSON jsonFlag
	cmd := &cobra.Command{
		Use:   "classes RUN [rename OLD NEW | merge A B | remove A]",
		Short: "List the classes of a run's learner, or make a new run in which one has another name, is part of another one, or is gone.",
		Example: `  ocl classes runs/photos
  ocl classes runs/photos rename lion big_cat
  ocl classes runs/photos merge wolf dog --as canine -o runs/fewer
  ocl classes runs/photos remove spider`,
		Long: "RUN is the folder of a run with a checkpoint, or of an experiment with one such run. It stays as it is: the new run has it as its parent, keeps the method, the memory and all that was learned, and records the change. " +
			"rename gives a class another name, and merge makes the class A a part of B. slda, ranpac and ncm merge exactly, as if all pictures had been of one class; remove is exact for ncm, and the command says what others still carry. " +
			"A network with a memory gets new labels in it, and an output less. icarl, gdumb and cndpm can only rename. Names are compared without case and in any spelling of Unicode.",
		ValidArgsFunction: completeFolder,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exactly("RUN")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				for _, name := range []string{"out", "as"} {
					if cmd.Flags().Changed(name) {
						return usage(fmt.Errorf("classes: --%s is given, but nothing is changed. Add rename OLD NEW, merge A B or remove A",
							name))
					}
				}
				return listClasses(cmd, args[0], older, &asJSON)
			}
			list, err := changesOf(args[1], args[2:], as)
			if err != nil {
				return usage(err)
			}
			written, carried, err := trained.Changed(cmd.Context(), args[0], out, older, list...)
			if errors.Is(err, trained.ErrClasses) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			text := fmt.Sprintf("new run: %s\n", escape.Line(written))
			if carried != "" {
				text += carried + "\n"
			}
			return asJSON.printOr(cmd.OutOrStdout(), changedJSON{written, args[0], list, carried}, text)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "out", "o", "", "DIR\tfolder of the new run (default: beside RUN)")
	flags.StringVar(&as, "as", "", "NAME\tname of the class that merge makes (default: B)")
	addOlder(cmd, &older)
	addJSON(cmd, &asJSON, []trained.Class{}, changedJSON{})
	_ = cmd.MarkFlagDirname("out")
	return cmd
}

// changesOf are the changes that the words of a command line ask for.
func changesOf(operation string, names []string, as string) ([]train.Change, error) {
	wants := map[string]int{train.Rename: 2, train.Merge: 2, train.Remove: 1}
	want, known := wants[operation]
	switch {
	case !known:
		return nil, fmt.Errorf("classes: there is no operation %.40q. Use rename, merge or remove, after RUN", operation)
	case len(names) != want:
		return nil, fmt.Errorf("classes: %s takes %s, and %d were given. Put a name with spaces in quotes", operation,
			count.Of(want, "name"), len(names))
	case as != "" && operation != train.Merge:
		return nil, fmt.Errorf("classes: --as is the name of the class that merge makes. Remove it, or merge")
	}
	names = append(slices.Clone(names), "")
	list := []train.Change{{Operation: operation, Class: names[0], Into: names[1]}}
	if as != "" {
		list = append(list, train.Change{Operation: train.Rename, Class: names[1], Into: as})
	}
	return list, nil
}

// listClasses prints the classes of a run.
func listClasses(cmd *cobra.Command, run string, older bool, asJSON *jsonFlag) error {
	t, err := trained.Open(cmd.Context(), run, trained.Options{Older: older})
	if err != nil {
		return err
	}
	defer t.Close()
	printNotes(cmd.ErrOrStderr(), t.Notes)
	all, err := t.Classes()
	if err != nil {
		return err
	}
	samples := "samples"
	if all[0].Samples == nil {
		samples = "stored"
	}
	list := table{head: []string{"class", ">number", ">" + samples, ">accuracy"}}
	for _, c := range all {
		n, accuracy := "", ""
		for _, v := range []*int64{c.Samples, c.Stored} {
			if v != nil {
				n = count.Number(int(*v))
			}
		}
		if c.Accuracy != nil {
			accuracy = count.Percent(*c.Accuracy) + " %"
		}
		list.rows = append(list.rows, []string{escape.Line(c.Name), strconv.Itoa(c.Number), n, accuracy})
	}
	return asJSON.printOr(cmd.OutOrStdout(), all, list.String())
}
