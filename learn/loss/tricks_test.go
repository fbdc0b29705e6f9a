package loss_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/internal/goldentest"
	"ocl/learn/loss"
	"ocl/nn/tensor"
)

// trickCriteria are the criteria of the survey's tricks, alone and together, and that of LwF.MC.
var trickCriteria = map[string]loss.Criterion{
	"lb": loss.Labels{}, "ss": loss.Separated{}, "kdc": loss.Distilled{}, "kdc*": loss.Distilled{Root: true},
	"kdc* authors":    loss.Distilled{Root: true, Alone: true},
	"kdc* authors+lb": loss.Distilled{Labels: loss.Labels{}, Root: true, Alone: true}, "lwf mc": loss.LwFMC{},
	"kdc+lb": loss.Distilled{Labels: loss.Labels{}}, "kdc*+ss": loss.Distilled{Labels: loss.Separated{}, Root: true},
}

// TestGoldenTricks compares losses and gradients with those of PyTorch in float64, testdata/tricks.py: batches of one
// label, of one row, of all classes and of none, and tasks without old and without new classes.
func TestGoldenTricks(t *testing.T) {
	var g struct {
		Classes int
		Cases   []struct {
			Criterion, Batch string
			Labels, Old, New []ocl.Label
			Share, Loss      float64
			Logits, Teacher  []float32
			Gradient         []float64
		}
	}
	goldentest.Read(t, "testdata/tricks.json", &g)
	if len(g.Cases) != 7*len(trickCriteria) {
		t.Errorf("%d cases, want 7 batches for each of %d criteria", len(g.Cases), len(trickCriteria))
	}
	for _, c := range g.Cases {
		n := len(c.Labels)
		in := loss.Input{Logits: tensor.Of(c.Logits, n, g.Classes), Y: c.Labels, Old: c.Old, New: c.New, Share: c.Share}
		if c.Teacher != nil {
			in.Teacher = tensor.Of(c.Teacher, n, g.Classes)
		}
		d := tensor.New(n, g.Classes)
		for i := range d.Data {
			d.Data[i] = 9 // to be written over
		}
		got, err := trickCriteria[c.Criterion].Eval(d, in)
		if err != nil || !(math.Abs(got-c.Loss) <= 1e-12*max(1, c.Loss)) {
			t.Errorf("%s, %s: loss %v (%v), want %v", c.Criterion, c.Batch, got, err, c.Loss)
		}
		for i, want := range c.Gradient {
			if !(math.Abs(float64(d.Data[i])-want) <= 2e-7) { // rounded to float32 two or three times, below 2
				t.Errorf("%s, %s: gradient %d is %v, want %v", c.Criterion, c.Batch, i, d.Data[i], want)
			}
		}
	}
}

// TestTricksAreCrossEntropy where they must be, bit for bit: the labels trick with all classes in the batch, separated
// softmax where one of the two sets has all classes, and the mixture without a teacher.
func TestTricksAreCrossEntropy(t *testing.T) {
	z, _ := random(7, 5, 3)
	y := []ocl.Label{4, 0, 2, 1, 3, 3, 0}
	all := []ocl.Label{0, 1, 2, 3, 4}
	want := tensor.New(7, 5)
	mean, err := loss.CrossEntropy{}.Eval(want, loss.Input{Logits: z, Y: y})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		loss.Criterion
		in loss.Input
	}{
		"labels":                      {loss.Labels{}, loss.Input{}},
		"separated, first task":       {loss.Separated{}, loss.Input{New: all}},
		"separated, old classes only": {loss.Separated{}, loss.Input{Old: all}},
		"distilled, first task":       {loss.Distilled{}, loss.Input{New: all, Share: 1}},
		"undistilled, first task":     {loss.Distilled{Root: true, Alone: true}, loss.Input{New: all, Share: 1}},
	} {
		d := tensor.New(7, 5)
		c.in.Logits, c.in.Y = z, y
		got, err := c.Eval(d, c.in)
		if err != nil || got != mean || !slices.Equal(d.Data, want.Data) {
			t.Errorf("%s: loss %v (%v) and gradient %v, want %v and %v", name, got, err, d.Data, mean, want.Data)
		}
		if _, mixes := c.Criterion.(loss.Distilled); mixes {
			continue
		}
		c.in.Logits = z.Clone()
		if _, err := c.Eval(c.in.Logits, c.in); err != nil || !slices.Equal(c.in.Logits.Data, want.Data) {
			t.Errorf("%s, in place: gradient %v (%v), want %v", name, c.in.Logits.Data, err, want.Data)
		}
	}
}

// TestPermutedClasses: with classes named otherwise, in logits, labels and sets, the loss is the same and the gradients
// are those of the renamed classes.
func TestPermutedClasses(t *testing.T) {
	order := []ocl.Label{3, 0, 4, 1, 2}
	rename := func(labels ...ocl.Label) (named []ocl.Label) {
		for _, y := range labels {
			named = append(named, order[y])
		}
		return named
	}
	columns := func(z *tensor.Tensor) *tensor.Tensor {
		named := tensor.New(z.Shape...)
		for i := range z.Shape[0] {
			for k, v := range z.Row(i) {
				named.Row(i)[order[k]] = v
			}
		}
		return named
	}
	z, _ := random(7, 5, 3)
	teacher, _ := random(7, 5, 2)
	in := loss.Input{Logits: z, Y: []ocl.Label{4, 0, 2, 1, 0, 0, 2}, Old: []ocl.Label{0, 1, 2}, New: []ocl.Label{3, 4},
		Share: 0.4, Teacher: teacher}
	other := loss.Input{
		Logits: columns(z), Y: rename(in.Y...), Old: rename(in.Old...), New: rename(in.New...), Share: 0.4,
		Teacher: columns(teacher),
	}
	slices.Sort(other.Old)
	slices.Sort(other.New)
	for name, c := range trickCriteria {
		d, moved := tensor.New(7, 5), tensor.New(7, 5)
		want, err := c.Eval(d, in)
		got, err2 := c.Eval(moved, other)
		if err != nil || err2 != nil || !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%s: loss %v (%v), of renamed classes %v (%v)", name, want, err, got, err2)
		}
		for i, v := range columns(d).Data {
			if !(math.Abs(float64(moved.Data[i]-v)) <= 1e-7) {
				t.Errorf("%s: gradient %d is %v, want %v", name, i, moved.Data[i], v)
			}
		}
	}
}

