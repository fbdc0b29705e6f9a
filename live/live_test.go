package live

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ocl"
	"ocl/checkpoint"
	"ocl/predict"
	"ocl/rng"
)

// small are options of a learner that learns a batch in less than a millisecond, and cuts batches by size alone.
func small(method string) Options {
	return Options{Method: method, Memory: 30, Size: 8,
		Set: []string{"network.name=mlp", "network.hidden=16", "optimizer.lr=0.05"}, Capacity: 8,
		Process: Process{Age: -1, Workers: 1, AtOnce: 2}}
}

// made is a learner of these options, which the test closes.
func made(t testing.TB, o Options) *Learner {
	t.Helper()
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, l) })
	return l
}

func closed(t testing.TB, l *Learner) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// shapeName is the class of image i of so many classes: the first image of a class comes after those of the classes
// before it.
func shapeName(i, classes int) string { return fmt.Sprintf("class %d", i*7%min(classes, 1+i/5)) }

// picture is an image of a class: a bar whose place and colour tell the class, with noise that depends on i.
func picture(i int, name string, side int) *image.NRGBA {
	src := rng.New(uint64(i), "live/picture")
	k := 0
	for _, c := range name {
		k = k*10 + int(c)
	}
	img := image.NewNRGBA(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			v := uint8(src.IntN(60))
			c := color.NRGBA{v, v, v, 255}
			if (x+y*(k%3))*8/side%8 == k%8 {
				c = color.NRGBA{uint8(200 + k%50), uint8(37 * k), uint8(91 * k), 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

// learn learns images [lo, hi) of so many classes.
func learn(t testing.TB, l *Learner, lo, hi, classes int) {
	t.Helper()
	for i := lo; i < hi; i++ {
		name := shapeName(i, classes)
		if err := l.Learn(context.Background(), picture(i, name, 12), name); err != nil {
			t.Fatal(err)
		}
	}
}

func flush(t testing.TB, l *Learner) {
	t.Helper()
	if err := l.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// stateOf is all that a learner would save.
func stateOf(t testing.TB, l *Learner) *checkpoint.Container {
	t.Helper()
	s, err := l.state()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sameState compares what learners would save.
func sameState(t testing.TB, what string, a, b *Learner) {
	t.Helper()
	x, y := stateOf(t, a), stateOf(t, b)
	if x.Equal(y) {
		return
	}
	t.Errorf("%s: the states differ", what)
	for _, name := range x.Names() {
		one, _ := x.Decoder().Bytes(name)
		other, err := y.Decoder().Bytes(name)
		if err != nil || !slices.Equal(one, other) {
			t.Errorf("  in section %s (%d and %d bytes) %.300s %.300s", name, len(one), len(other), one, other)
		}
	}
}

// TestLearns: a learner that saw some images of some classes names others.
func TestLearns(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"er", "er+ncm", "icarl", "mir", "gss", "agem", "ewc++", "lwf", "finetune", "er+rv",
		"er+kdc", "er+ss"} {
		l := made(t, small(method))
		learn(t, l, 0, 600, 4)
		flush(t, l)
		right := 0
		for i := 1000; i < 1100; i++ {
			name := shapeName(i, 4)
			got, err := l.Predict(picture(i, name, 12), 2)
			if err != nil || len(got) != 2 {
				t.Fatalf("%s: %v, %v", method, got, err)
			}
			if got[0].Name == name {
				right++
			}
		}
		s := l.Stats()
		if right < 80 || s.Classes != 4 || s.Images != 600 || s.Batches != 60 || s.Published != 60 || s.Waiting != 0 ||
			s.Capacity != 8 {
			t.Errorf("%s: %d of 100 right, %+v", method, right, s)
		}
		if want := map[bool]predict.Measure{true: predict.Distance, false: predict.Probability}[method == "icarl" ||
			method == "er+ncm"]; l.Measure() != want {
			t.Errorf("%s: measure %s", method, l.Measure())
		}
	}
}

// TestGuesses: there are no more guesses than classes, probabilities add up to 1 over the classes that were learned,
// and pixels give what their image gives.
func TestGuesses(t *testing.T) {
	t.Parallel()
	l := made(t, small("er"))
	learn(t, l, 0, 100, 3)
	flush(t, l)
	img := picture(7, "class 1", 8)
	all, err := l.Predict(img, 99)
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	sum := 0.0
	for i, g := range all {
		sum += g.Value
		if i > 0 && g.Value > all[i-1].Value || g.Name != fmt.Sprintf("class %d", g.Class) {
			t.Errorf("guess %d is %+v", i, g)
		}
	}
	if !(math.Abs(sum-1) < 1e-9) {
		t.Errorf("the probabilities add up to %v", sum)
	}
	pixels := make([]byte, 3*8*8)
	for i := range 64 {
		for c := range 3 {
			pixels[c*64+i] = img.Pix[4*i+c]
		}
	}
	one := make([]predict.Guess, 2)
	if got, err := l.PredictPixels(one, pixels); err != nil || !slices.Equal(got, all[:2]) {
		t.Errorf("pixels give %v, %v", got, err)
	}
	if got, err := l.PredictInto(one[:1], img); err != nil || !slices.Equal(got, all[:1]) {
		t.Errorf("one guess is %v, %v", got, err)
	}
	if err := l.LearnPixels(t.Context(), pixels, "class 1"); err != nil {
		t.Error(err)
	}
}

// TestPredictionsAllocateNothing: but for the guesses that Predict returns.
func TestPredictionsAllocateNothing(t *testing.T) {
	for _, method := range []string{"er", "er+ncm"} {
		l := made(t, small(method))
		learn(t, l, 0, 100, 3)
		flush(t, l)
		img, dst, pixels := picture(7, "class 1", 12), make([]predict.Guess, 3), make([]byte, 3*8*8)
		for name, c := range map[string]struct {
			most float64
			f    func() ([]predict.Guess, error)
		}{
			"Predict":       {1, func() ([]predict.Guess, error) { return l.Predict(img, 3) }},
			"PredictInto":   {0, func() ([]predict.Guess, error) { return l.PredictInto(dst, img) }},
			"PredictPixels": {0, func() ([]predict.Guess, error) { return l.PredictPixels(dst, pixels) }},
		} {
			if n := testing.AllocsPerRun(50, func() {
				if _, err := c.f(); err != nil {
					t.Fatal(err)
				}
			}); n > c.most {
				t.Errorf("%s: %s allocates %v times", method, name, n)
			}
		}
	}
}

// TestSaveAndOpenGoOnToTheSameBits: learn 100, save, open, learn 100 is learn 200, for methods with and without memory,
// tasks, class means and vectors, with images and ends of tasks that wait when the learner is saved.
func TestSaveAndOpenGoOnToTheSameBits(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"er", "er+ncm", "icarl", "mir", "agem", "ewc++", "lwf", "er+rv", "er+kdc", "gss"} {
		for _, half := range []int{100, 97} {
			whole := made(t, small(method))
			parts := made(t, small(method))
			for _, l := range []*Learner{whole, parts} {
				learn(t, l, 0, 60, 6)
				if err := l.Boundary(); err != nil {
					t.Fatal(err)
				}
				learn(t, l, 60, half, 6)
			}
			path := filepath.Join(t.TempDir(), "saved.ocl")
			if err := parts.Save(path); err != nil {
				t.Fatal(err)
			}
			opened, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			learn(t, whole, half, 200, 6)
			learn(t, opened, half, 200, 6)
			flush(t, whole)
			flush(t, opened)
			sameState(t, fmt.Sprintf("%s, saved after %d", method, half), whole, opened)
			if s := opened.Stats(); s.Images != 200 || len(opened.Notes()) > 0 {
				t.Errorf("%+v, notes %q", s, opened.Notes())
			}
			closed(t, opened)
		}
	}
}

// TestSavingChangesNothing: a learner that was saved often ends in the bits of one that was never saved.
func TestSavingChangesNothing(t *testing.T) {
	t.Parallel()
	a, b := made(t, small("er")), made(t, small("er"))
	path := filepath.Join(t.TempDir(), "saved.ocl")
	for i := range 20 {
		learn(t, a, 7*i, 7*i+7, 4)
		learn(t, b, 7*i, 7*i+7, 4)
		if err := b.Save(path); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, a)
	flush(t, b)
	sameState(t, "saved after each 7 images", a, b)
}

// TestHeadDoubles: the first outputs keep their weights when the head doubles, at once for as many classes as come, and
// the learner goes on after it and after a Save.
func TestHeadDoubles(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"er", "icarl", "ewc++", "er+kdc"} {
		o := small(method)
		o.Capacity = 2
		l := made(t, o)
		learn(t, l, 0, 40, 2)
		flush(t, l)
		before, _ := l.Predict(picture(3, "class 1", 12), 9)
		learn(t, l, 40, 300, 9)
		flush(t, l)
		if s := l.Stats(); s.Capacity != 16 || s.Classes != 9 || s.Images != 300 || len(before) != 2 {
			t.Errorf("%s: %+v", method, s)
		}
		// it does not guess a class of which nothing is stored
		if got, err := l.Predict(picture(3, "class 1", 12), 99); err != nil || len(got) != 9 && method != "icarl" {
			t.Errorf("%s: %v, %v", method, got, err)
		}
		opened := reopened(t, l)
		learn(t, opened, 300, 400, 20)
		learn(t, l, 300, 400, 20)
		flush(t, opened)
		flush(t, l)
		sameState(t, method, l, opened)
		closed(t, opened)
	}
}

// TestLateClasses: classes that come one by one, each when samples of the others are stored, are learned by all that
// looks at copies of the network.
func TestLateClasses(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"mir", "gss", "er+kdc"} {
		l := made(t, small(method))
		for i := range 240 {
			name := fmt.Sprintf("class %d", i%(1+i/60))
			if err := l.Learn(t.Context(), picture(i, name, 12), name); err != nil {
				t.Fatalf("%s: image %d: %v", method, i, err)
			}
		}
		flush(t, l)
		if s := l.Stats(); s.Classes != 4 || s.Images != 240 {
			t.Errorf("%s: %+v", method, s)
		}
	}
}

// TestAge: a batch is cut when its first image has waited long enough, and the copy of the weights follows.
func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small("er")
		o.Age = 3 * time.Second
		l := made(t, o)
		learn(t, l, 0, 4, 1)
		time.Sleep(2900 * time.Millisecond)
		synctest.Wait()
		if s := l.Stats(); s.Images != 0 || s.Waiting != 4 {
			t.Errorf("after 2.9 s: %+v", s)
		}
		learn(t, l, 4, 6, 1)
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if s := l.Stats(); s.Images != 6 || s.Batches != 1 || s.Waiting != 0 || s.Published != 1 {
			t.Errorf("after 3.1 s: %+v", s)
		}
		learn(t, l, 6, 16, 1) // ten are cut at once, and published 100 ms after the last publication
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if s := l.Stats(); s.Images != 16 || s.Batches != 2 {
			t.Errorf("by size: %+v", s)
		}
		time.Sleep(publishEvery)
		synctest.Wait()
		if s := l.Stats(); s.Published != 2 {
			t.Errorf("published: %+v", s)
		}
		closed(t, l)
	})
}

