package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ocl"
	"ocl/checkpoint"
	"ocl/predict"
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

// observed learns images [lo, hi) of so many classes in batches of ten. Classes come with their first image, as in a
// Learner.
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

// methods are those of the tests of a Trainer: with and without memory, tasks, class means and vectors, and such that
// train nothing.
var methods = []string{"er", "er+ncm", "icarl", "mir", "gss", "agem", "ewc++", "lwf", "finetune", "er+rv", "er+kdc",
	"er+ss", "ncm", "slda", "ranpac",
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
		if s := x.Stats(); s.Images != 130 || s.Batches != 13 || s.Published != 13 || s.Classes != 6 || s.Waiting != 0 ||
			x.Place() != 130 {
			t.Errorf("%s: %+v, place %d", method, s, x.Place())
		}
	}
}

// TestPublishing moves no bit: a trainer that was published, saved and weighed often has the digest of one that never
// was.
func TestPublishing(t *testing.T) {
	t.Parallel()
	for _, method := range methods {
		a, b := trainer(t, optionsOf(method)), trainer(t, optionsOf(method))
		for i := range 6 {
			observed(t, a, 20*i, 20*i+20, 4)
			observed(t, b, 20*i, 20*i+20, 4)
			if at, due := b.PublishDue(true); !due || at.After(time.Now().Add(time.Hour)) {
				t.Errorf("%s: due %t at %v", method, due, at)
			}
			published(t, b, int64(i))
			took := b.publisher.took
			// a classifier that takes so long to compute is published at once all the same where nothing waits
			b.publisher.took = time.Hour
			soon, due := b.PublishDue(false)
			if late, _ := b.PublishDue(true); due || soon.After(time.Now().Add(time.Minute)) ||
				late.Before(time.Now().Add(9*time.Hour)) {
				t.Errorf("%s: the next publication is due %t, at %v, and while more waits at %v", method, due, soon, late)
			}
			b.publisher.took = took
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

// TestStateGoesOn: what SaveState wrote goes on to the same bits, in a new trainer and in one that lives, whose head
// may be larger or smaller. Predictions go on with the published copy until the next Publish.
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

// TestClassesComeInUse: a class that is added has an output for the loss and the next published predictions, without an
// image; a head that is full doubles.
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
	if err := again.LoadState(saved(t, x).Decoder()); err != nil || again.Stats().Classes != 4 ||
		digest(t, again) != digest(t, x) {
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

// TestAllClassesDeclared: with its classes added before the first image, a trainer learns as one of exactly so many
// outputs does.
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

// TestPredictTogether: images that are predicted together get the guesses that each gets alone, of a method with logits
// and of one with class means.
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
			if _, err := x.Predict(bad.k, bad.list); err == nil || !strings.HasPrefix(err.Error(), "live: predict: ") ||
				!strings.Contains(err.Error(), bad.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := testing.AllocsPerRun(50, func() {
			if _, err := x.Predict(3, list); err != nil {
				t.Fatal(err)
			}
		}); n > 2 && x.Sureness() == nil || n > 16 {
			t.Errorf("%s: a prediction allocates %v times, want the answer's two lists, and what finds familiarities", method, n)
		}
	}
}

// TestManyPredictWhileOneLearns: predictions of many goroutines go on while a trainer learns, grows, publishes, loads
// and forgets, and each has the version that it was made by: of two versions the guesses never mix.
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

// TestWeights: weights of before come back, also after the head has grown and classes were added, while the memory, the
// classes and the counts stay. They hold no TestNiceMovesNoBit: learning by two threads of lower priority gives the
// bits of one of the usual.
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

// FuzzReadTrainer changes a section of a state of weights, which a replica gets from elsewhere. Whatever comes out,
// nothing panics, memory is in proportion, and what

// TestLabelsInOneSpelling: a learner learns one class under both spellings of Unicode that look alike, and in capitals.
func TestLabelsInOneSpelling(t *testing.T) {
	x := trainer(t, small("er"))
	for _, c := range [][2]string{{"cafe\u0301", "caf\u00e9"}, {"caf\u00e9", "caf\u00e9"}, {"n\u0303", "\u00f1"},
		{"CAFE\u0301", "caf\u00e9"}, {"Cat", "Cat"}, {"cat", "Cat"}} {
		if y, err := x.labelOf(x.called(c[0])); err != nil || x.Classes()[y] != c[1] {
			t.Errorf("%+q is class %d of %+q (%v)", c[0], y, x.Classes(), err)
		}
	}
}
