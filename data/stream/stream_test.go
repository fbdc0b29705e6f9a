package stream

import (
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/data"
)

// tiny is a data set of K classes with n training and m test images each, 1×4×4; the pixels name the image.
func tiny(classes, n, m int) *data.Set {
	s := &data.Set{Name: "tiny", C: 1, H: 4, W: 4, Classes: classes, Digest: "sha256:0"}
	fill := func(p *data.Split, per int) {
		images := data.Block{Size: 16}
		for i := range classes * per {
			p.Y = append(p.Y, int32(i%classes))
			images.Pixels = append(images.Pixels, uint8(i), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, uint8(i>>8))
		}
		p.Images = images
	}
	fill(&s.Train, n)
	fill(&s.Test, m)
	return s
}

// first is a split of the first n images.
func first(s data.Split, n int) data.Split {
	images := s.Images.(data.Block)
	images.Pixels = images.Pixels[:n*images.Size]
	return data.Split{Images: images, Y: s.Y[:n]}
}

// image is the index of the image in row i of a batch of tiny.
func image(b ocl.Batch, i int) int {
	row := b.X.Row(i)
	return int(math.Round(float64(row[0])*255)) + 256*int(math.Round(float64(row[15])*255))
}

func mustSplit(t *testing.T, set *data.Set, o Options) *Tasks {
	t.Helper()
	s, err := Split(set, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// drain lists the images and labels of a sequence, and its batch sizes.
func drain(t *testing.T, seq iter.Seq2[ocl.Batch, error]) (images, labels, sizes []int) {
	t.Helper()
	for b, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		b.X.CheckShape("batch", b.Len(), 1, 4, 4)
		for i, y := range b.Y {
			images, labels = append(images, image(b, i)), append(labels, int(y))
		}
		sizes = append(sizes, b.Len())
	}
	return images, labels, sizes
}

func TestEachTrainingImageIsDeliveredOnce(t *testing.T) {
	set := tiny(12, 30, 5)
	s := mustSplit(t, set, Options{Tasks: 4, Batch: 7, TestBatch: 4, Seed: 3})
	count := make([]int, set.Train.Len())
	classes := map[ocl.Label]int{}
	for task, info := range s.Info().Tasks {
		images, labels, sizes := drain(t, s.Train(task))
		if len(images) != info.Train || info.Train != 90 || info.Index != task {
			t.Errorf("task %d: %d images, info %+v, want 90", task, len(images), info)
		}
		if len(sizes) != s.Batches(task) || sizes[0] != 7 || sizes[len(sizes)-1] != 90%7 {
			t.Errorf("task %d: batch sizes %v", task, sizes)
		}
		if slices.IsSorted(images) {
			t.Errorf("task %d is not shuffled", task)
		}
		for i, p := range images {
			count[p]++
			if labels[i] != int(set.Train.Y[p]) || !slices.Contains(info.Classes, ocl.Label(labels[i])) {
				t.Errorf("task %d: image %d has label %d, want %d, one of %v", task, p, labels[i], set.Train.Y[p], info.Classes)
			}
		}
		for _, k := range info.Classes {
			classes[k]++
		}
		for range 2 { // tests may be repeated
			images, labels, sizes = drain(t, s.Test(task))
			if len(images) != info.Test || info.Test != 15 || !slices.Equal(sizes, []int{4, 4, 4, 3}) {
				t.Errorf("task %d: %d test images in %v, info %+v", task, len(images), sizes, info)
			}
			for i, p := range images {
				if labels[i] != int(set.Test.Y[p]) || !slices.Contains(info.Classes, ocl.Label(labels[i])) {
					t.Errorf("task %d: test image %d has label %d", task, p, labels[i])
				}
			}
		}
	}
	for p, n := range count {
		if n != 1 {
			t.Errorf("image %d was delivered %d times, want once", p, n)
		}
	}
	if len(classes) != 12 {
		t.Errorf("%d classes in all tasks, want 12", len(classes))
	}
}

func TestTrainingAgainIsAnError(t *testing.T) {
	s := mustSplit(t, tiny(4, 10, 2), Options{Tasks: 2, Batch: 5})
	for range s.Train(0) {
		break // even a task that was left early has been seen
	}
	seen := 0
	for b, err := range s.Train(0) {
		seen++
		if !errors.Is(err, ocl.ErrConsumed) || b.X != nil {
			t.Errorf("got batch %v and error %v, want ErrConsumed", b, err)
		}
	}
	if seen != 1 {
		t.Errorf("yielded %d times, want the error once", seen)
	}
	for _, task := range []int{-1, 2} {
		for _, seq := range []iter.Seq2[ocl.Batch, error]{s.Train(task), s.Test(task)} {
			for _, err := range seq {
				if err == nil || errors.Is(err, ocl.ErrConsumed) {
					t.Errorf("task %d: got %v, want an error of the range", task, err)
				}
			}
		}
	}
}

func TestSeedFixesTheStream(t *testing.T) {
	set := tiny(10, 20, 2)
	all := func(o Options) []int {
		o.Tasks, o.Batch = 5, 10
		s := mustSplit(t, set, o)
		var got []int
		for task := range s.Info().Tasks {
			p, _, _ := drain(t, s.Train(task))
			got = append(got, p...)
		}
		return got
	}
	if !slices.Equal(all(Options{Seed: 5}), all(Options{Seed: 5})) {
		t.Error("the same seed gives two streams")
	}
	if slices.Equal(all(Options{Seed: 5}), all(Options{Seed: 6})) {
		t.Error("two seeds give the same stream")
	}
	given := mustSplit(t, set, Options{Tasks: 5, Batch: 10, Order: Given, Seed: 5})
	if got := given.Info().Tasks[1].Classes; !slices.Equal(got, []ocl.Label{2, 3}) {
		t.Errorf("given order: task 1 has classes %v, want 2 and 3", got)
	}
	list := mustSplit(t, set, Options{Tasks: 5, Batch: 10, ClassOrder: []int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}})
	if got := list.Info().Tasks[0].Classes; !slices.Equal(got, []ocl.Label{9, 8}) {
		t.Errorf("listed order: task 0 has classes %v, want 9 and 8", got)
	}
}