// TestNoAge: without an age, images wait for a whole batch.
func TestNoAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, small("er"))
		learn(t, l, 0, 9, 1)
		time.Sleep(10 * time.Hour)
		synctest.Wait()
		if s := l.Stats(); s.Images != 0 || s.Waiting != 9 {
			t.Errorf("%+v", s)
		}
		closed(t, l)
	})
}

// TestQueueIsBounded: Learn waits while as many images wait as may, until ctx ends or there is room again.
func TestQueueIsBounded(t *testing.T) {
	o := small("er")
	o.Batch, o.Queue = 10, 10
	l := made(t, o)
	l.step.Lock() // nothing is learned
	learn(t, l, 0, 10, 1)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- l.Learn(ctx, picture(1, "late", 12), "late") }()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) || len(l.Classes()) != 1 {
		t.Errorf("%v, classes %q", err, l.Classes())
	}
	go func() { result <- l.Learn(t.Context(), picture(1, "late", 12), "late") }()
	l.step.Unlock()
	if err := <-result; err != nil {
		t.Error(err)
	}
	flush(t, l)
	if s := l.Stats(); s.Images != 11 || s.Classes != 2 {
		t.Errorf("%+v", s)
	}
}

// TestBoundaries: a method that uses tasks is told of them, with their classes as these come, and others ignore them.
func TestBoundaries(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"lwf", "icarl", "er"} {
		l := made(t, small(method))
		for range 3 { // before anything there is no task to end
			if err := l.Boundary(); err != nil {
				t.Fatal(err)
			}
		}
		learn(t, l, 0, 25, 4)
		if err := l.Boundary(); err != nil {
			t.Fatal(err)
		}
		learn(t, l, 25, 37, 6)
		flush(t, l)
		want := map[bool]int{true: 1, false: 0}[method != "er"]
		if s := l.Stats(); s.Tasks != want || s.Batches != 5 || s.Images != 37 {
			t.Errorf("%s: %+v", method, s)
		}
	}
}

