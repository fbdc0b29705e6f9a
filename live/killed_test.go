package live

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// childVariable is set in the process that TestKilledBetweenSaves kills. Its value is the file that it saves to.
const childVariable = "OCL_TEST_LIVE_CHILD"

// TestChildThatSaves is that process: it learns ten images, saves, says how many it has learned, and goes on until it
// is killed.
func TestChildThatSaves(t *testing.T) {
	path, is := os.LookupEnv(childVariable)
	if !is {
		t.Skip("it is for TestKilledBetweenSaves")
	}
	l := made(t, small("er"))
	for n := 0; ; n += 10 {
		learn(t, l, n, n+10, 4)
		flush(t, l)
		if err := l.Save(path); err != nil {
			t.Fatal(err)
		}
		fmt.Println("saved", n+10)
	}
}

// TestKilledBetweenSaves: a process that is killed at any moment loses what it learned since its last Save and nothing
// else. The file is whole, and goes on as a learner does that was never killed.
func TestKilledBetweenSaves(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, lines := range []int{1, 2, 7, 20} {
		path := filepath.Join(t.TempDir(), "saved.ocl")
		child := exec.CommandContext(t.Context(), program, "-test.run", "^TestChildThatSaves$")
		child.Env = append(os.Environ(), childVariable+"="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		saved := 0
		for text := bufio.NewScanner(out); lines > 0 && text.Scan(); lines-- {
			saved, _ = strconv.Atoi(strings.TrimPrefix(text.Text(), "saved "))
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // it was killed
		l, err := Open(path)
		if err != nil {
			t.Fatalf("after %d images: %v", saved, err)
		}
		n := int(l.Stats().Images)
		if saved == 0 || n < saved {
			t.Errorf("%d images are there, and %d were saved", n, saved)
		}
		twin := made(t, small("er"))
		learn(t, twin, 0, n, 4)
		flush(t, twin)
		sameState(t, fmt.Sprintf("killed after %d images", n), l, twin)
		closed(t, l)
	}
}
