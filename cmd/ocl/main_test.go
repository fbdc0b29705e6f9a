package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ocl/experiment/train"
)

func TestExitCodes(t *testing.T) {
	failed := errors.New("no room")
	diverged := divergedError{errors.New("er, seed 1 diverged")}
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
		{divergedError{failed}, 3},
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
	root.AddCommand(&cobra.Command{Use: "boom", Args: cobra.ArbitraryArgs, RunE: func(*cobra.Command, []string) error { return run() }})
	return executeRoot(context.Background(), root, []string{"boom", "two words"}, &out), out.String()
}

func breaksHere() { panic("a slice\nof \x1b[2J nothing") }

// TestPanicGoesToAFile: of a panic the message says what it was and where its stack is; the stack is not in the message.
func TestPanicGoesToAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	code, text := executeBroken(func() error { breaksHere(); return nil })
	if code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	named := regexp.MustCompile(`(?m)^ocl: version, command line and stack are in (ocl-panic-\d{8}-\d{6}-\d+\.txt)\. Please`).FindStringSubmatch(text)
	if named == nil || !strings.HasPrefix(text, "ocl: panic: a slice.\nocl: of \\x1b[2J nothing. This is a bug in ocl") ||
		strings.Contains(text, "goroutine") {
		t.Fatalf("the message is %q", text)
	}
	b, err := os.ReadFile(named[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ocl " + readVersion().Version, "command  ocl boom 'two words'\n", "panic: a slice\n", "breaksHere(", "main_test.go:"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the file lacks %q:\n%s", want, b)
		}
	}
}

// TestPanicsOfRunsGoToOneFile: those that package experiment caught, all of them, beside an error of another run.
func TestPanicsOfRunsGoToOneFile(t *testing.T) {
	t.Chdir(t.TempDir())
	code, text := executeBroken(func() error {
		return errors.Join(fmt.Errorf("er, seed 1: %w", &train.PanicError{Value: "first", Stack: []byte("stack one\n")}), errors.New("no room"),
			fmt.Errorf("er, seed 2: %w", &train.PanicError{Value: "second", Stack: []byte("stack two\n")}))
	})
	files, _ := filepath.Glob("ocl-panic-*.txt")
	if code != exitFailed || len(files) != 1 || strings.Count(text, files[0]) != 1 || !strings.Contains(text, "ocl: no room.\n") {
		t.Fatalf("exit code %d, files %v, message %q", code, files, text)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"panic: first\n\nstack one\n", "panic: second\n\nstack two\n"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the file lacks %q:\n%s", want, b)
		}
	}
}

// TestPanicWhereNothingCanBeWritten takes the folder for temporary files, and without that standard error.
func TestPanicWhereNothingCanBeWritten(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps a folder that is in use, which this test removes")
	}
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	_, text := executeBroken(func() error { breaksHere(); return nil })
	if files, _ := filepath.Glob(filepath.Join(temp, "ocl-panic-*.txt")); len(files) != 1 || !strings.Contains(text, files[0]) {
		t.Errorf("files %v, message %q", files, text)
	}
	t.Setenv("TMPDIR", filepath.Join(temp, "none"))
	if _, text := executeBroken(func() error { breaksHere(); return nil }); !strings.Contains(text, "no file can be written") || !strings.Contains(text, "breaksHere(") {
		t.Errorf("the message %q lacks the stack", text)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"Ψ×€ 日本\tok":        "Ψ×€ 日本\tok",
		"a\x1b[31mb\rc\x00": `a\x1b[31mb\rc\x00`,
		"\xff\x9b2J":        `\xff\x9b2J`,
		"\u202etxt.exe":     `\u202etxt.exe`,
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
