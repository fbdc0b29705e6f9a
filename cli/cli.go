// Package cli is the command ocl as a library. [Main] runs one command line; cmd/ocl calls it and does nothing else. A
// program that imports methods, data sets, streams or networks of its own calls it too, and has all commands with them.
//
// The package reads flags, prints, and sets exit codes. The work is done by the packages experiment, data, method,
// report and bench. Results go to standard output, progress and messages to standard error. Start at [Main]; the tree
// of commands is in root.go, and `ocl run` in run.go.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ocl/internal/budget"
	"ocl/internal/escape"
	"ocl/internal/limit"
	"ocl/nn"
	"ocl/predict"
	"ocl/run/experiment"
	"ocl/run/train"
	"ocl/run/tune"
)

// exitCodes says what the exit codes mean, for the help.
var exitCodes = [][2]string{
	{"0", "done"},
	{"1", "failed: a file, a disk, data or a run, or runs that do not reproduce the committed ones; everything else was still done"},
	{"2", "wrong usage: an unknown command, flag, key or name, or a value out of range; nothing was done"},
	{"3", "a run diverged and none failed: its loss, or an output of its network, became NaN or infinite"},
	{"4", "`ocl verify` found that a result differs from its run, or `ocl serve verify` that the folder of a daemon is damaged"},
	{"130", "interrupted by Ctrl-C or SIGTERM; what was ready is written"},
}

const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDiverged    = 3
	exitDifferent   = 4
	exitInterrupted = 130
)

// patience is the longest time that a command may take to end after a signal. Tests on busy machines have more.
var patience = limit.SignalMillis * time.Millisecond

// Main runs one command line, such as "run", "--method", "er", and returns the exit code for [os.Exit]. It reads
// standard input and writes to standard output and standard error. The first Ctrl-C or SIGTERM ends the command as the
// end of ctx does; a second one ends the process at once. Main ends the process if the command does not end within two
// seconds of the first; only the report of `ocl watch` may take longer. Call it once.
func Main(ctx context.Context, args ...string) int {
	if err := budget.Check(); err != nil {
		fmt.Fprintf(os.Stderr, "ocl: %s.\n", err)
		return exitFailed
	}
	collectEarly()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ended := make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	defer end()
	ctx = context.WithValue(ctx, unhurried{}, end)
	context.AfterFunc(ctx, func() {
		stop() // a second Ctrl-C ends the process at once
		endLate(ended, time.After(patience))
	})
	return execute(ctx, args, os.Stdout, os.Stderr)
}

// unhurried is the key of the function that lets a command take its time after a signal. A second signal still ends the
// process at once.
type unhurried struct{}

// takeTime lets the command of a context work for longer than [patience] after a signal: what it does then is what the
// signal asked for.
func takeTime(ctx context.Context) {
	if end, ok := ctx.Value(unhurried{}).(func()); ok {
		end()
	}
}

// endLate ends the process if it is late before the command has ended: something does not look at its context, or waits
// for a disk or another process. All files appear as a whole, so that nothing is torn.
func endLate(ended <-chan struct{}, late <-chan time.Time) {
	select {
	case <-ended: // the program may do other things, or the command takes its time
		return
	case <-late:
	}
	time.AfterFunc(100*time.Millisecond, func() { os.Exit(exitInterrupted) }) // perhaps nobody reads standard error
	fmt.Fprintf(os.Stderr, "ocl: the command did not end within %s of the signal, so it was ended. The files that it had written are complete.\n",
		duration(patience))
	os.Exit(exitInterrupted)
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return executeRoot(ctx, newRoot(stdout, stderr), args, stderr)
}

func executeRoot(ctx context.Context, root *cobra.Command, args []string, stderr io.Writer) int {
	root.SetArgs(args)
	var unwritten error
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { unwritten = printHelp(cmd, cmd.OutOrStdout()) })
	err := train.Caught(func() error {
		if err := nn.CheckEnvironment(); err != nil {
			return usage(err)
		}
		err := root.ExecuteContext(ctx)
		return errors.Join(err, unwritten) // cobra asks nobody whether the help could be written
	})
	if err != nil {
		for fault := range strings.SplitSeq(interrupted(err.Error()), "\n") { // joined errors are one a line
			fmt.Fprintf(stderr, "%s %s\n", paint(root, stderr, red, "ocl:"), sentence(fault))
		}
	}
	if list := panics(err); len(list) > 0 {
		tellPanics(stderr, args, list)
	}
	return exitCode(err)
}

