// Command ocl trains networks on streams seen once and measures what they learn and forget.
//
// It reads flags, prints and sets exit codes; what it does is in the packages experiment, data, method, report and bench.
// Results go to standard output, progress and messages to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage,
// 130 interrupted. Start at [newRoot]; `ocl run` is in run.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"ocl/internal/kernel"
	"ocl/nn"
)

// Exit codes of the command.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// heapGrowth is how far, in per cent, the heap may grow before it is collected. A training step allocates nothing, so
// collecting often costs nothing there, and the peak stays near what the data and the network need.
const heapGrowth = 25

func main() {
	debug.SetGCPercent(heapGrowth)
	// After the first signal the default action is restored, so that a second Ctrl-C ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	err := errors.Join(kernel.CheckEnvironment(), nn.CheckEnvironment())
	if err != nil {
		err = usage(err)
	} else {
		err = root.ExecuteContext(ctx)
	}
	code := exitCode(err)
	if err != nil {
		text := strings.TrimSuffix(err.Error(), ": "+context.Canceled.Error()) // the exit code says so
		for fault := range strings.SplitSeq(text, "\n") {                      // joined errors are one a line
			fmt.Fprintf(stderr, "%s %s\n", paint(root, stderr, red, "ocl:"), fault)
		}
	}
	return code
}

// usageError is a wrong command line or a wrong config: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usage marks err as wrong usage; nil stays nil.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

func exitCode(err error) int {
	var u usageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &u):
		return exitUsage
	}
	return exitFailed
}
