package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ocl"
	"ocl/checkpoint"
	"ocl/internal/fuzztest"
	"ocl/predict"
	"ocl/tensor"
)

// trainer is one of these options, which the test closes.
func trainer(t testing.TB, o Options) *Trainer {
	t.Helper()
	x, err := NewTrainer(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// pixelsOf is image i as the trainer sees images, and its class, which is added.
func pixelsOf(t testing.TB, x *Trainer, i, classes int) ([]byte, ocl.Label) {
	t.Helper()
	name := shapeName(i, classes)
	y, err := x.AddClass(name)
	if err != nil {
		t.Fatal(err)
	}
	pixels := make([]byte, x.preparation.Len())
	if err := x.Draw(pixels, picture(i, name, 12)); err != nil {
		t.Fatal(err)
	}
	return pixels, y
}

// observed learns images [lo, hi) of so many classes in batches of ten. Classes come with their first image, as in a Learner.
func observed(t testing.TB, x *Trainer, lo, hi, classes int) {
	t.Helper()
	for lo < hi {
		var pixels []byte
		var y []ocl.Label
		for i := lo; i < min(lo+10, hi); i++ {
			name := shapeName(i, classes)
			label, err := x.labelOf(name)
			if err != nil {
				t.Fatal(err)
			}
			one := make([]byte, x.preparation.Len())
			if err := x.Draw(one, picture(i, name, 12)); err != nil {
				t.Fatal(err)
			}
			pixels, y = append(pixels, one...), append(y, label)
		}
		if _, err := x.Observe(t.Context(), pixels, y); err != nil {
			t.Fatal(err)
		}
		lo += len(y)
	}
}

func published(t testing.TB, x *Trainer, version int64) {
	t.Helper()
	if err := x.Publish(t.Context(), version); err != nil {
		t.Fatal(err)
	}
}

func digest(t testing.TB, x *Trainer) string {
	t.Helper()
	d, err := x.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func saved(t testing.TB, x *Trainer) *checkpoint.Container {
	t.Helper()
	state := checkpoint.NewContainer()
	if err := x.SaveState(state.Encoder()); err != nil {
		t.Fatal(err)
	}
	return state
}

// answers are the guesses for ten images.
func answers(t testing.TB, x *Trainer, classes int) Answer {
	t.Helper()
	var list [][]byte
	for i := 1000; i < 1010; i++ {
		name := shapeName(i, classes)
		one := make([]byte, x.preparation.Len())
		if err := x.Draw(one, picture(i, name, 12)); err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
	a, err := x.Predict(2, list)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// alike says whether two answers have the same guesses.
func alike(a, b Answer) bool {
	return slices.EqualFunc(a.Guesses, b.Guesses, func(x, y []predict.Guess) bool { return slices.Equal(x, y) })
}

// methods are those of the tests of a Trainer: with and without memory, tasks, class means and vectors, and such that train nothing.
var methods = []string{"er", "er+ncm", "icarl", "mir", "gss", "agem", "ewc++", "lwf", "finetune", "er+rv", "er+kdc", "er+ss", "ncm", "slda", "ranpac",
	"er with frozen stages", "er with latent replay"}

// optionsOf are small options of a method.
func optionsOf(method string) Options {
	name, _, _ := strings.Cut(method, " ")
	o := small(name)
	switch method {
	case "er with frozen stages":
		o.Set = append(o.Set, "network.hidden=16,12", "network.freeze=1")
	case "er with latent replay":
		o.Set = append(o.Set, "network.hidden=16,12", "network.freeze=1", "replay.latent=true")
	case "ncm", "slda":
		o.Set = nil
	case "ranpac":
		o.Set = []string{"method.ranpac.projection=20", "method.ranpac.ridge=1"}
	}
	return o
}

// TestTrainerIsWhatALearnerLearns: the same batches give the bits of a Learner that cuts them.
func TestTrainerIsWhatALearnerLearns(t *testing.T) {
	t.Parallel()
	for _, method := range methods {
		x, l := trainer(t, optionsOf(method)), made(t, optionsOf(method))
		observed(t, x, 0, 60, 4)
		learn(t, l, 0, 60, 4)
		if err := errors.Join(x.Boundary(t.Context()), l.Boundary()); err != nil {
			t.Fatal(err)
		}
		observed(t, x, 60, 130, 6)
		learn(t, l, 60, 130, 6)
		flush(t, l)
		published(t, x, 7)
		l.step.Lock()
		want := digest(t, l.t)
		l.step.Unlock()
		if got := digest(t, x); got != want {
			t.Errorf("%s: a trainer has the digest %s, a learner %s", method, got, want)
		}
		img := picture(1000, shapeName(1000, 6), 12)
		guesses, err := l.Predict(img, 2)
		if a := answers(t, x, 6); err != nil || a.Version != 7 || !slices.Equal(a.Guesses[0], guesses) {
			t.Errorf("%s: %+v, and a learner says %v (%v)", method, a, guesses, err)
		}
		if s := x.Stats(); s.Images != 130 || s.Batches != 13 || s.Published != 13 || s.Classes != 6 || s.Waiting != 0 || x.Place() != 130 {
			t.Errorf("%s: %+v, place %d", method, s, x.Place())
		}
	}
}

// TestPublishing moves no bit: a trainer that was published, saved and weighed often has the digest of one that never was.
func TestPublishing(t *testing.T) {
	t.Parallel()
	for _, method := range methods {
		a, b := trainer(t, optionsOf(method)), trainer(t, optionsOf(method))
		for i := range 6 {
			observed(t, a, 20*i, 20*i+20, 4)
			observed(t, b, 20*i, 20*i+20, 4)
			if at, due := b.PublishDue(); !due || at.After(time.Now().Add(time.Hour)) {
				t.Errorf("%s: due %t at %v", method, due, at)
			}
			published(t, b, int64(i))
			if _, due := b.PublishDue(); due {
				t.Errorf("%s: a publication is due at once", method)
			}
			digest(t, b)
			if _, err := b.Weights(); err != nil {
				t.Errorf("%s: %v", method, err)
			}
			if i == 3 {
				if err := errors.Join(a.Boundary(t.Context()), b.Boundary(t.Context())); err != nil {
					t.Error(err)
				}
				published(t, b, 100)
			}
		}
		if digest(t, a) != digest(t, b) {
			t.Errorf("%s: publishing and saving have changed the state", method)
		}
	}
}

// TestStateGoesOn: what SaveState wrote goes on to the same bits, in a new trainer and in one that lives, whose head may be larger or smaller. Predictions go on with
// the published copy until the next Publish.
func TestStateGoesOn(t *testing.T) {
	t.Parallel()
	for _, method := range methods {
		o := optionsOf(method)
		o.Capacity = 2
		whole, other := trainer(t, o), trainer(t, o)
		observed(t, whole, 0, 100, 3) // a head of 4
		state := saved(t, whole)
		observed(t, other, 0, 150, 9) // a head of 16
		published(t, other, 5)
		before := answers(t, other, 3)
		if err := other.LoadState(state.Decoder()); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		if !saved(t, other).Equal(state) || other.Stats().Capacity != 4 || len(other.Classes()) != 3 {
			t.Errorf("%s: loaded, %+v, classes %q", method, other.Stats(), other.Classes())
		}
		if a := answers(t, other, 3); a.Version != 5 || !alike(a, before) {
			t.Errorf("%s: after a load %+v, before it %+v", method, a, before)
		}
		read, err := ReadTrainer(state.Decoder(), func(p *Process) { p.Workers = 1 })
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		defer read.Close()
		for _, x := range []*Trainer{whole, other, read} {
			observed(t, x, 100, 200, 9)
			if err := x.Boundary(t.Context()); err != nil {
				t.Fatal(err)
			}
			observed(t, x, 200, 230, 9)
			published(t, x, 6)
			if got := digest(t, x); got != digest(t, whole) {
				t.Errorf("%s: the digest is %s", method, got)
			}
			if a := answers(t, x, 9); a.Version != 6 || !alike(a, answers(t, whole, 9)) {
				t.Errorf("%s: %+v", method, a)
			}
		}
	}
}

// TestLoadAfterDivergence: a loss that is no number ends learning, with what to do. Predictions go on, and after a LoadState learning does.
func TestLoadAfterDivergence(t *testing.T) {
	o := small("er")
	o.Set = append(o.Set, "optimizer.lr=1e30")
	x := trainer(t, o)
	observed(t, x, 0, 10, 1)
	published(t, x, 1)
	state, before := saved(t, x), answers(t, x, 1)
	var err error
	for i := 10; err == nil && i < 1000; i++ {
		pixels, y := pixelsOf(t, x, i, 5)
		if _, err = x.Observe(t.Context(), pixels, []ocl.Label{y}); err == nil {
			err = x.Publish(t.Context(), 2)
			before = answers(t, x, 1)
		}
		if err != nil {
			break
		}
	}
	if !errors.Is(err, ocl.ErrDiverged) || !errors.Is(x.Err(), ocl.ErrDiverged) {
		t.Fatalf("%v; the weights are to explode", err)
	}
	for name, f := range map[string]func() error{
		"Observe":   func() error { _, err := x.Observe(t.Context(), make([]byte, 192), []ocl.Label{0}); return err },
		"Boundary":  func() error { return x.Boundary(t.Context()) },
		"Publish":   func() error { return x.Publish(t.Context(), 3) },
		"AddClass":  func() error { _, err := x.AddClass("b"); return err },
		"SaveState": func() error { return x.SaveState(checkpoint.NewContainer().Encoder()) },
		"Forget":    func() error { _, err := x.Forget([]int64{0}); return err },
	} {
		if err := f(); !errors.Is(err, ocl.ErrDiverged) || !strings.Contains(err.Error(), "learning has ended: ") || !strings.Contains(err.Error(), "Load a state of before") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if a := answers(t, x, 1); !alike(a, before) {
		t.Errorf("%+v became %+v", before, a)
	}
	if err := x.LoadState(state.Decoder()); err != nil || x.Err() != nil {
		t.Fatal(err, x.Err())
	}
	if a := answers(t, x, 1); !alike(a, before) {
		t.Errorf("after the load %+v, before it %+v", a, before)
	}
	if !saved(t, x).Equal(state) {
		t.Error("the loaded state is another")
	}
	published(t, x, 9)
	if a := answers(t, x, 1); a.Version != 9 {
		t.Errorf("%+v", a)
	}
}

// TestClassesComeInUse: a class that is added has an output for the loss and the next published predictions, without an image; a head that is full doubles.
func TestClassesComeInUse(t *testing.T) {
	o := small("er")
	o.Capacity = 2
	x := trainer(t, o)
	observed(t, x, 0, 20, 1)
	published(t, x, 1)
	for i, want := range []int{2, 4, 4} {
		y, err := x.AddClass(fmt.Sprint("more ", i))
		if s := x.Stats(); err != nil || int(y) != i+1 || s.Classes != i+2 || s.Capacity != want {
			t.Errorf("class %d: label %d (%v), %+v", i, y, err, s)
		}
		if again, err := x.AddClass(fmt.Sprint("more ", i)); err != nil || again != y {
			t.Errorf("again: label %d (%v)", again, err)
		}
	}
	if a := answers(t, x, 1); len(a.Guesses[0]) != 1 {
		t.Errorf("%+v before a publication", a)
	}
	observed(t, x, 20, 30, 1)
	published(t, x, 2)
	all, err := x.Predict(99, [][]byte{make([]byte, 192)})
	if err != nil || len(all.Guesses[0]) != 4 {
		t.Errorf("%+v (%v)", all, err)
	}
	if !slices.Equal(x.Classes(), []string{"class 0", "more 0", "more 1", "more 2"}) {
		t.Errorf("%q", x.Classes())
	}
	again := trainer(t, o)
	if err := again.LoadState(saved(t, x).Decoder()); err != nil || again.Stats().Classes != 4 || digest(t, again) != digest(t, x) {
		t.Errorf("loaded: %v, %+v", err, again.Stats())
	}
	for _, bad := range []string{"", "a\nb"} {
		if _, err := x.AddClass(bad); !errors.Is(err, ErrLabel) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	o.MaxClasses = 1
	bounded := trainer(t, o)
	if _, err := bounded.AddClass("a"); err != nil {
		t.Error(err)
	}
	if _, err := bounded.AddClass("b"); !errors.Is(err, ErrBound) || bounded.Err() != nil || len(bounded.Classes()) != 1 {
		t.Errorf("%v, %q", err, bounded.Classes())
	}
}

// TestAllClassesDeclared: with its classes added before the first image, a trainer learns as one of exactly so many outputs does.
func TestAllClassesDeclared(t *testing.T) {
	o := small("er")
	o.Capacity = 4
	x := trainer(t, o)
	for k := range 4 {
		if _, err := x.AddClass(fmt.Sprint("class ", k)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.Predict(1, [][]byte{make([]byte, 192)}); !errors.Is(err, ErrNothing) {
		t.Error(err)
	}
	if err := x.Publish(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if _, err := x.Predict(1, [][]byte{make([]byte, 192)}); !errors.Is(err, ErrNothing) {
		t.Error(err)
	}
	pixels, y := pixelsOf(t, x, 0, 1)
	stats, err := x.Observe(t.Context(), pixels, []ocl.Label{y})
	if err != nil || !(stats.Loss > 0.5) { // a softmax over one output alone has the loss 0
		t.Errorf("%+v, %v", stats, err)
	}
}

// TestPredictTogether: images that are predicted together get the guesses that each gets alone, of a method with logits and of one with class means.
func TestPredictTogether(t *testing.T) {
	for _, method := range []string{"er", "icarl", "slda"} {
		x := trainer(t, optionsOf(method))
		observed(t, x, 0, 100, 4)
		published(t, x, 3)
		var list [][]byte
		for i := range MaxPictures {
			pixels, _ := pixelsOf(t, x, i, 4)
			list = append(list, pixels)
		}
		all, err := x.Predict(3, list)
		if err != nil || len(all.Guesses) != MaxPictures {
			t.Fatal(err, len(all.Guesses))
		}
		for i, pixels := range list {
			one, err := x.Predict(3, [][]byte{pixels})
			if err != nil || !slices.Equal(one.Guesses[0], all.Guesses[i]) || len(one.Guesses[0]) != 3 {
				t.Errorf("%s: image %d: %v (%v), together %v", method, i, one, err, all.Guesses[i])
			}
		}
		for name, bad := range map[string]struct {
			k    int
			list [][]byte
			want string
		}{
			"none":     {1, nil, "there are 0 images. Give 1 to 32"},
			"too many": {1, append(list, list[0]), "there are 33 images. Give 1 to 32"},
			"short":    {1, [][]byte{list[0], list[0][1:]}, "bytes for an image of"},
			"nothing":  {0, list, "Ask for 1 or more"},
		} {
			if _, err := x.Predict(bad.k, bad.list); err == nil || !strings.HasPrefix(err.Error(), "live: predict: ") || !strings.Contains(err.Error(), bad.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := testing.AllocsPerRun(50, func() {
			if _, err := x.Predict(3, list); err != nil {
				t.Fatal(err)
			}
		}); n > 2 {
			t.Errorf("%s: a prediction allocates %v times, want the answer's two lists", method, n)
		}
	}
}

// TestManyPredictWhileOneLearns: predictions of many goroutines go on while a trainer learns, grows, publishes, loads and forgets, and each has the version that it was
// made by: of two versions the guesses never mix.
func TestManyPredictWhileOneLearns(t *testing.T) {
	o := small("icarl")
	o.Capacity = 2
	x := trainer(t, o)
	observed(t, x, 0, 20, 2)
	published(t, x, 0)
	list := [][]byte{make([]byte, 192), bytes.Repeat([]byte{200}, 192)}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var mu sync.Mutex
	seen := map[int64]Answer{}
	for range 4 {
		group.Go(func() {
			last := int64(0)
			for ctx.Err() == nil {
				a, err := x.Predict(1, list)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if of, there := seen[a.Version]; there && !alike(of, a) || a.Version < last {
					t.Errorf("version %d says %v and %v, after version %d", a.Version, of, a, last)
				}
				seen[a.Version] = a
				mu.Unlock()
				last = a.Version
				x.Stats()
				x.Classes()
				if err := x.Draw(make([]byte, 192), picture(1, "a", 9)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	state := saved(t, x)
	for i := range 20 {
		observed(t, x, 20+20*i, 40+20*i, 5)
		if _, err := x.Forget([]int64{x.Place() - 1, x.Place() - 2}); err != nil {
			t.Error(err)
		}
		if i == 10 {
			if err := x.LoadState(state.Decoder()); err != nil {
				t.Error(err)
			}
		}
		published(t, x, int64(i+1))
	}
	cancel()
	group.Wait()
}

// TestForget: no byte of an image that was forgotten is in the state, whatever else was learned, and learning and saving go on to the same bits.
func TestForget(t *testing.T) {
	t.Parallel()
	for _, method := range methods {
		x := trainer(t, optionsOf(method))
		var images [][]byte
		for i := range 80 {
			pixels, y := pixelsOf(t, x, i, 4)
			images = append(images, pixels)
			if _, err := x.Observe(t.Context(), pixels, []ocl.Label{y}); err != nil {
				t.Fatal(err)
			}
			if i == 50 {
				if err := x.Boundary(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		published(t, x, 1)
		var forgotten []int64
		for place := int64(0); place < 80; place += 3 {
			forgotten = append(forgotten, place)
		}
		before := x.Stats().Stored
		n, err := x.Forget(forgotten)
		if s := x.Stats().Stored; err != nil || s != before-n || n == 0 && before > 0 {
			t.Fatalf("%s: %d of %d forgotten, %d stored (%v)", method, n, before, s, err)
		}
		state := saved(t, x)
		for _, place := range forgotten {
			for _, name := range state.Names() {
				if b, err := state.Decoder().Bytes(name); err == nil && bytes.Contains(b, images[place]) {
					t.Errorf("%s: section %s has image %d", method, name, place)
				}
			}
		}
		if again, err := x.Forget(forgotten); again != 0 || err != nil {
			t.Errorf("%s: forgotten again: %d (%v)", method, again, err)
		}
		if x.Place() != 80 {
			t.Errorf("%s: place %d", method, x.Place())
		}
		published(t, x, 2)
		twin, err := ReadTrainer(state.Decoder(), nil)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		defer twin.Close()
		for _, of := range []*Trainer{x, twin} {
			observed(t, of, 80, 150, 6)
			published(t, of, 3)
		}
		if digest(t, x) != digest(t, twin) || !alike(answers(t, x, 6), answers(t, twin, 6)) {
			t.Errorf("%s: what was saved after a Forget goes on to other bits", method)
		}
		var all []int64
		for place := range x.Place() {
			all = append(all, place)
		}
		if _, err := x.Forget(all); err != nil || x.Stats().Stored != 0 {
			t.Errorf("%s: %d stored (%v)", method, x.Stats().Stored, err)
		}
		published(t, x, 4)
		if _, err := x.Predict(1, images[:1]); errors.Is(err, ErrNothing) != (x.Measure() == predict.Distance && before > 0) {
			t.Errorf("%s: with an empty memory: %v", method, err)
		}
		observed(t, x, 150, 180, 6)
		published(t, x, 5)
		if a := answers(t, x, 6); a.Version != 5 {
			t.Errorf("%s: %+v", method, a)
		}
	}
}

// TestRelabel: a stored image gets another class, also one that no batch had, and learning and saving go on.
func TestRelabel(t *testing.T) {
	t.Parallel()
	for _, method := range methods {
		x := trainer(t, optionsOf(method))
		observed(t, x, 0, 60, 3)
		m := x.core.parts().Memory
		if m == nil {
			if found, err := x.Relabel(3, 0); found || err != nil {
				t.Errorf("%s: found %t (%v) where nothing is stored", method, found, err)
			}
			continue
		}
		for range 2 { // within a task, and after one
			y, err := x.AddClass(fmt.Sprint("new ", x.Stats().Tasks))
			if err != nil {
				t.Fatal(err)
			}
			place := m.Origins()[5]
			if found, err := x.Relabel(place, y); !found || err != nil || m.Label(5) != y {
				t.Errorf("%s: found %t (%v), label %d, want %d", method, found, err, m.Label(5), y)
			}
			if found, err := x.Relabel(x.Place(), y); found || err != nil {
				t.Errorf("%s: an image that is not there: found %t (%v)", method, found, err)
			}
			if _, err := x.Relabel(place, 99); err == nil || !strings.Contains(err.Error(), "Add the class first") {
				t.Errorf("%s: a class that is not there: %v", method, err)
			}
			twin, err := ReadTrainer(saved(t, x).Decoder(), nil)
			if err != nil {
				t.Fatalf("%s: %v", method, err)
			}
			for _, of := range []*Trainer{x, twin} {
				observed(t, of, 60, 90, 3)
				if err := of.Boundary(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if digest(t, x) != digest(t, twin) {
				t.Errorf("%s: what was saved after a Relabel goes on to other bits", method)
			}
			if err := twin.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestWeights: weights of before come back, also after the head has grown and classes were added, while the memory, the classes and the counts stay. They hold no
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
				return slices.Clone(p.Net.Predict(p.WS, in).Row(0))
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

// TestWeightsOfOthers: weights of another config, of other classes or of a larger head are refused, and nothing has changed.
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

// TestOpenTrainer: a file of Save gives a trainer, with the images that wait aside, and the folder of a run does.
func TestOpenTrainer(t *testing.T) {
	x, err := OpenTrainer(savedFile(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if w := x.Waiting(); len(w) != 3 || len(w[0].Pixels) != 192 || w[0].Boundary || x.Stats().Images != 20 {
		t.Errorf("%d wait, %+v", len(w), x.Stats())
	}
	if x.Config().Methods[0] != "er" || x.Process().AtOnce < 1 {
		t.Errorf("%+v, %+v", x.Config(), x.Process())
	}
	of, err := OpenTrainer(run(t, "er", nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer of.Close()
	if of.Place() != 600 || of.Stats().Images != 0 || of.Stats().Classes != 100 {
		t.Errorf("place %d, %+v", of.Place(), of.Stats())
	}
	stored := of.core.parts().Memory.Origins()
	if n, err := of.Forget(stored[:2]); n != 2 || err != nil {
		t.Errorf("%d images of the run are forgotten (%v)", n, err)
	}
	if _, err := of.Predict(1, [][]byte{make([]byte, 192)}); !errors.Is(err, ErrNothing) {
		t.Errorf("before it was published: %v", err)
	}
	published(t, of, 1)
	answers(t, of, 3)
}

// TestSavedSolved: methods that train nothing are saved and opened.
func TestSavedSolved(t *testing.T) {
	for _, method := range []string{"ncm", "slda", "ranpac"} {
		l := made(t, optionsOf(method))
		learn(t, l, 0, 40, 3)
		flush(t, l)
		again := reopened(t, l)
		learn(t, l, 40, 80, 12)
		learn(t, again, 40, 80, 12)
		flush(t, l)
		flush(t, again)
		sameState(t, method, l, again)
		closed(t, again)
	}
}

// TestTrainerRefuses: faulty calls are errors that say what to do, change nothing and end nothing.
func TestTrainerRefuses(t *testing.T) {
	x := trainer(t, small("er"))
	observed(t, x, 0, 20, 2)
	before := digest(t, x)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var none context.Context
	for name, c := range map[string]struct {
		f    func() error
		want string
	}{
		"no image":   {func() error { _, err := x.Observe(t.Context(), nil, nil); return err }, "live: observe: there is no image"},
		"few bytes":  {func() error { _, err := x.Observe(t.Context(), make([]byte, 191), []ocl.Label{0}); return err }, "191 bytes for 1 image of 3×8×8. Give 192"},
		"class":      {func() error { _, err := x.Observe(t.Context(), make([]byte, 192), []ocl.Label{2}); return err }, "label 2 is none of 2 classes. Add the class first"},
		"negative":   {func() error { _, err := x.Observe(t.Context(), make([]byte, 192), []ocl.Label{-1}); return err }, "label -1 is none of 2 classes"},
		"ended":      {func() error { _, err := x.Observe(ended, make([]byte, 192), []ocl.Label{0}); return err }, "context canceled"},
		"no context": {func() error { _, err := x.Observe(none, make([]byte, 192), []ocl.Label{0}); return err }, "the context is nil"},
		"boundary":   {func() error { return x.Boundary(none) }, "the context is nil"},
		"publish":    {func() error { return x.Publish(none, 1) }, "the context is nil"},
		"draw":       {func() error { return x.Draw(make([]byte, 3), picture(1, "a", 8)) }, "3 bytes for an image of 3×8×8"},
		"format":     {func() error { published(t, x, 1); _, err := x.Export(&bytes.Buffer{}, "onix"); return err }, "onnx"},
	} {
		if err := c.f(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if digest(t, x) != before || x.Err() != nil {
		t.Errorf("a faulty call has changed something (%v)", x.Err())
	}
	var zero Trainer
	for name, f := range map[string]func() error{
		"Observe":   func() error { _, err := zero.Observe(t.Context(), make([]byte, 192), []ocl.Label{0}); return err },
		"Predict":   func() error { _, err := zero.Predict(1, [][]byte{make([]byte, 192)}); return err },
		"LoadState": func() error { return zero.LoadState(checkpoint.NewContainer().Decoder()) },
		"Export":    func() error { _, err := zero.Export(&bytes.Buffer{}, ONNX); return err },
		"Draw":      func() error { return zero.Draw(nil, picture(1, "a", 8)) },
		"Close":     zero.Close,
	} {
		if err := f(); !errors.Is(err, errZero) {
			t.Errorf("%s of a zero Trainer: %v", name, err)
		}
	}
}

// TestTrainerCloses: after Close every call says so.
func TestTrainerCloses(t *testing.T) {
	x, err := NewTrainer(small("er"))
	if err != nil {
		t.Fatal(err)
	}
	observed(t, x, 0, 20, 2)
	published(t, x, 1)
	for range 2 {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, f := range map[string]func() error{
		"Observe":   func() error { _, err := x.Observe(t.Context(), make([]byte, 192), []ocl.Label{0}); return err },
		"Predict":   func() error { _, err := x.Predict(1, [][]byte{make([]byte, 192)}); return err },
		"LoadState": func() error { return x.LoadState(checkpoint.NewContainer().Decoder()) },
		"Export":    func() error { _, err := x.Export(&bytes.Buffer{}, ONNX); return err },
		"Publish":   func() error { return x.Publish(t.Context(), 2) },
	} {
		if err := f(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNiceMovesNoBit: learning by two threads of lower priority gives the bits of one of the usual.
func TestNiceMovesNoBit(t *testing.T) {
	a := trainer(t, small("mir"))
	o := small("mir")
	o.Workers, o.Nice = 2, 10
	b := trainer(t, o)
	for _, x := range []*Trainer{a, b} {
		observed(t, x, 0, 100, 9)
		published(t, x, 1)
	}
	if digest(t, a) != digest(t, b) || !alike(answers(t, a, 9), answers(t, b, 9)) {
		t.Error("a lower priority moves bits")
	}
	o.Nice = 20
	if x, err := NewTrainer(o); err == nil || !strings.Contains(err.Error(), "Nice is 20. Use 0 to 19") {
		t.Errorf("%v, %v", x, err)
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
	x.desk.stale = true
	if err := x.Publish(t.Context(), 2); !errors.Is(err, ocl.ErrDiverged) || !errors.Is(x.Err(), ocl.ErrDiverged) {
		t.Error(err)
	}
	if a := answers(t, x, 2); a.Version != 1 || !alike(a, before) {
		t.Errorf("%+v, before %+v", a, before)
	}
}

// FuzzReadTrainer changes a section of a state of weights, which a replica gets from elsewhere. Whatever comes out, nothing panics, memory is in proportion, and what
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