// ofSignals are Go's words for the cause of an end by a signal, in those of a person.
var ofSignals = strings.NewReplacer("interrupt signal received", "interrupted", "terminated signal received",
	"interrupted")

// interrupted is a message in a person's words, and not Go's, where the command was interrupted.
func interrupted(text string) string {
	text = ofSignals.Replace(text)
	before, was := strings.CutSuffix(text, context.Canceled.Error())
	said := strings.Contains(before, "interrupted") || strings.Contains(before, "stopped")
	switch {
	case !was:
		return text
	case said:
		return strings.TrimSuffix(before, ": ")
	default:
		return before + "interrupted"
	}
}

// longName is a name that is longer than that of any file. The parts of paths and lists are names of their own.
var longName = regexp.MustCompile(`[^\s/,]{256,}`)

// shortened is a line of a message without the middle of long names: nothing has such a name, so they are unknown
// values that somebody gave.
func shortened(line string) string {
	return longName.ReplaceAllStringFunc(line, func(name string) string {
		r := []rune(name)
		return string(r[:60]) + "…" + string(r[len(r)-20:])
	})
}

// sentence is a line of a message as it is shown: safe, with one prefix, and with a full stop.
func sentence(fault string) string { return ended(shortened(onePrefix(escape.Line(fault)))) }

// packages are the packages whose errors begin with their name, which a command removes because it is for programmers.
// A name that is also that of a key, a format or a data set is not among them.
var packages = []string{"api", "arch", "augment", "backbone", "bench", "calibrate", "checkpoint", "client",
	"compare", "config", "daemon", "data", "doctor", "embed", "experiment", "fetch", "findings", "identity",
	"journal", "kernel", "labelstudio", "learner", "live", "load", "loss", "method", "metric", "nn", "optim",
	"paper", "plan", "predict", "probe", "report", "reproduce", "result", "rng", "serve", "served", "sheet",
	"shift", "stream", "study", "survey", "train", "trained", "tune", "watch"}

// onePrefix is a line of a message that has passed through several packages, without their names behind the first
// prefix. Files and other places stay, also a file that is called like a package.
func onePrefix(line string) string {
	kept, rest := "", line
	for {
		name, after, more := strings.Cut(rest, ": ")
		if !more || name == "" || strings.ContainsAny(name, " `\"") {
			return kept + rest
		}
		if kept == "" || !slices.Contains(packages, name) || isPlace(name, after) {
			kept += name + ": "
		}
		rest = after
	}
}

// isPlace says whether a name is that of a file or folder here, or of one of which the system says what is wrong with
// it.
func isPlace(name, after string) bool {
	const errnos = 134
	for e := syscall.Errno(1); e < errnos; e++ {
		if strings.HasPrefix(after, e.Error()) {
			return true
		}
	}
	_, err := os.Lstat(name)
	return err == nil
}

// ended is a line of a message with a full stop at its end, unless it ends in another sign.
func ended(line string) string {
	if line == "" || strings.ContainsRune(".?!:", rune(line[len(line)-1])) {
		return line
	}
	return line + "."
}

// coded is an error with an exit code of its own.
type coded struct {
	error
	code int
}

func (e coded) Unwrap() error { return e.error }

// usage marks err as a wrong command line or a wrong config; nil stays nil.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return coded{err, exitUsage}
}

// unfit marks an error about settings that fit neither the data nor each other as wrong usage.
func unfit(err error) error {
	for _, such := range []error{experiment.ErrUnfit, tune.ErrGrid, predict.ErrUnfit, predict.ErrClassifier} {
		if errors.Is(err, such) {
			return usage(err)
		}
	}
	return err
}

// exitCode returns the code of the gravest of the errors that err joins. The code of a run that diverged is returned if
// nothing else is wrong.
func exitCode(err error) int {
	all := codes(err)
	others := func(code int) bool { return code != exitDiverged }
	switch {
	case err == nil:
		return exitDone
	case len(panics(err)) > 0:
		return exitFailed
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case slices.Contains(all, exitUsage):
		return exitUsage
	case !slices.ContainsFunc(all, others):
		return exitDiverged
	case slices.Contains(all, exitDifferent):
		return exitDifferent
	}
	return exitFailed
}

// codes are the exit codes of the errors that err joins.
func codes(err error) (all []int) {
	if own, ok := err.(coded); ok { //nolint:errorlint // the tree is walked here
		return []int{own.code}
	}
	inner := causes(err)
	if len(inner) == 0 {
		return []int{exitFailed}
	}
	for _, e := range inner {
		all = append(all, codes(e)...)
	}
	return all
}