func TestProtocolsCutTheSameStream(t *testing.T) {
	set := tiny(10, 20, 2)
	whole := mustSplit(t, set, Options{Tasks: 5, Batch: 10, Seed: 1})
	var want [][]int
	for task := range 5 {
		p, _, _ := drain(t, whole.Train(task))
		want = append(want, p)
	}
	for _, c := range []struct {
		protocol string
		from, to int
	}{{"standard", 0, 5}, {"survey", 2, 5}, {"tuning", 0, 2}} {
		keep, err := Protocol(c.protocol, 5)
		if err != nil || keep != (Range{c.from, c.to}) {
			t.Fatalf("%s: %v, %v", c.protocol, keep, err)
		}
		s := mustSplit(t, set, Options{Tasks: 5, Batch: 10, Seed: 1, Keep: keep})
		if got := len(s.Info().Tasks); got != c.to-c.from || s.Info().Classes != 10 {
			t.Errorf("%s: %d tasks, %d classes", c.protocol, got, s.Info().Classes)
		}
		for task, info := range s.Info().Tasks {
			p, _, _ := drain(t, s.Train(task))
			if info.Index != task || s.Original(task) != c.from+task || !slices.Equal(p, want[c.from+task]) {
				t.Errorf("%s: task %d (%+v, original %d) is not task %d of the whole stream",
					c.protocol, task, info, s.Original(task), c.from+task)
			}
		}
	}
	for _, c := range []struct {
		name  string
		tasks int
	}{{"survey", 2}, {"tuning", 1}, {"paper", 20}} {
		if _, err := Protocol(c.name, c.tasks); err == nil {
			t.Errorf("protocol %s with %d tasks is accepted", c.name, c.tasks)
		}
	}
}

func TestSeekContinuesInTheMiddle(t *testing.T) {
	set := tiny(6, 25, 2)
	opts := Options{Tasks: 3, Batch: 8, Seed: 9}
	type row struct {
		x []float32
		y []ocl.Label
	}
	take := func(s *Tasks, task int) (rows []row) {
		for b, err := range s.Train(task) {
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row{slices.Clone(b.X.Data), slices.Clone(b.Y)})
		}
		return rows
	}
	whole := mustSplit(t, set, opts)
	var want [3][]row
	for task := range want {
		want[task] = take(whole, task)
	}
	for task := range 3 {
		for batch := 0; batch <= whole.Batches(task); batch++ {
			s := mustSplit(t, set, opts)
			if err := s.Seek(task, batch); err != nil {
				t.Fatal(err)
			}
			for before := range task {
				for _, err := range s.Train(before) {
					if !errors.Is(err, ocl.ErrConsumed) {
						t.Errorf("task %d after Seek(%d): %v, want ErrConsumed", before, task, err)
					}
				}
			}
			for after := task; after < 3; after++ {
				rest := want[after]
				if after == task {
					rest = rest[batch:]
				}
				got := take(s, after)
				if !slices.EqualFunc(got, rest, func(a, b row) bool { return slices.Equal(a.x, b.x) && slices.Equal(a.y, b.y) }) {
					t.Fatalf("Seek(%d, %d): task %d differs from the uninterrupted stream", task, batch, after)
				}
			}
		}
	}
	s := mustSplit(t, set, opts)
	for _, bad := range [][2]int{{-1, 0}, {4, 0}, {3, 1}, {0, -1}, {0, s.Batches(0) + 1}} {
		if s.Seek(bad[0], bad[1]) == nil {
			t.Errorf("Seek(%d, %d) is accepted", bad[0], bad[1])
		}
	}
	if err := s.Seek(3, 0); err != nil {
		t.Errorf("seeking the end: %v", err)
	}
	if err := whole.Seek(1, 0); !errors.Is(err, ocl.ErrConsumed) {
		t.Errorf("seeking back: %v, want ErrConsumed", err)
	}
}

