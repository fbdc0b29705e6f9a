package method_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"unicode"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/internal/fuzztest"
	"ocl/learn/learner/learnertest"
	"ocl/learn/method"
	"ocl/learn/optim"
	"ocl/nn/arch"
)

// saved is a learner whose state the fuzzer changes.
type saved struct {
	name  string
	build func(*testing.T, uint64) ocl.Learner
	state *checkpoint.Container // nil until it is wanted
	c     learnertest.Case
}

// FuzzLoadState loads the states of all methods, and of those with tricks, with sections changed. A state is refused,
// or it is what SaveState writes again, and the learner goes on from it to an error or a prediction.
func FuzzLoadState(f *testing.F) {
	network := arch.Config{Channels: 1, Height: 3, Width: 2, Classes: 4, Hidden: []int{5}}
	c := learnertest.Case{Shape: [3]int{1, 3, 2}, Classes: 4}
	var cases []*saved
	add := func(name string, change func(*method.Setup)) {
		cases = append(cases, &saved{name: name, build: build(name, network, change), c: c})
	}
	for _, info := range method.Catalogue() {
		if info.OwnNetworks {
			large := learnertest.Case{Shape: [3]int{3, 12, 12}, Classes: 6}
			cases = append(cases, &saved{name: info.Name, build: build(info.Name, expertImages, nil), c: large})
			continue
		}
		add(info.Name, nil)
		for _, t := range method.Tricks() {
			if _, refused := info.Refuses[t.Name]; !refused && slices.Contains([]string{"er", "icarl", "agem"}, info.Name) {
				add(info.Name, func(s *method.Setup) { s.Tricks = []string{t.Name} })
			}
		}
	}
	add("gss", func(s *method.Setup) { with("gate", "batch")(s) })
	add("er", func(s *method.Setup) { s.Opt = optim.Adam{LR: 0.01} })
	for i := range cases {
		f.Add([]byte{byte(i)})
		f.Add([]byte{byte(i), byte(3 * i), 4, 8, 3, 14})
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		s := cases[int(b[0])%len(cases)]
		c, batches := s.c, s.c.Batches(1, 6, 5)
		if s.state == nil {
			l := s.build(t, 1)
			c.Learn(t, l, batches, 0, 4) // into the second task
			learnertest.Predict(t, l, batches[0].X)
			s.state = learnertest.State(t, l)
		}
		state := learnertest.Changed(s.state, b[1:])
		var l ocl.Learner
		var err error
		most := uint64(64*state.Size() + 1<<20)
		if n := fuzztest.Allocated(most, func() {
			l = s.build(t, 2) // anew each time: loading twice into one would find room that the first had made
			err = l.LoadState(state.Decoder())
		}); n > most {
			t.Fatalf("%s: %d bytes were allocated for a state of %d", s.name, n, state.Size())
		}
		if err != nil {
			if strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("%s: a message with a control character: %q", s.name, err)
			}
			return
		}
		again := learnertest.State(t, l)
		for _, name := range again.Names() { // sections that nobody reads are let go
			want, err := state.Decoder().Bytes(name)
			got, _ := again.Decoder().Bytes(name)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: section %s is loaded and saved as something else", s.name, name)
			}
		}
		for _, b := range batches[4:] {
			if _, err := l.Observe(context.Background(), b); err != nil {
				return
			}
		}
		if aware, ok := l.(ocl.TaskAware); ok && aware.EndTask(context.Background()) != nil {
			return
		}
		if p, ok := l.(ocl.Preparer); ok && p.Prepare(context.Background()) != nil {
			return
		}
		labels := make([]ocl.Label, 5)
		if err := l.Predict(labels, batches[0].X); err != nil {
			return
		}
		for _, y := range labels {
			if y < 0 || int(y) >= c.Classes {
				t.Errorf("%s: label %d is predicted, of %d classes", s.name, y, c.Classes)
			}
		}
	})
}

// FuzzParseTricks: what is taken for tricks is written and taken as the same, in their order.
func FuzzParseTricks(f *testing.F) {
	for _, text := range []string{"none", "lb+rv", "rv+kdc*+lb", "", "+", "lb+lb+\x1b[2J", "lb + rv", "ncm+mi"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, err := method.ParseTricks(text)
		if err != nil {
			if strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("a message with a control character: %q", err)
			}
			return
		}
		again, err := method.ParseTricks(config.TrickText(names))
		if err != nil || !slices.Equal(again, names) || !slices.IsSorted(names) {
			t.Errorf("%q is %q, and that is %q (%v)", text, names, again, err)
		}
	})
}
