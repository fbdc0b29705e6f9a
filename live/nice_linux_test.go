package live

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nice counts the threads of this process that have a niceness.
func nice(t *testing.T, want string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // a thread that has ended
		}
		_, after, _ := strings.Cut(string(text), ") ") // the name of the program may have spaces
		if strings.Fields(after)[16] == want {
			n++
		}
	}
	return n
}

// TestNice: the threads that learn have the niceness, as many as learn, and no other one.
func TestNice(t *testing.T) {
	const niceness = "17" // of no other test
	o := small("er")
	o.Workers, o.Nice = 2, 17
	x, err := NewTrainer(o)
	if err != nil {
		t.Fatal(err)
	}
	observed(t, x, 0, 40, 2)
	published(t, x, 1)
	answers(t, x, 2)
	if n := nice(t, niceness); n != 2 {
		t.Errorf("%d threads are nice, want 2", n)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}
