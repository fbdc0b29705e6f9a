package priority

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// niceness is that of the calling thread, as the system tells it.
func niceness(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(syscall.Gettid()) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name of the program may have spaces
	n, err := strconv.Atoi(strings.Fields(after)[16])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLower: the thread of the goroutine gets the niceness, and a goroutine that did not ask keeps that of the process.
func TestLower(t *testing.T) {
	before := niceness(t)
	of := func(n int) int {
		got := make(chan int)
		go func() {
			Lower(n)
			got <- niceness(t)
		}()
		return <-got
	}
	if got := of(Least); got != Least {
		t.Errorf("a lowered thread has the niceness %d, want %d", got, Least)
	}
	for range 20 { // whose thread is none that was lowered
		if got := of(0); got != before {
			t.Errorf("a thread that was not lowered has the niceness %d, want %d", got, before)
		}
	}
}