// TestDivergence: a loss that is no number ends learning with an error that says so, and predictions stay those of
// before. The file of the last Save stays, and can be opened.
func TestDivergence(t *testing.T) {
	o := small("er")
	o.Set = append(o.Set, "optimizer.lr=1e30")
	l := made(t, o)
	path := filepath.Join(t.TempDir(), "saved.ocl")
	learn(t, l, 0, 10, 1)
	flush(t, l)
	if err := l.Save(path); err != nil {
		t.Fatal(err)
	}
	img := picture(3, "class 0", 12)
	for i := 10; l.Err() == nil && i < 5000; i++ {
		name := shapeName(i, 5)
		if err := l.Learn(t.Context(), picture(i, name, 12), name); err != nil {
			break
		}
	}
	err := l.Flush(t.Context())
	if !errors.Is(err, ocl.ErrDiverged) || !strings.Contains(err.Error(),
		"Predictions go on with the last good weights. Open the last saved file") {
		t.Fatalf("%v; the weights are to explode", err)
	}
	got, err := l.Predict(img, 5)
	if err != nil || !(got[0].Value > 0) {
		t.Errorf("%v, %v", got, err)
	}
	if err := l.Learn(t.Context(), img, "class 0"); !errors.Is(err, ocl.ErrDiverged) {
		t.Error(err)
	}
	if err := l.Boundary(); !errors.Is(err, ocl.ErrDiverged) {
		t.Error(err)
	}
	if err := l.Save(path); !errors.Is(err, ocl.ErrDiverged) {
		t.Error(err)
	}
	opened, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := opened.Stats(); s.Images != 10 {
		t.Errorf("%+v", s)
	}
	closed(t, opened)
}

// reopened is the learner that Open makes of what l saves.
func reopened(t *testing.T, l *Learner) *Learner {
	t.Helper()
	path := filepath.Join(t.TempDir(), "saved.ocl")
	if err := l.Save(path); err != nil {
		t.Fatal(err)
	}
	opened, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}
