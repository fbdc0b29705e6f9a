package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"ocl/experiment/train"
)

// guard calls f and turns a panic into an error with the stack.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &train.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

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

// tellPanics writes the stacks of panics into a new file and says on w where the file is. If no file can be written, the
// stacks go to w.
func tellPanics(w io.Writer, args []string, list []*train.PanicError) {
	text := panicText(args, list)
	name := fmt.Sprintf("ocl-panic-%s-%d.txt", time.Now().UTC().Format("20060102-150405"), os.Getpid())
	var faults []string
	for _, path := range []string{name, filepath.Join(os.TempDir(), name)} {
		err := writeNew(path, text)
		if err == nil {
			fmt.Fprintf(w, "ocl: version, command line and stack are in %s. Please attach that file to your report.\n", printable(path))
			return
		}
		faults = append(faults, err.Error())
	}
	fmt.Fprintf(w, "ocl: no file can be written (%s). Please add the following lines to your report.\n", printable(strings.Join(faults, "; ")))
	for line := range strings.Lines(text) {
		fmt.Fprintln(w, printable(strings.TrimSuffix(line, "\n")))
	}
}

func panicText(args []string, list []*train.PanicError) string {
	v := readVersion()
	var b strings.Builder
	fmt.Fprintf(&b, "ocl %s, revision %s, numbers %d, kernel %s, %s %s\ntime     %s\ncommand  ocl", v.Version, v.source(), v.Numbers, v.Kernel,
		v.Go, v.Platform, time.Now().UTC().Format(time.RFC3339))
	for _, a := range args {
		fmt.Fprintf(&b, " %s", quoteWord(a))
	}
	fmt.Fprintln(&b)
	for _, p := range list {
		fmt.Fprintf(&b, "\npanic: %v\n\n%s", p.Value, p.Stack)
	}
	return b.String()
}

// writeNew writes a new file.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}
