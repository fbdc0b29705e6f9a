package predict

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/data"
	"ocl/run/metric"
)

// The measured accuracy is that of the run's last evaluation, and each class and the confusion add up to it.
func TestEvaluationIsThatOfTheRun(t *testing.T) {
	t.Parallel()
	for name, tricks := range map[string]string{"er": "none", "icarl": "none", "mir": "ema"} {
		c := small(name)
		c.Tricks = []string{tricks}
		p, res := opened(t, c, Options{AtOnce: 3})
		set := dataOf(t, c)
		last := 0
		e, err := p.Evaluate(t.Context(), set, EvaluateOptions{Progress: func(done, total int) {
			if done <= last || total != set.Test.Len() {
				t.Errorf("%d of %d after %d", done, total, last)
			}
			last = done
		}})
		if err != nil {
			t.Fatal(err)
		}
		if want := *res.Metrics.AverageAccuracy; !(math.Abs(e.Accuracy()-want) <= 1e-12) || e.Images != set.Test.Len() ||
			last != e.Images {
			t.Errorf("%s: accuracy %v of %d images, the run had %v", name, e.Accuracy(), e.Images, want)
		}
		images, correct := 0, 0
		for k := range e.Confusion {
			n, right, accuracy := e.Class(k)
			images, correct = images+n, correct+right
			if want := *res.PerClass[len(res.PerClass)-1][k]; accuracy != want {
				t.Errorf("%s: class %d: %v, the run had %v", name, k, accuracy, want)
			}
		}
		if images != e.Images || correct != e.Correct || len(e.Notes) > 0 || e.Half != Test || e.Digest != set.Digest {
			t.Errorf("%s: %d images, %d correct; %+v", name, images, correct, e)
		}
	}
}

// The accuracy of images counts a large class for more, that of classes does not, and classes without images count for
// neither.
func TestAccuracies(t *testing.T) {
	e := &Evaluation{Images: 12, Correct: 10, Confusion: metric.Confusion{{9, 1, 0}, {1, 1, 0}, {0, 0, 0}}}
	if got := e.Accuracy(); !(math.Abs(got-10.0/12) <= 1e-15) {
		t.Errorf("over images %v", got)
	}
	if got := e.ClassAccuracy(); !(math.Abs(got-0.7) <= 1e-15) {
		t.Errorf("over classes %v", got)
	}
	if got := (&Evaluation{Confusion: metric.NewConfusion(2)}).ClassAccuracy(); !math.IsNaN(got) {
		t.Errorf("without images %v", got)
	}
}

// renamed is a set with its classes in another order.
func renamed(set *data.Set, names []string, y func(int32) int32) *data.Set {
	other := *set
	other.ClassNames, other.Classes = names, len(names)
	other.Test.Y = make([]int32, len(set.Test.Y))
	for i, k := range set.Test.Y {
		other.Test.Y[i] = y(k)
	}
	return &other
}

