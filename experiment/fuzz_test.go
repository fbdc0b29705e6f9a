package experiment

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"unicode"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/experiment/result"
	"ocl/internal/fuzztest"
	"ocl/learner/learnertest"
	"ocl/tensor"
)

// FuzzCheckpoint loads checkpoints of a run with sections changed, at a few instants of it. A checkpoint is refused, or
// it is what the run writes again; the run then goes on to its end or to an error, and what it leaves is a result that
// can be read.
func FuzzCheckpoint(f *testing.F) {
	c := one("er")
	c.Data.TrainPerClass, c.Data.TestPerClass, c.Data.Size = 1, 1, 8
	c.Stream.Tasks, c.Memory, c.Replay.Batch, c.EvalEvery, c.Network.Hidden = 2, 10, 5, 2, []int{4}
	c.Classifiers = []string{"head", "ncm"}
	x, err := Open(f.Context(), c, Options{})
	if err != nil {
		f.Fatal(err)
	}
	build := func(t testing.TB) *run {
		r := &run{x: x, job: x.Jobs()[0], on: machinery{workers: 1, together: 1}}
		if err := r.build(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.close)
		return r
	}
	encode := func(t testing.TB, r *run, length int64) *checkpoint.Container {
		r.desk.journal = &journal{length: length}
		defer func() { r.desk.journal = nil }()
		state := checkpoint.NewContainer()
		if err := r.encode(state.Encoder()); err != nil {
			t.Fatal(err)
		}
		return state
	}
	var states []*checkpoint.Container
	for _, steps := range []int{1, 5, 8} {
		r := build(f)
		ctx, cancel := context.WithCancel(context.Background())
		r.ev.StepEnd = func(step int, _ ocl.StepStats) {
			if step == steps {
				cancel()
			}
		}
		if err := r.loop(ctx); !errors.Is(err, errInterrupted) {
			f.Fatalf("after %d steps: %v", steps, err)
		}
		states = append(states, encode(f, r, 1000))
	}
	for i := range states {
		f.Add([]byte{byte(i)})
		f.Add([]byte{byte(i), byte(7 * i), 1, 9, 3, 2})
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		choices := fuzztest.Of(b)
		state := learnertest.Changed(states[choices.Below(len(states))], choices)
		var r *run
		var length int64
		var err error
		most := uint64(4000*state.Size() + 1<<20)
		if n := fuzztest.Allocated(most, func() {
			r = build(t) // anew each time: decoding twice into one would find room that the first had made
			err = r.decode(state.Decoder(), &length)
		}); n > most {
			t.Fatalf("%d bytes were allocated for a checkpoint of %d", n, state.Size())
		}
		if err != nil {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
				t.Errorf("a message with a control character: %q", err)
			}
			return
		}
		again := encode(t, r, length)
		for _, name := range again.Names() {
			if name == shownSection && state.Decoder().Len(name) < 0 {
				continue // a file of an older ocl does not have it
			}
			want, err := state.Decoder().Bytes(name)
			got, _ := again.Decoder().Bytes(name)
			json := len(want) > 0 && want[0] == '{' // which may be written in many ways
			if err != nil || !bytes.Equal(got, want) && !json {
				t.Errorf("section %s is loaded and saved as something else", name)
			}
		}
		if err := r.loop(context.Background()); err != nil {
			return
		}
		res, err := r.assembly().result(result.Outcome{State: result.Finished, Step: r.at.step})
		if err != nil {
			return
		}
		text, err := result.Encode(res)
		if err != nil {
			t.Fatalf("the run ends and its result cannot be written: %v", err)
		}
		if _, err := result.Parse(text); err != nil {
			t.Fatalf("the run ends in a result that cannot be read: %v", err)
		}
	})
}

// FuzzTrained restores the learner of a finished run from checkpoints with sections changed, without the data. A checkpoint
// is refused, or its learner labels an image.
func FuzzTrained(f *testing.F) {
	var states []*checkpoint.Container
	for _, classifier := range config.Classifiers() {
		c := one("er")
		c.Data.TrainPerClass, c.Data.TestPerClass = 1, 1
		c.Stream.Tasks, c.Memory, c.Replay.Batch, c.Network.Hidden = 2, 10, 5, []int{4}
		c.Stream.Mean, c.Stream.Std = []float64{0.5, 0.5, 0.5}, []float64{0.2, 0.2, 0.2}
		c.Classifiers = []string{classifier}
		out := f.TempDir()
		if _, err := Run(f.Context(), c, Options{Out: out, KeepCheckpoint: true}); err != nil {
			f.Fatal(err)
		}
		folder, err := runFolder(out)
		if err != nil {
			f.Fatal(err)
		}
		got, err := newest(folder)
		if err != nil {
			f.Fatal(err)
		}
		states = append(states, got.Container)
	}
	for i := range states {
		f.Add([]byte{byte(i)})
		f.Add([]byte{byte(i), byte(9 * i), 3, 8, 1, 4})
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		choices := fuzztest.Of(b)
		state := learnertest.Changed(states[choices.Below(len(states))], choices)
		folder := t.TempDir() // without a result
		var trained *Trained
		var err error
		most := uint64(4000*state.Size() + 1<<20)
		if n := fuzztest.Allocated(most, func() {
			trained = &Trained{Folder: folder}
			err = trained.decode(state.Decoder(), 1)
			t.Cleanup(trained.Close)
		}); n > most {
			t.Fatalf("%d bytes were allocated for a checkpoint of %d", n, state.Size())
		}
		if err == nil {
			err = trained.prepare(t.Context())
		}
		if err != nil {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
				t.Errorf("a message with a control character: %q", err)
			}
			return
		}
		label := []ocl.Label{-1}
		info := trained.Info
		if err := trained.Predict(label, tensor.New(1, info.Channels, info.Height, info.Width)); err != nil || label[0] < 0 || int(label[0]) >= info.Classes {
			t.Fatalf("an image is labelled %d of %d classes: %v", label[0], info.Classes, err)
		}
	})
}

// FuzzShown changes what a checkpoint says of its images and classes. Whatever it says, no learner of impossible size is
// made, and classes lie where their names do.
func FuzzShown(f *testing.F) {
	good := []byte(`{"shape":[3,8,8],"classes":3,"class_names":["a","b","c"],"tasks":2,"steps":9,"learned":[0,2]}`)
	for _, changes := range [][]byte{{}, {0, 1, 2}, {3, 0, 9, 4}, {7, 7, 7}, {1, 200, 3, 90}} {
		f.Add(changes)
	}
	f.Fuzz(func(t *testing.T, changes []byte) {
		c := checkpoint.NewContainer()
		c.Encoder().Bytes(shownSection, fuzztest.JSON(good, fuzztest.Of(changes)))
		s, err := readShown(t.TempDir(), c.Decoder())
		if err != nil {
			return
		}
		if n := len(s.ClassNames); n != 0 && n != s.Classes || min(s.Shape[0], s.Shape[1], s.Shape[2], s.Classes) < 1 {
			t.Fatalf("%+v is accepted", s)
		}
		for _, k := range s.Learned {
			if k < 0 || k >= s.Classes {
				t.Fatalf("class %d of %d is accepted", k, s.Classes)
			}
		}
	})
}
