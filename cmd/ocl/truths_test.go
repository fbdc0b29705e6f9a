package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestTruthApart: for every flag of every command that is true or false, "--flag false" says how to write it.
func TestTruthApart(t *testing.T) {
	tried := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "bool" || f.Name == "help" || !cmd.Runnable() {
				return
			}
			tried++
			var out, stderr bytes.Buffer
			code := execute(context.Background(), append(append([]string{}, path...), "--"+f.Name, "false"), &out, &stderr)
			if want := "Write --" + f.Name + "=false."; code != exitUsage || !strings.Contains(stderr.String(), want) {
				t.Errorf("%s --%s false: exit code %d, %s", cmd.CommandPath(), f.Name, code, stderr.String())
			}
		})
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(newRoot(&bytes.Buffer{}, &bytes.Buffer{}))
	if tried < 20 {
		t.Errorf("only %d flags were tried", tried)
	}
}

// TestTruthsThatAreValues: a word that a flag takes as its value, or that follows --, is no truth apart.
func TestTruthsThatAreValues(t *testing.T) {
	for _, args := range [][]string{
		{"run", "--out", "--quiet", "false"}, {"report", "--", "--json", "false"}, {"run", "--quiet=true", "false"}, {"run", "--nothing", "false"},
		{"run", "-q", "quiet"}, {"nothing", "--json", "false"},
	} {
		if err := checkTruths(newRoot(&bytes.Buffer{}, &bytes.Buffer{}), args); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	if err := checkTruths(newRoot(&bytes.Buffer{}, &bytes.Buffer{}), []string{"run", "-q", "FALSE"}); err == nil || !strings.Contains(err.Error(), "Write --quiet=false") {
		t.Errorf("-q FALSE: %v", err)
	}
}
