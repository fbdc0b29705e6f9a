package cli

import (
	"fmt"
	"io"
	"strings"

	"ocl/internal/escape"
	"ocl/run/train"
)

// panics are the panics among the errors of err.
func panics(err error) []*train.PanicError {
	if p, ok := err.(*train.PanicError); ok { //nolint:errorlint // the tree is walked here: errors.As finds one of several
		return []*train.PanicError{p}
	}
	var found []*train.PanicError
	for _, e := range causes(err) {
		found = append(found, panics(e)...)
	}
	return found
}

// causes are the errors that err wraps.
func causes(err error) []error {
	switch e := err.(type) { //nolint:errorlint // causes itself walks through the tree of errors, one step at a time
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return []error{inner}
		}
	}
	return nil
}

// tellPanics writes the text that a report of panics needs: version, command line and stacks.
func tellPanics(w io.Writer, args []string, list []*train.PanicError) {
	v := readVersion()
	text := fmt.Sprintf("ocl: please add the following lines to your report\nocl %s, revision %s, numbers %d, kernel %s, %s %s\ncommand  ocl",
		v.Version, v.source(), v.Numbers,
		v.Kernel, v.Go, v.Platform)
	for _, a := range args {
		text += " " + escape.Word(a)
	}
	for _, p := range list {
		text += fmt.Sprintf("\n\npanic: %v\n\n%s", p.Value, p.Stack)
	}
	for line := range strings.Lines(text) {
		fmt.Fprintln(w, escape.Line(strings.TrimSuffix(line, "\n")))
	}
}
