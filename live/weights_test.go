package live

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/internal/fuzztest"
	"ocl/nn/tensor"
)

// image, and make a trainer that predicts as the one of before.
func TestWeights(t *testing.T) {
	t.Parallel()
	for _, method := range methods {
		for _, classes := range []int{4, 9} { // of later, so that a head of 4 is large enough or not
			o := optionsOf(method)
			o.Capacity = 4
			x := trainer(t, o)
			if _, err := x.Weights(); !errors.Is(err, ErrNothing) {
				t.Errorf("%s: before anything was learned: %v", method, err)
			}
			observed(t, x, 0, 60, 3)
			published(t, x, 1)
			before := answers(t, x, 3)
			logits := func() []float32 {
				p := x.core.parts()
				in := tensor.New(1, 3, 8, 8)
				for i := range in.Data {
					in.Data[i] = float32(i%7) / 7
				}
				return slices.Clone(p.Net.Predict(p.WS, in).Logits.Row(0))
			}
			want := logits()
			weights, err := x.Weights()
			if err != nil {
				t.Fatalf("%s: %v", method, err)
			}
			for _, name := range weights.Names() {
				if strings.Contains(name, "memory") {
					t.Errorf("%s: the weights have the section %s", method, name)
				}
			}
			alone, err := ReadTrainer(weights.Decoder(), nil)
			if err != nil {
				t.Fatalf("%s: %v", method, err)
			}
			published(t, alone, 2)
			if a := answers(t, alone, 3); !alike(a, before) || alone.Stats().Stored != 0 || alone.Stats().Images != 60 {
				t.Errorf("%s: a trainer of the weights says %v, want %v; %+v", method, a, before, alone.Stats())
			}
			if err := alone.Close(); err != nil {
				t.Error(err)
			}
			state := saved(t, x)
			observed(t, x, 60, 90, min(classes, 6)) // a head of 8 before one of 16
			observed(t, x, 90, 160, classes)
			published(t, x, 2)
			later := x.Stats()
			for name, from := range map[string]*checkpoint.Container{"weights": weights, "state": state} {
				if err := x.SetWeights(from.Decoder()); err != nil {
					t.Fatalf("%s: %s: %v", method, name, err)
				}
				if s := x.Stats(); s != later || x.Err() != nil {
					t.Errorf("%s: %+v became %+v (%v)", method, later, s, x.Err())
				}
				published(t, x, 3)
				if got := logits()[:3]; !slices.Equal(got, want) {
					t.Errorf("%s: %s: the outputs of before are %v, want %v", method, name, got, want)
				}
			}
			observed(t, x, 160, 200, classes)
			twin, err := ReadTrainer(saved(t, x).Decoder(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if digest(t, twin) != digest(t, x) {
				t.Errorf("%s: a state after SetWeights is another one when it is loaded", method)
			}
			if err := twin.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestWeightsOfOthers: weights of another config, of other classes or of a larger head are refused, and nothing has
// changed.
func TestWeightsOfOthers(t *testing.T) {
	x := trainer(t, small("er"))
	observed(t, x, 0, 30, 3)
	before := digest(t, x)
	large := small("er")
	large.Capacity = 64
	for name, c := range map[string]struct {
		o       Options
		classes string
		want    string
	}{
		"method":  {small("mir"), "", "of another config"},
		"head":    {large, "", "a head of 64 outputs, and this one has 8"},
		"classes": {small("er"), "a", "of other classes"},
	} {
		other := trainer(t, c.o)
		if c.classes != "" {
			if _, err := other.AddClass(c.classes); err != nil {
				t.Fatal(err)
			}
		}
		observed(t, other, 0, 30, 3)
		w, err := other.Weights()
		if err != nil {
			t.Fatal(err)
		}
		if err := x.SetWeights(w.Decoder()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := x.LoadState(checkpoint.NewContainer().Decoder()); err == nil {
		t.Error("an empty state was loaded")
	}
	if digest(t, x) != before || x.Err() != nil {
		t.Error("what was refused has changed something")
	}
}

// TestStatesInFiles: what SaveState and Weights gave is a file for Open, once it is written.
func TestStatesInFiles(t *testing.T) {
	x := trainer(t, small("er"))
	observed(t, x, 0, 30, 3)
	w, err := x.Weights()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*checkpoint.Container{"state": saved(t, x), "weights": w} {
		path := filepath.Join(t.TempDir(), name)
		var b bytes.Buffer
		if _, err := c.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := Open(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		learn(t, l, 30, 60, 3)
		flush(t, l)
		if s := l.Stats(); s.Images != 60 {
			t.Errorf("%s: %+v", name, s)
		}
		closed(t, l)
	}
}

// TestNaNInWeights: weights that are no numbers are not published, and end learning.
func TestNaNInWeights(t *testing.T) {
	x := trainer(t, small("er"))
	observed(t, x, 0, 20, 2)
	published(t, x, 1)
	before := answers(t, x, 2)
	x.core.net.Params()[0] = float32(math.NaN())
	x.core.net.Changed()
	x.publisher.stale = true
	if err := x.Publish(t.Context(), 2); !errors.Is(err, ocl.ErrDiverged) || !errors.Is(x.Err(), ocl.ErrDiverged) {
		t.Error(err)
	}
	if a := answers(t, x, 2); a.Version != 1 || !alike(a, before) {
		t.Errorf("%+v, before %+v", a, before)
	}
}

// is read predicts numbers and learns on.
func FuzzReadTrainer(f *testing.F) {
	var all []*checkpoint.Container
	for _, method := range []string{"er", "icarl", "slda"} {
		x := trainer(f, optionsOf(method))
		observed(f, x, 0, 30, 3)
		w, err := x.Weights()
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, w)
		for i := range w.Names() {
			f.Add(uint8(len(all)-1), uint8(i), []byte{})
			f.Add(uint8(len(all)-1), uint8(i), []byte{20, 0, 5, 1})
		}
	}
	f.Fuzz(func(t *testing.T, of, section uint8, changes []byte) {
		good := all[int(of)%len(all)]
		name := good.Names()[int(section)%len(good.Names())]
		file := changedSection(good, name, func(b []byte) []byte {
			if name == headerSection || name == configSection {
				return fuzztest.JSON(b, fuzztest.Of(changes))
			}
			for c := fuzztest.Of(changes); c.More(); {
				b = fuzztest.Bytes(b, c)
			}
			return b
		})
		var x *Trainer
		var err error
		const most = 64 << 20
		if n := fuzztest.Allocated(most, func() {
			if x != nil {
				_ = x.Close()
			}
			x, err = ReadTrainer(file.Decoder(), func(p *Process) { p.Workers, p.AtOnce = 1, 1 })
		}); n > most {
			t.Errorf("%d bytes are allocated (%v)", n, err)
		}
		if err != nil {
			return
		}
		defer x.Close()
		c, h, w := x.Shape()
		if c*h*w > 1<<16 || x.Publish(t.Context(), 1) != nil { // weights may be any numbers
			return
		}
		a, err := x.Predict(3, [][]byte{make([]byte, c*h*w)})
		for _, list := range a.Guesses {
			for _, g := range list {
				if g.Value-g.Value != 0 || g.Name == "" {
					t.Errorf("%+v", a)
				}
			}
		}
		if err != nil && !errors.Is(err, ocl.ErrDiverged) && !errors.Is(err, ErrNothing) {
			t.Error(err)
		}
		_, _ = x.Observe(t.Context(), make([]byte, c*h*w), []ocl.Label{0})
	})
}
