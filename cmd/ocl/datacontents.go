package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ocl/data"
	"ocl/internal/count"
)

// contentsJSON is what `ocl data info NAME --data-dir PATH --json` prints. Lists are never null.
type contentsJSON struct {
	Name       string   `json:"name"`
	Train      int      `json:"train"` // images
	Test       int      `json:"test"`
	Shape      [3]int   `json:"shape"` // C, H, W
	Classes    int      `json:"classes"`
	ClassNames []string `json:"class_names"`
	Tasks      int      `json:"tasks"` // that the files give
	TaskNames  []string `json:"task_names"`
	Domains    []string `json:"domains"`
	Digest     string   `json:"digest"`
	Notes      []string `json:"notes"`
}

// printContents opens a data set and says what is in it.
func printContents(cmd *cobra.Command, spec data.Spec, asJSON bool) error {
	show := newOpening(cmd.ErrOrStderr())
	set, err := opened(cmd.Context(), spec, show)
	show.end()
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), contentsJSON{
			set.Name, set.Train.Len(), set.Test.Len(), [3]int{set.C, set.H, set.W}, set.Classes, notNil(set.ClassNames),
			set.Tasks, notNil(set.TaskNames), notNil(set.Domains), set.Digest, notNil(set.Notes),
		})
	}
	return writeContents(cmd.OutOrStdout(), set)
}

// opened opens a data set and shows how far it is.
func opened(ctx context.Context, spec data.Spec, show *opening) (*data.Set, error) {
	spec.Progress = show.work
	return data.Open(ctx, spec)
}

// listedNames is how many names of classes, tasks or domains are printed.
const listedNames = 40

// writeContents prints a data set that is open: a line for each fact, longer ones folded.
func writeContents(w io.Writer, set *data.Set) error {
	var b strings.Builder
	field := func(name, text string) {
		for _, line := range fold(text, plainWidth-10) {
			fmt.Fprintf(&b, "%-9s %s\n", name, line)
			name = ""
		}
	}
	field("data set", set.Name)
	field("images", fmt.Sprintf("%s for training, %s for testing, %d×%d×%d", count.Number(set.Train.Len()), count.Number(set.Test.Len()), set.C, set.H, set.W))
	field("classes", withNames(set.Classes, set.ClassNames))
	if set.Tasks > 0 {
		field("tasks", withNames(set.Tasks, set.TaskNames))
	}
	if len(set.Domains) > 0 {
		field("domains", withNames(len(set.Domains), set.Domains))
	}
	field("digest", set.Digest)
	for _, note := range set.Notes {
		field("note", ended(printable(note)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// withNames is a number and the names behind it, as many as are printed.
func withNames(n int, names []string) string {
	text := count.Number(n)
	if len(names) == 0 {
		return text
	}
	text += ": " + printable(strings.Join(names[:min(listedNames, len(names))], ", "))
	if more := len(names) - listedNames; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