// TestTricksLeaveOthersAlone: no gradient for classes that a softmax does not go over.
func TestTricksLeaveOthersAlone(t *testing.T) {
	z, _ := random(2, 5, 3)
	d := tensor.New(2, 5)
	if _, err := (loss.Labels{}).Eval(d, loss.Input{Logits: z, Y: []ocl.Label{1, 3}}); err != nil {
		t.Fatal(err)
	}
	for i, v := range d.Data {
		if (v == 0) != (i%5 != 1 && i%5 != 3) {
			t.Errorf("labels 1 and 3: gradient %v", d.Data)
		}
	}
	if _, err := (loss.Separated{}).Eval(d, loss.Input{Logits: z, Y: []ocl.Label{1, 3}, Old: []ocl.Label{1, 2},
		New: []ocl.Label{3, 4}}); err != nil {
		t.Fatal(err)
	}
	for i, v := range d.Data {
		if (v == 0) != (i != 1 && i != 2 && i != 8 && i != 9) {
			t.Errorf("rows of old classes 1, 2 and of new classes 3, 4: gradient %v", d.Data)
		}
	}
}

func TestTricksRefuse(t *testing.T) {
	z, d := tensor.New(1, 3), tensor.New(1, 3)
	for name, c := range map[string]struct {
		loss.Criterion
		y    ocl.Label
		want string
	}{
		"a label beyond the classes":   {loss.Labels{}, 3, "label 3 is not a class in [0, 3)"},
		"a label of neither set":       {loss.Separated{}, 2, "label 2 is neither"},
		"the same with a teacher":      {loss.Distilled{Labels: loss.Separated{}}, 2, "label 2 is neither"},
		"a negative label, no teacher": {loss.Distilled{}, -1, "label -1"},
	} {
		in := loss.Input{Logits: z, Y: []ocl.Label{c.y}, Old: []ocl.Label{0}, New: []ocl.Label{1}, Share: 0.5}
		if strings.Contains(name, "with a teacher") {
			in.Teacher = z
		}
		if _, err := c.Eval(d, in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("distilled in place: no panic")
		}
	}()
	_, _ = loss.Distilled{}.Eval(z, loss.Input{Logits: z, Y: []ocl.Label{0}, Teacher: tensor.New(1, 3)})
}

// TestTricksShowNaN: logits that are not finite give a loss that is not.
func TestTricksShowNaN(t *testing.T) {
	z := tensor.Of([]float32{0, float32(math.NaN()), 1}, 1, 3)
	in := loss.Input{Logits: z, Y: []ocl.Label{1}, New: []ocl.Label{0, 1, 2}, Share: 0.5, Teacher: tensor.New(1, 3)}
	for name, c := range trickCriteria {
		if got, err := c.Eval(tensor.New(1, 3), in); err != nil || !math.IsNaN(got) {
			t.Errorf("%s: loss %v (%v), want NaN", name, got, err)
		}
	}
}

func TestTricksAllocateNothing(t *testing.T) {
	z, y := random(10, 100, 3)
	in := loss.Input{Logits: z, Y: y, Share: 0.5, Teacher: z}
	for k := range ocl.Label(100) {
		in.New = append(in.New, k)
	}
	d := tensor.New(10, 100)
	for name, c := range trickCriteria {
		if n := testing.AllocsPerRun(20, func() { _, _ = c.Eval(d, in) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestMeanDistilledByParts: the loss on labels and half of the weight times that of the answers, of a view the answers
// alone, and of neither without a teacher.
func TestMeanDistilledByParts(t *testing.T) {
	z, y := random(7, 5, 3)
	teacher, _ := random(7, 5, 2)
	c := loss.MeanDistilled{Labels: loss.Labels{}, Weight: 3, T: 4}
	for name, in := range map[string]loss.Input{
		"learned": {Teacher: teacher}, "a view": {Role: loss.View | loss.Incoming, Teacher: teacher},
		"a view without a teacher": {Role: loss.View},
	} {
		in.Logits, in.Y = z, y
		want := tensor.New(7, 5)
		mean := 0.0
		if !in.Role.Has(loss.View) || in.Teacher == nil {
			mean, _ = loss.Labels{}.Eval(want, in)
		}
		if in.Teacher != nil {
			mean += float64(1.5 * loss.Distillation{T: 4}.AddTo(want, z, teacher, 1.5))
		}
		d := tensor.New(7, 5)
		for i := range d.Data {
			d.Data[i] = 9 // to be written over
		}
		if got, err := c.Eval(d, in); err != nil || got != mean || !slices.Equal(d.Data, want.Data) {
			t.Errorf("%s: loss %v (%v) and gradient %v, want %v and %v", name, got, err, d.Data, mean, want.Data)
		}
	}
	view := loss.Input{Logits: z, Y: []ocl.Label{0, 1, 2, 3, 4, 0, 9}, Role: loss.View, Teacher: teacher}
	if _, err := c.Eval(tensor.New(7, 5), view); err == nil || !strings.Contains(err.Error(), "label 9") {
		t.Errorf("a label beyond the classes: %v", err)
	}
}
