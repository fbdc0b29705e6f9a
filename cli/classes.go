package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/data"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/experiment"
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
	var out, as, by string
	var older bool
	var asJSON jsonFlag
	cmd := &cobra.Command{
		Use:   "classes RUN [rename OLD NEW | merge A B | split A | remove A]",
		Short: "List the classes of a run's learner, or make a new run in which one has another name, is part of another one, is several, or is gone.",
		Example: `  ocl classes runs/photos
  ocl classes runs/photos rename lion big_cat
  ocl classes runs/photos merge wolf dog --as canine -o runs/fewer
  ocl classes runs/photos split bird --by birds
  ocl classes runs/photos remove spider`,
		Long: "RUN is the folder of a run with a checkpoint, or of an experiment with one such run. It stays as it is: the new run has it as its parent, keeps the method, the memory and all that was learned, and records the change. " +
			"rename gives a class another name, and merge makes the class A a part of B, whose name stays unless --as gives another. slda, ranpac and ncm merge exactly, as if all pictures had been of one class; remove is exact for ncm, and the command says what others still carry. " +
			"split makes several classes of one: --by has a folder for each new class, or a table of paths and labels, with pictures of A that the run has learned; pictures that are not there, or under the name A, stay in A. " +
			"slda, ranpac and ncm then are as if the pictures had come under the new names. " +
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
				for _, name := range []string{"out", "as", "by"} {
					if cmd.Flags().Changed(name) {
						return usage(fmt.Errorf("classes: --%s is given, but nothing is changed. Add rename OLD NEW, merge A B, split A or remove A",
							name))
					}
				}
				return listClasses(cmd, args[0], older, &asJSON)
			}
			list, err := changesOf(args[1], args[2:], as, by)
			if err != nil {
				return usage(err)
			}
			var made trained.Reclassed
			if args[1] == train.Split {
				show := newOpening(cmd.ErrOrStderr(), false)
				made, err = trained.Split(cmd.Context(), args[0], out, older, args[2], by,
					func(ctx context.Context, c config.Config) (*data.Set, error) {
						return experiment.OpenData(ctx, c, experiment.Options{Progress: show.work, Embedding: show.embedding})
					})
				show.end()
			} else {
				made, err = trained.Changed(cmd.Context(), args[0], out, older, list...)
			}
			if errors.Is(err, trained.ErrClasses) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			printNotes(cmd.ErrOrStderr(), made.Notes)
			text := fmt.Sprintf("new run: %s\n", escape.Line(made.Folder))
			if args[1] == train.Merge { // people ask which name stays
				for _, c := range made.Changes {
					text += changed(c) + "\n"
				}
			}
			if made.Carried != "" {
				text += made.Carried + "\n"
			}
			for i := range made.Changes {
				made.Changes[i].Pictures = nil // the checkpoint has them
			}
			return asJSON.printOr(cmd.OutOrStdout(), changedJSON{made.Folder, args[0], made.Changes, made.Carried}, text)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "out", "o", "", "DIR\tfolder of the new run (default: beside RUN)")
	flags.StringVar(&as, "as", "", "NAME\tname of the class that merge makes (default: B)")
	flags.StringVar(&by, "by", "", "FOLDER|CSV\tpictures of A, in a folder for each class or in a table of paths and labels, for split")
	addOlder(cmd, &older)
	addJSON(cmd, &asJSON, []trained.Class{}, changedJSON{})
	_ = cmd.MarkFlagDirname("out")
	return cmd
}

// changesOf are the changes that the words of a command line ask for.
func changesOf(operation string, names []string, as, by string) ([]train.Change, error) {
	forms := map[string]string{train.Rename: "OLD NEW", train.Merge: "A B", train.Split: "A", train.Remove: "A"}
	form, known := forms[operation]
	write := fmt.Sprintf("Write `ocl classes RUN %s %s`", operation, form)
	if operation == train.Split {
		write = "Write `ocl classes RUN split A --by FOLDER` or `--by CSV`"
	}
	switch want := len(strings.Fields(form)); {
	case !known:
		return nil, fmt.Errorf("classes: there is no operation %.40q. Use rename, merge, split or remove, after RUN",
			operation)
	case len(names) != want:
		return nil, fmt.Errorf("classes: %s takes %s, and %d were given. %s, a name with spaces in quotes", operation,
			count.Of(want, "name"), len(names), write)
	case as != "" && operation != train.Merge:
		return nil, fmt.Errorf("classes: --as is the name of the class that merge makes. Remove it, or merge")
	case by != "" && operation != train.Split:
		return nil, fmt.Errorf("classes: --by says which pictures split takes out of a class. Remove it, or split")
	case by == "" && operation == train.Split:
		return nil, fmt.Errorf("classes: split needs --by, which says which pictures are of which new class. %s", write)
	}
	names = append(slices.Clone(names), "")
	list := []train.Change{{Operation: operation, Class: names[0], Into: names[1]}}
	if as != "" && as != names[1] {
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
	text := list.String()
	for i, c := range t.Changes() {
		if i == 0 {
			text += "\n"
		}
		text += changed(c) + "\n"
	}
	return asJSON.printOr(cmd.OutOrStdout(), all, text)
}

// changed is a change in words.
func changed(c train.Change) string {
	class, into := escape.Line(c.Class), escape.Line(c.Into)
	switch c.Operation {
	case train.Rename:
		return fmt.Sprintf("%s was renamed to %s", class, into)
	case train.Merge:
		return fmt.Sprintf("%s was merged into %s", class, into)
	case train.Split:
		return fmt.Sprintf("%s was split off %s, with %s", into, class, count.Of(c.Samples, "picture"))
	}
	return class + " was removed"
}