func TestDropLast(t *testing.T) {
	s := mustSplit(t, tiny(4, 13, 2), Options{Tasks: 2, Batch: 8, DropLast: true})
	_, _, sizes := drain(t, s.Train(1))
	if !slices.Equal(sizes, []int{8, 8, 8}) || s.Info().Tasks[1].Train != 24 || s.Batches(1) != 3 {
		t.Errorf("batches %v, info %+v; want three of 8", sizes, s.Info().Tasks[1])
	}
}

func TestPixelValues(t *testing.T) {
	set := tiny(2, 130, 2)
	plain := mustSplit(t, set, Options{Tasks: 1, Batch: 260, Order: Given})
	normal := mustSplit(t, set, Options{Tasks: 1, Batch: 260, Order: Given, Mean: []float64{0.5}, Std: []float64{0.25}})
	var want []float32
	for b := range plain.Train(0) {
		for i := range b.Y {
			if p := image(b, i); b.X.Row(i)[0] != float32(p&255)/255 {
				t.Errorf("image %d: first pixel %v, want %v", p, b.X.Row(i)[0], float32(p&255)/255)
			}
		}
		want = slices.Clone(b.X.Data)
	}
	for b := range normal.Train(0) {
		for i, x := range b.X.Data {
			if w := (float64(want[i]) - 0.5) / 0.25; !(math.Abs(float64(x)-w) <= 1e-6) {
				t.Fatalf("value %d: %v, want %v", i, x, w)
			}
		}
	}
	for b := range normal.Test(0) {
		if b.X.Data[0] != -2 {
			t.Errorf("test pixel 0 becomes %v, want -2", b.X.Data[0])
		}
	}
}

func TestNestedTestsDoNotShareABuffer(t *testing.T) {
	s := mustSplit(t, tiny(4, 5, 10), Options{Tasks: 2, Batch: 5, TestBatch: 5, Order: Given})
	for outer := range s.Test(0) {
		before := slices.Clone(outer.X.Data)
		drain(t, s.Test(1))
		if !slices.Equal(before, outer.X.Data) {
			t.Fatal("an inner Test overwrote the batch of the outer one")
		}
	}
}

func TestBadOptions(t *testing.T) {
	good := Options{Tasks: 5, Batch: 10}
	for _, c := range []struct {
		name string
		want string // part of the error
		set  func(*Options)
	}{
		{"no tasks", "Use --tasks 1", func(o *Options) { o.Tasks = -1 }},
		{"not a divisor", "Use --tasks 5 or 10", func(o *Options) { o.Tasks = 7 }},
		{"more tasks than classes", "Use --tasks 20", func(o *Options) { o.Tasks = 21 }},
		{"no batch", "stream.batch: 0 is out of range. Use --batch from 1 to 600", func(o *Options) { o.Batch = 0 }},
		{"huge batch", "stream.batch: 601 is out of range. Use --batch from 1 to 600", func(o *Options) { o.Batch = 601 }},
		{"batch above a task", "fewer training images", func(o *Options) { o.Batch, o.DropLast = 121, true }},
		{"empty list", "the list has 0 classes", func(o *Options) { o.Order = List }},
		{"short list", "3 classes", func(o *Options) { o.ClassOrder = []int{0, 1, 2} }},
		{"class twice", "entry 1 is class 0", func(o *Options) { o.ClassOrder = []int{0, 0} }},
		{"class out of range", "entry 0 is class 20", func(o *Options) { o.ClassOrder = []int{20} }},
		{"kept range", "range 3 to 6 of tasks to keep", func(o *Options) { o.Keep = Range{3, 6} }},
		{"mean", "stream.mean has 3 values, but the images have 1 channel", func(o *Options) { o.Mean = []float64{0, 0, 0} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := good
			c.set(&o)
			_, err := Split(tiny(20, 30, 2), o)
			if err == nil || !strings.HasPrefix(err.Error(), "stream: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
	_, err := Split(tiny(20, 30, 2), Options{Tasks: 3, Batch: 0})
	if err == nil || !strings.Contains(err.Error(), "3 tasks cannot") ||
		!strings.Contains(err.Error(), "stream.batch: 0") {
		t.Errorf("got %v, want both faults at once", err)
	}
	set := tiny(4, 10, 1)
	set.Test = first(set.Test, 2)
	if _, err := Split(set, Options{Tasks: 2, Batch: 5, Order: Given}); err == nil ||
		!strings.Contains(err.Error(), "no test images") {
		t.Errorf("got %v, want an error of a task without test images", err)
	}
}
