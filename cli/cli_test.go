package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"ocl/run/train"
)

func TestExitCodes(t *testing.T) {
	failed := errors.New("no room")
	diverged := coded{errors.New("er, seed 1 diverged"), exitDiverged}
	panicked := fmt.Errorf("er: %w", &train.PanicError{Value: "boom"})
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{context.DeadlineExceeded, 1},
		{usage(context.DeadlineExceeded), 2},
		{diverged, 3},
		{fmt.Errorf("ocl run: %w", errors.Join(diverged, diverged)), 3},
		{errors.Join(diverged, failed), 1},
		{errors.Join(diverged, panicked), 1},
		{errors.Join(diverged, context.Canceled), 130},
		{coded{failed, exitDiverged}, 3},
		{context.Canceled, 130},
		{errors.Join(context.Canceled, panicked), 1},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}

// executeBroken runs `ocl boom 'two words'`, a command that ends as run says.
func executeBroken(run func() error) (code int, stderr string) {
	var out bytes.Buffer
	root := newRoot(&out, &out)
	root.AddCommand(&cobra.Command{Use: "boom", Args: cobra.ArbitraryArgs,
		RunE: func(*cobra.Command, []string) error { return run() }})
	return executeRoot(context.Background(), root, []string{"boom", "two words"}, &out), out.String()
}

func breaksHere() { panic("a slice\nof \x1b[2J nothing") }

// TestLongNames: a long unknown value is shortened in a message, wherever it is given. The path of a file is not.
func TestLongNames(t *testing.T) {
	name := strings.Repeat("x", 5000)
	for _, line := range []string{
		"$", "help $", "run --$", "run --method $", "run --method er+$", "run --data $", "run --network $", "run --stream $",
		"run --trick $", "run --workers $", "run $=1",
		"run optimizer.lr=$", "run --config $", "methods $", "data $", "data info $", "bench $", "inspect $", "report $",
		"export $ --to onnx", "export a --to $", "sweep $",
		"predict $ a.png", "completion $",
	} {
		var out, errs bytes.Buffer
		code := execute(t.Context(), strings.Fields(strings.ReplaceAll(line, "$", name)), &out, &errs)
		if text := out.String() + errs.String(); code == exitDone || len(text) > 600 || !strings.Contains(text, "xxxx") {
			t.Errorf("ocl %s: exit code %d, and a message of %d bytes: %.600s", line, code, len(text), text)
		}
	}
	path := strings.Repeat(strings.Repeat("x", 250)+"/", 10) + "a.yaml"
	var out, errs bytes.Buffer
	if code := execute(t.Context(), []string{"run", "--config", path}, &out, &errs); code == exitDone ||
		!strings.Contains(errs.String(), path) {
		t.Errorf("a path that is no file: exit code %d, %s", code, &errs)
	}
}

// TestPanics: each panic, also one that package experiment caught beside an error of another run, is told with its
// stack, the version and the command line, without what a terminal would obey.
func TestPanics(t *testing.T) {
	code, text := executeBroken(func() error { breaksHere(); return nil })
	for _, want := range []string{"ocl: panic: a slice.\nocl: of \\x1b[2J nothing. This is a bug in ocl", "ocl " + release,
		"command  ocl boom 'two words'\n", "panic: a slice\n",
		"breaksHere(", "cli_test.go:"} {
		if code != exitFailed || !strings.Contains(text, want) || strings.Contains(text, "\x1b") {
			t.Errorf("exit code %d, and the message lacks %q:\n%s", code, want, text)
		}
	}
	code, text = executeBroken(func() error {
		return errors.Join(fmt.Errorf("er, seed 1: %w", &train.PanicError{Value: "first", Stack: []byte("stack one\n")}),
			errors.New("no room"),
			fmt.Errorf("er, seed 2: %w", &train.PanicError{Value: "second", Stack: []byte("stack two\n")}))
	})
	for _, want := range []string{"ocl: no room.\n", "panic: first\n\nstack one\n", "panic: second\n\nstack two\n"} {
		if code != exitFailed || !strings.Contains(text, want) {
			t.Errorf("exit code %d, and the message lacks %q:\n%s", code, want, text)
		}
	}
}

// TestEndLate: a program that does more after its command was interrupted and has ended is left alone.
func TestEndLate(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	endLate(ended, nil)
}

// causeOf is what Go says of a context that a signal has ended.
func causeOf(t *testing.T, s os.Signal) string {
	ctx, stop := signal.NotifyContext(t.Context(), s)
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(s)
	}
	if err != nil && runtime.GOOS == "windows" {
		t.Skip("Windows sends no signal to its own process: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	return context.Cause(ctx).Error()
}

// TestInterrupted: every message of an interrupted command says so, once and in words.
func TestInterrupted(t *testing.T) {
	for text, want := range map[string]string{
		"context canceled":                                         "interrupted",
		"data: glyphs: context canceled":                           "data: glyphs: interrupted",
		"the check was stopped: context canceled":                  "the check was stopped",
		"tune: interrupted. Continue with `ocl`: context canceled": "tune: interrupted. Continue with `ocl`",
		"experiment: the disk is full":                             "experiment: the disk is full",
		"stopped after 5 bytes: " + causeOf(t, os.Interrupt) +
			". Run it again": "stopped after 5 bytes: interrupted. Run it again",
		"stopped after 5 bytes: " + causeOf(t, syscall.SIGTERM) +
			". Run it again": "stopped after 5 bytes: interrupted. Run it again",
	} {
		if got := interrupted(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
