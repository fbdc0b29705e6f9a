package stream

import (
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/data"
)

// withDomains is tiny with domains: image i of a half belongs to the domain that the function says.
func withDomains(classes, n, m, domains int, train, test func(i int) int) *data.Set {
	s := tiny(classes, n, m)
	for d := range domains {
		s.Domains = append(s.Domains, string(rune('a'+d)))
	}
	for i := range s.Train.Len() {
		s.Train.Domain = append(s.Train.Domain, int32(train(i)))
	}
	for i := range s.Test.Len() {
		s.Test.Domain = append(s.Test.Domain, int32(test(i)))
	}
	return s
}

// TestOfficialOrders: a published order says which classes, or which domains, each task has.
func TestOfficialOrders(t *testing.T) {
	set := withDomains(6, 4, 2, 4, func(i int) int { return i % 3 }, func(int) int { return 3 })
	set.Orders = data.Orders{
		Classes: [][]int{{0, 1, 2, 3, 4, 5}, {5, 4, 0, 1, 3, 2}}, TaskClasses: []int{2, 1, 3},
		Domains: [][]int{{0, 1, 2}, {2, 0, 1}},
	}
	s, err := Split(set, Options{Batch: 2, Official: 1})
	if err != nil {
		t.Fatal(err)
	}
	var got [][]ocl.Label
	for _, task := range s.Info().Tasks {
		got = append(got, task.Classes)
	}
	if len(got) != 3 || !slices.Equal(got[0], []ocl.Label{5, 4}) || !slices.Equal(got[1], []ocl.Label{0}) ||
		s.Info().CommonTest {
		t.Errorf("classes of the tasks: %v, common test set: %v", got, s.Info().CommonTest)
	}
	s, err = Split(set, Options{Kind: "domains", Batch: 2, Official: 1})
	if err != nil {
		t.Fatal(err)
	}
	for task, domain := range []int32{2, 0, 1} {
		for _, i := range s.train.lists[task] {
			if set.Train.Domain[i] != domain {
				t.Errorf("task %d has an image of domain %d", task, set.Train.Domain[i])
			}
		}
	}
	if info := s.Info(); !info.CommonTest || info.TestSets() != 1 || info.Tasks[2].Test != set.Test.Len() ||
		info.Scenario != ocl.DomainIncremental {
		t.Errorf("test images of domains that no task has: %+v", info)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Official: 2}, "tiny has no published order 2. Use official:0 to official:1"},
		{Options{Tasks: 2}, "the published orders of tiny have 3 tasks, but 2 are asked for. Use --tasks 3"},
		{Options{TaskClasses: []int{3, 2, 1}}, "say how large the tasks are"},
		{Options{Kind: "domains", Official: -1}, "no published order -1"},
	} {
		c.o.Batch = 2
		if _, err := Split(set, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	if _, err := Split(tiny(4, 2, 2), Options{Order: Official, Batch: 2}); err == nil ||
		!strings.Contains(err.Error(), "tiny has no published orders") {
		t.Errorf("a set without orders: %v", err)
	}
}

// TestIncomplete: where images of the data set are absent, tasks that lack training or test images are left out and
// named, and the others keep their place in the whole stream.
func TestIncomplete(t *testing.T) {
	set := tiny(6, 4, 2)
	keep := func(s data.Split, without ...int32) data.Split {
		var at []int32
		for i, y := range s.Y {
			if !slices.Contains(without, y) {
				at = append(at, int32(i))
			}
		}
		b := data.Block{Size: 16}
		var y []int32
		for _, i := range at {
			pixels, _ := s.Images.Image(int(i), nil)
			b.Pixels, y = append(b.Pixels, pixels...), append(y, s.Y[i])
		}
		return data.Split{Images: b, Y: y}
	}
	set.Train, set.Test = keep(set.Train, 2, 3), keep(set.Test, 5, 4)
	o := Options{Tasks: 3, Order: Given, Batch: 2}
	if _, err := Split(set, o); err == nil {
		t.Error("a complete set has a task without images, and nobody says so")
	}
	set.Incomplete = true
	s, err := Split(set, o)
	if err != nil {
		t.Fatal(err)
	}
	if info := s.Info(); len(info.Tasks) != 1 || !slices.Equal(s.Skipped(), []int{1, 2}) || s.Original(0) != 0 ||
		info.Tasks[0].Index != 0 {
		t.Errorf("tasks %+v, skipped %v", info.Tasks, s.Skipped())
	}
	o.Keep = Range{1, 3}
	if _, err := Split(set, o); err == nil || !strings.Contains(err.Error(), "no task has both training and test images") {
		t.Errorf("no task is left: %v", err)
	}
}

// TestGivenTasks: the tasks of the files are those of the stream, and the scenario is what they show.
func TestGivenTasks(t *testing.T) {
	set := tiny(4, 4, 2)
	set.Tasks = 2
	for _, y := range set.Train.Y {
		set.Train.Task = append(set.Train.Task, y/2)
	}
	for _, y := range set.Test.Y {
		set.Test.Task = append(set.Test.Task, y/2)
	}
	s, err := Split(set, Options{Batch: 2})
	if err != nil {
		t.Fatal(err)
	}
	info := s.Info()
	if info.Scenario != ocl.ClassIncremental || len(info.Tasks) != 2 ||
		!slices.Equal(info.Tasks[1].Classes, []ocl.Label{2, 3}) || info.Tasks[0].Test != 4 || info.CommonTest {
		t.Errorf("%+v", info)
	}
	set.TaskNames, set.ClassNames = []string{"spring", "autumn"}, []string{"wren", "robin", "goose", "swan"}
	if s, err = Split(set, Options{Batch: 2, Keep: Range{1, 2}}); err != nil || s.TaskName(1) != "autumn" {
		t.Errorf("%v: task 2 is called %q", err, s.TaskName(1))
	}
	if rows := previewed(t, s, PreviewOptions{Samples: 1}); rows[0].Label != "task 2 (autumn): goose, swan" {
		t.Errorf("the sheet says %q", rows[0].Label)
	}
	if s, err = Split(set, Options{Batch: 2, Kind: "classes", Tasks: 2}); err != nil || s.TaskName(1) != "" {
		t.Errorf("%v: a task of other classes is called %q", err, s.TaskName(1))
	}
	all := set.Test.Task
	set.Test.Task = make([]int32, len(all))
	const want = "stream: task 2 (autumn) has no test images; its classes are goose, swan. Add test images of this task, " +
		"give no test image a task so that all tasks share them, or use --stream classes"
	if _, err := Split(set, Options{Batch: 2}); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	set.Train.Task[0] = 1 // class 0 in both tasks
	set.Test.Task = nil
	if s, err = Split(set, Options{Batch: 2}); err != nil || s.Info().Scenario != ocl.DomainIncremental ||
		!s.Info().CommonTest || s.Info().Tasks[0].Test != 8 {
		t.Errorf("%v: %+v", err, s.Info())
	}
	if _, err := Split(set, Options{Batch: 2, Tasks: 3}); err == nil ||
		!strings.Contains(err.Error(), "tiny has 2 tasks, but 3 are asked for") {
		t.Errorf("another number of tasks: %v", err)
	}
	if _, err := Split(tiny(4, 2, 2), Options{Batch: 2, Kind: "tasks"}); err == nil ||
		!strings.Contains(err.Error(), "gives no tasks") {
		t.Errorf("a set without tasks: %v", err)
	}
}

// TestShift: tasks of equal size that share all images, undisturbed in the first and disturbed in the others, the same
// pixels at each pass over a test set.
func TestShift(t *testing.T) {
	set := tiny(5, 20, 8)
	split := func(o Options) *Tasks {
		o.Batch, o.Seed = 7, 3
		return mustSplit(t, set, o)
	}
	s := split(Options{Shift: Shift{Kinds: []string{"noise"}}})
	if info := s.Info(); len(info.Tasks) != 10 || info.Scenario != ocl.DomainIncremental || info.Tasks[4].Train != 10 ||
		info.Tasks[9].Test != 4 {
		t.Fatalf("%+v", info)
	}
	seen := map[int32]bool{}
	for task, list := range s.train.lists {
		for _, i := range list {
			if seen[i] {
				t.Errorf("image %d is in two tasks", i)
			}
			seen[i] = true
		}
		changed := false
		for b, err := range s.Train(task) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Len() {
				row := b.X.Row(i)
				changed = changed || math.Abs(float64(row[3])*255-3) > 0.4
				if v := float64(row[7]) * 255; math.Abs(v-math.Round(v)) > 1e-3 {
					t.Fatalf("task %d: %v is no 8-bit pixel", task, v)
				}
			}
		}
		if changed != (task > 0) {
			t.Errorf("task %d: images are disturbed: %v", task, changed)
		}
		if s.train.shifted[task] != nil {
			t.Errorf("task %d is delivered and still in memory", task)
		}
	}
	if len(seen) != 100 {
		t.Errorf("%d of 100 images are in a task", len(seen))
	}
	pass := func(s *Tasks) (pixels []float32) {
		for b, err := range s.Test(6) {
			if err != nil {
				t.Fatal(err)
			}
			pixels = append(pixels, b.X.Data...)
		}
		return pixels
	}
	first := pass(s)
	if !slices.Equal(first, pass(s)) || !slices.Equal(first,
		pass(split(Options{Shift: Shift{Kinds: []string{"noise"}}}))) {
		t.Error("a second pass has other pixels")
	}
	normal := split(Options{Shift: Shift{Kinds: []string{"noise"}}, Mean: []float64{0.5}, Std: []float64{0.25}})
	for i, v := range pass(normal) {
		if want := (first[i] - 0.5) / 0.25; math.Abs(float64(v-want)) > 1e-5 {
			t.Fatalf("normalised %v, want %v", v, want)
		}
	}
	both := split(Options{Tasks: 2, Shift: Shift{Kinds: []string{"blur", "occlusion"},
		Strengths: [][]float64{{0, 1}, {0.5, 0}}}})
	if steps := both.opts.Shift.steps(1); len(steps) != 2 || steps[0].Kind != "blur" || steps[0].Strength != 1 ||
		steps[1].Strength != 0 {
		t.Errorf("steps %+v", steps)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Kind: "shift"}, "nobody says how the images are disturbed"},
		{Options{Tasks: 5, Shift: Shift{Kinds: []string{"noise"}}},
			"noise has the survey's 10 strengths for 5 tasks. Give one"},
		{Options{Shift: Shift{Kinds: []string{"blur", "noise"}, Strengths: [][]float64{{0, 1}, {0, 1, 2}}}},
			"stream.shift: blur has 2 strengths, but noise has 3 strengths. Give both one strength for each task, with stream.shift.blur_strengths and stream.shift.noise_strengths"},
		{Options{Tasks: 3, Shift: Shift{Kinds: []string{"noise", "blur"}, Strengths: [][]float64{nil, {0, 1, 2}}}},
			"noise has the survey's 10 strengths, but blur has 3 strengths"},
		{Options{Tasks: 3, Shift: Shift{Kinds: []string{"noise"}, Strengths: [][]float64{{0}}}},
			"noise has 1 strength for 3 tasks"},
	} {
		c.o.Batch = 2
		if _, err := Split(set, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	if _, err := ParseShift("noise+fog"); err == nil || !strings.Contains(err.Error(), `unknown kind "fog"`) {
		t.Error(err)
	}
	for _, text := range []string{"noise+", "+noise", "noise++blur"} {
		if _, err := ParseShift(text); err == nil ||
			!strings.Contains(err.Error(), `"`+text+`" has a plus sign without a kind beside it`) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := ParseShift("noise+noise"); err == nil || !strings.Contains(err.Error(), "listed twice") {
		t.Error(err)
	}
}

// TestShiftHeldOut: held-out test images come in an order that has nothing to do with their classes. The blur across
// images mixes neighbours: of a data set that is sorted by class, neighbours of one class would show it.
func TestShiftHeldOut(t *testing.T) {
	set := tiny(5, 200, 8)
	slices.Sort(set.Train.Y)
	o := Options{Batch: 7, Seed: 3, Tasks: 2, HeldOut: true,
		Shift: Shift{Kinds: []string{"blur"}, Strengths: [][]float64{{0, 1}}, CrossImage: true}}
	for task, list := range mustSplit(t, set, o).test.lists {
		alike := 0
		for i := range list[1:] {
			if set.Train.Y[list[i]] == set.Train.Y[list[i+1]] {
				alike++
			}
		}
		if len(list) != 50 || alike > 20 { // by chance 9.8 of 49, with a deviation of 2.8; sorted by class 45
			t.Errorf("task %d: of %d test images %d have a neighbour of their class behind them", task, len(list), alike)
		}
	}
}

// TestShiftMemory: what a stream says it keeps is what it has in memory in the middle of its largest task.
func TestShiftMemory(t *testing.T) {
	o := Options{Tasks: 3, Batch: 5, Shift: Shift{Kinds: []string{"occlusion"}, Strengths: [][]float64{{0, 0.2, 0.5}}}}
	first := func(batches iter.Seq2[ocl.Batch, error]) {
		for _, err := range batches {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	kept := func(s *Tasks, train ...int) (bytes int64) {
		for set := range s.test.lists {
			first(s.Test(set))
			bytes += int64(len(s.test.shifted[set]) * 16)
		}
		for _, task := range train {
			bytes += int64(len(s.train.shifted[task]) * 16)
		}
		return bytes
	}
	s := mustSplit(t, tiny(4, 10, 2), o)
	first(s.Train(2)) // of 13, 13 and 14 images
	if got, want := s.MemoryBytes(), kept(s, 2); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	off, err := mustSplit(t, tiny(4, 10, 2), o).Offline(1, 40, false)
	if err != nil {
		t.Fatal(err)
	}
	first(off.Train(2))
	if got, want := off.MemoryBytes(), kept(off.Tasks, 0, 1, 2); got != want {
		t.Errorf("offline: %d bytes, want %d", got, want)
	}
	if n := mustSplit(t, tiny(4, 10, 2), Options{Tasks: 2, Batch: 5}).MemoryBytes(); n != 0 {
		t.Errorf("a stream that makes no images keeps %d bytes of them", n)
	}
}

// TestShiftOffline: the offline view has every disturbed image once an epoch.
func TestShiftOffline(t *testing.T) {
	o := Options{Tasks: 2, Batch: 5, Shift: Shift{Kinds: []string{"occlusion"}, Strengths: [][]float64{{0, 0.5}}}}
	off, err := mustSplit(t, tiny(4, 10, 2), o).Offline(2, 8, false)
	if err != nil {
		t.Fatal(err)
	}
	white, rows := 0, 0
	for b, err := range off.Train(1) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len() {
			rows++
			if slices.Contains(b.X.Row(i)[1:15], 1) {
				white++
			}
		}
	}
	if rows != 80 || white != 40 {
		t.Errorf("%d images with a white square of %d, want 40 of 80", white, rows)
	}
}

// TestBlurry: a share of the images of each task comes in a neighbour of it, no image is lost, and the classes of a
// task are those that occur in it.
func TestBlurry(t *testing.T) {
	set := tiny(6, 30, 3)
	o := Options{Tasks: 3, Order: Given, Batch: 10, Seed: 5, Blurry: 0.2}
	s := mustSplit(t, set, o)
	all := 0
	for task, list := range s.train.lists {
		away := map[int]int{} // distance of its own task, in images
		for _, i := range list {
			away[int(set.Train.Y[i])/2-task]++
		}
		all += len(list)
		if away[0] != 48 || away[2]+away[-2] > 0 && task == 1 {
			t.Errorf("task %d: images by the distance of their own task: %v", task, away)
		}
		for _, i := range list {
			if !slices.Contains(s.Info().Tasks[task].Classes, ocl.Label(set.Train.Y[i])) {
				t.Errorf("task %d does not tell of class %d", task, set.Train.Y[i])
			}
		}
	}
	if all != 180 {
		t.Errorf("%d of 180 images", all)
	}
	again := mustSplit(t, set, o)
	if !slices.Equal(s.train.lists[1], again.train.lists[1]) {
		t.Error("the seed does not fix what is moved")
	}
	o.Tasks = 1
	if _, err := Split(set, o); err == nil || !strings.Contains(err.Error(),
		"but there is one task. Use more --tasks, or remove it") {
		t.Error(err)
	}
}

// TestLongTail: the classes have n to n·ρ images, in an order that the seed draws; or the counts of a list.
func TestLongTail(t *testing.T) {
	set := tiny(5, 100, 2)
	counts := func(o Options) (n []int) {
		o.Tasks, o.Batch, o.Order = 1, 1, Given
		n = make([]int, 5)
		for _, i := range mustSplit(t, set, o).train.lists[0] {
			n[set.Train.Y[i]]++
		}
		return n
	}
	got := counts(Options{LongTail: 0.01, Seed: 1})
	sorted := slices.Sorted(slices.Values(got))
	if !slices.Equal(sorted, []int{1, 3, 10, 32, 100}) {
		t.Errorf("counts %v, want 100, 32, 10, 3 and 1", got)
	}
	if other := counts(Options{LongTail: 0.01, Seed: 2}); slices.Equal(other, got) {
		t.Error("the seed does not order the classes")
	}
	if list := []int{7, 1, 100, 20, 3}; !slices.Equal(counts(Options{ClassCounts: list}), list) {
		t.Errorf("counts %v, want %v", counts(Options{ClassCounts: list}), list)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{ClassCounts: []int{1}}, "the list has 1 number for 5 classes"},
		{Options{ClassCounts: []int{1, 1, 101, 1, 1}}, "class 2 has 100 images, but 101 are asked for"},
	} {
		c.o.Tasks, c.o.Batch = 1, 1
		if _, err := Split(set, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

// TestClassCountsOfAnEmptyClass: a class without training images, such as one whose files cannot be read, has none
// whatever the list says, and is no fault of the list.
func TestClassCountsOfAnEmptyClass(t *testing.T) {
	set := *tiny(2, 4, 2)
	set.Classes = 3
	st := mustSplit(t, &set, Options{TaskClasses: []int{3}, Tasks: 1, Batch: 1, Order: Given, ClassCounts: []int{2, 3, 4}})
	if n := st.Info().Tasks[0].Train; n != 5 {
		t.Errorf("%d training images, want 5", n)
	}
}

// TestNoSignals: a stream that hides its tasks says so, and delivers the same batches.
func TestNoSignals(t *testing.T) {
	s := mustSplit(t, tiny(4, 10, 2), Options{Tasks: 2, Batch: 5, NoSignals: true})
	if !s.Info().NoBoundaries {
		t.Error("learners are told of tasks")
	}
	if !slices.Equal(s.train.lists[1], mustSplit(t, tiny(4, 10, 2), Options{Tasks: 2, Batch: 5}).train.lists[1]) {
		t.Error("the images come in another order")
	}
}