// Classes of other numbers are the same classes if their names are; without names their numbers count.
func TestClassesAreMatchedByName(t *testing.T) {
	t.Parallel()
	p, _ := opened(t, small("er"), Options{})
	set := dataOf(t, small("er"))
	want, err := p.Evaluate(t.Context(), set, EvaluateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	backwards := slices.Clone(set.ClassNames)
	slices.Reverse(backwards)
	last := int32(set.Classes - 1)
	turned := renamed(set, backwards, func(k int32) int32 { return last - k })
	got, err := p.Evaluate(t.Context(), turned, EvaluateOptions{})
	if err != nil || got.Correct != want.Correct ||
		!slices.EqualFunc(got.Confusion, want.Confusion, slices.Equal[[]int]) || len(got.Notes) > 0 {
		t.Errorf("backwards: %v, %+v", err, got)
	}
	turned.ClassNames = nil
	got, err = p.Evaluate(t.Context(), turned, EvaluateOptions{})
	if err != nil || got.Correct == want.Correct || len(got.Notes) != 1 ||
		!strings.Contains(got.Notes[0], "by their numbers, because glyphs has no names") {
		t.Errorf("backwards without names: %v, %+v", err, got)
	}
	doubled := slices.Clone(set.ClassNames)
	doubled[1] = doubled[0]
	got, err = p.Evaluate(t.Context(), renamed(set, doubled, func(k int32) int32 { return k }), EvaluateOptions{})
	if err != nil || got.Correct != want.Correct || len(got.Notes) != 1 ||
		!strings.Contains(got.Notes[0], "have one name") {
		t.Errorf("one name twice: %v, %+v", err, got)
	}
	few := renamed(set, set.ClassNames[:len(set.ClassNames)-7], func(k int32) int32 { return min(k, last-7) })
	got, err = p.Evaluate(t.Context(), few, EvaluateOptions{})
	if err != nil || len(got.Notes) != 1 || !strings.Contains(got.Notes[0],
		"no images of 7 classes that the learner knows: ") || !strings.Contains(got.Notes[0], "and 2 more") {
		t.Errorf("seven classes fewer: %v, %+v", err, got)
	}
}

// Data that do not fit are named: unknown classes, more classes, another shape.
func TestDataThatDoNotFit(t *testing.T) {
	t.Parallel()
	p, _ := opened(t, small("er"), Options{})
	set := dataOf(t, small("er"))
	same := func(k int32) int32 { return k }
	others := make([]string, set.Classes)
	for k := range others {
		others[k] = fmt.Sprint("x", k)
	}
	large := *set
	large.H = 9
	grey := *set
	grey.C = 1
	nothing := *set
	nothing.Test = data.Split{Images: data.Block{Size: set.ImageLen()}}
	for what, c := range map[string]struct {
		set  *data.Set
		want string
	}{
		"unknown": {renamed(set, others, same),
			`does not know 100 classes of glyphs: "x0", "x1", "x2", "x3", "x4", and 95 more. Use data with the same classes`},
		"more classes": {&data.Set{Name: "x", C: 3, H: 8, W: 8, Classes: set.Classes + 1}, "the learner knows 100"},
		"other shape":  {&large, "3×9×8, and the learner takes 3×8×8. Use data.size=8"},
		"grey":         {&grey, "1×8×8, and the learner takes 3×8×8. Use data.channels=3, which makes"},
		"no image":     {&nothing, "no image of a class that the learner has learned"},
	} {
		if _, err := p.Evaluate(t.Context(), c.set, EvaluateOptions{}); !errors.Is(err, ErrUnfit) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
		// of images that may become embeddings
		if err := p.Check(c.set, EvaluateOptions{}); (err == nil) != strings.Contains(c.want, "and the learner takes") {
			t.Errorf("%s, checked before: %v", what, err)
		}
	}
	if _, err := p.Evaluate(t.Context(), set, EvaluateOptions{Half: "left"}); err == nil ||
		!strings.Contains(err.Error(), "Use test, train or all") {
		t.Error(err)
	}
}

// Images of classes that the learner does not know are left out, as those of classes that it has not learned, but not
// asked for. Names in another spelling are known.
func TestUnknownClassesAreLeftOut(t *testing.T) {
	t.Parallel()
	p, _ := opened(t, small("er"), Options{})
	p.info.ClassNames = slices.Clone(p.info.ClassNames)
	p.info.ClassNames[5] = "caf\u00e9"
	set := dataOf(t, small("er"))
	names := slices.Clone(set.ClassNames)
	names[3], names[8], names[5] = "zebra", "\x1b[2J", "cafe\u0301"
	set = renamed(set, names, func(k int32) int32 { return k })
	e, err := p.Evaluate(t.Context(), set, EvaluateOptions{})
	if err != nil || e.Images != 196 || e.LeftOut != 4 || len(e.Notes) != 3 ||
		e.Notes[0] != `the learner does not know 2 classes of glyphs: "zebra", "\x1b[2J"` {
		t.Errorf("%v, %+v", err, e)
	}
	set.ClassNames[5] = "CAFE\u0301"
	e, err = p.Evaluate(t.Context(), set, EvaluateOptions{})
	if err != nil || e.LeftOut != 4 || len(e.Notes) != 4 ||
		!strings.Contains(e.Notes[0], "of glyphs is the learner's class \"caf\u00e9\", as names are compared without case") {
		t.Errorf("in capitals: %v, %+v", err, e)
	}
	if err := p.Check(set, EvaluateOptions{Unseen: true}); !errors.Is(err, ErrUnfit) ||
		!strings.Contains(err.Error(), "so it cannot name them") {
		t.Error(err)
	}
}

// Images of classes that were not learned yet are left out by default.
func TestUnseenClassesAreLeftOut(t *testing.T) {
	t.Parallel()
	p, _ := opened(t, small("er"), Options{})
	p.info.Learned = []ocl.Label{3, 4, 50}
	set := dataOf(t, small("er"))
	e, err := p.Evaluate(t.Context(), set, EvaluateOptions{})
	if err != nil || e.Images != 6 || e.LeftOut != 194 || len(e.Notes) != 1 ||
		!strings.Contains(e.Notes[0], "194 images of 97 classes that the learner has not learned are left out") {
		t.Errorf("%v, %+v", err, e)
	}
	if n, _, accuracy := e.Class(5); n != 0 || !math.IsNaN(accuracy) {
		t.Errorf("class 5 has %d images and accuracy %v", n, accuracy)
	}
	if e, err = p.Evaluate(t.Context(), set, EvaluateOptions{Unseen: true}); err != nil || e.Images != 200 ||
		len(e.Notes) > 0 {
		t.Errorf("%v, %+v", err, e)
	}
}

// The halves have the images that they say.
func TestHalves(t *testing.T) {
	t.Parallel()
	p, _ := opened(t, small("er"), Options{})
	set := dataOf(t, small("er"))
	for half, want := range map[string]int{Test: 200, Train: 600, All: 800} {
		e, err := p.Evaluate(t.Context(), set, EvaluateOptions{Half: half})
		if err != nil || e.Images != want || (len(e.Notes) > 0) != (half != Test) {
			t.Errorf("%s: %v, %+v", half, err, e)
		}
	}
}

// broken are images that cannot be read.
type broken struct{ data.Images }

func (broken) Image(int, []uint8) ([]uint8, error) { return nil, errors.New("file 7 is broken") }

// An evaluation ends with ctx, and with the first image that cannot be read.
func TestEvaluationEnds(t *testing.T) {
	t.Parallel()
	p, _ := opened(t, small("er"), Options{})
	set := dataOf(t, small("er"))
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := p.Evaluate(ctx, set, EvaluateOptions{Progress: func(int, int) { cancel() }}); !errors.Is(err,
		context.Canceled) ||
		!strings.Contains(err.Error(), "Evaluate again for the whole result") {
		t.Error(err)
	}
	bad := *set
	bad.Test.Images = broken{set.Test.Images}
	if _, err := p.Evaluate(t.Context(), &bad, EvaluateOptions{}); err == nil ||
		!strings.Contains(err.Error(), "file 7 is broken") {
		t.Error(err)
	}
}
