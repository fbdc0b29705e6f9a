package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"ocl/internal/fuzztest"
	"ocl/internal/limit"
	"ocl/run/experiment"
)

// FuzzStudy reads a study: memory is in proportion to the text and to the runs that a study may have, no message has
// raw bytes of the file, and the runs are as many as are counted.
func FuzzStudy(f *testing.F) {
	for _, text := range []string{
		small + "methods: [er]\nruns: [1, 100000000]\n",
		small + "methods: [er, mir]\nmemory: [100, 200]\nexclude: [{methods: [mir], memory: 100}]\ninclude: [{methods: [gdumb], runs: 3}]\n",
		small + "methods: [er]\nmemory: &m [100, 200]\ninclude: [{methods: [er], memory: *m, seed: [5, 6]}]\ntiming: true\n",
		"study: 1\nmethods: [er]\nseeds: {order: [1, 2, null]}\noptimizer: {lr: [0.1, .inf]}\n",
		"version: 3\nmethods: [er, ewc++]\nruns: 5\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, listed, err := parsed(t, text)
		if err != nil {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Fatalf("a message has raw bytes of the file: %q", err)
			}
			return
		}
		if n := s.Len(); n < 1 || n > limit.StudyRuns || float64(n) > listed {
			t.Fatalf("%d runs, and %v were counted", n, listed)
		}
	})
}

// parsed reads a study. The memory that this takes is in proportion to the text, and to the runs that were counted and
// allowed.
func parsed(t *testing.T, text []byte) (s *Study, listed float64, err error) {
	t.Helper()
	var most uint64
	read := func() {
		x := expansion{schema: experiment.Schema(), name: "s.yaml"}
		bound := func() uint64 {
			listed = x.listed
			if most = 4<<20 + 4000*uint64(len(text)); listed <= limit.StudyRuns { // no run of more is made
				most += 200_000 * uint64(listed)
			}
			return most
		}
		s, err = x.parse(&frugal{t.Context(), fuzztest.Total(), bound}, text)
		bound()
	}
	got := fuzztest.Allocated(math.MaxUint64, read)
	if got > most { // something else may have allocated meanwhile
		got = fuzztest.Allocated(most, read)
	}
	if got > most {
		t.Fatalf("%d bytes of text and %v runs: %d bytes were allocated, more than %d", len(text), listed, got, most)
	}
	return s, listed, err
}

// frugal is a context that ends when so much was allocated since it began, before a study takes all memory.
type frugal struct {
	context.Context
	begun uint64
	bound func() uint64
}

func (f *frugal) Err() error {
	if fuzztest.Total()-f.begun > 2*f.bound() {
		return errors.New("too much was allocated")
	}
	return f.Context.Err()
}

// TestStudiesAreCounted: a study of too many runs is refused before any of them is made, with the key that makes most.
func TestStudiesAreCounted(t *testing.T) {
	numbers := list(10, 1000)
	for text, want := range map[string]string{
		"runs: [1, 200000]":   "s.yaml:1: the study has about 200,001 runs, but at most 100,000 are possible. runs makes most of them",
		"runs: 1000000000000": "about 1,000,000,000,000 runs",
		"runs: [-3, 300000]":  "about 300,001 runs",
		"memory: " + numbers + "\nseed: " + numbers + "\neval_every: " +
			numbers: "about 970,299,000 runs, but at most 100,000 are possible. memory makes most",
		"runs: 5\nmemory: 9\ninclude: [{methods: [er], runs: 9999}]": "the study has about 10,004 runs, which is more than 10,000",
	} {
		_, listed, err := parsed(t, []byte(small+"methods: [er]\n"+text))
		if err == nil || !strings.Contains(err.Error(), want) || listed > limit.StudyRuns {
			t.Errorf("%.50s: %v runs, error %v, want %s", text, listed, err, want)
		}
	}
}

// TestManyExclusions: the entries of exclude are not held against every run: few have the value under which a run looks
// for them.
func TestManyExclusions(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "- {methods: [er], seed: [%d, %d]}\n", i+2, 1000_000+i)
	}
	text := small + "methods: [er]\nruns: 3000\nexclude:\n" + b.String()
	s, _, err := parsed(t, []byte(text))
	// only the last
	if err == nil || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), "this entry of exclude removes nothing") {
		t.Errorf("%v, %v", s, err)
	}
	sheet, err := experiment.Schema().ParseSheet("s.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for key, by := range excluding(sheet.Exclude).by {
		for value, entries := range by {
			if len(entries) > 1 {
				t.Errorf("a run with %s %s is held against %d entries", key, value, len(entries))
			}
		}
	}
}

// TestListingEnds: reading a study ends when its context does.
func TestListingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, text := range []string{small + "methods: [er]\nruns: 10000\n", "methods: [er]\nruns: 10000\n"} {
		x := expansion{schema: experiment.Schema(), name: "s.yaml"}
		if _, err := x.parse(ctx, []byte(text)); !errors.Is(err, context.Canceled) || x.runs > 0 {
			t.Errorf("%d runs, error %v", x.runs, err)
		}
	}
}

// list is the numbers [from, to) as YAML.
func list(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, ", %d", i)
	}
	return "[" + b.String()[2:] + "]"
}
