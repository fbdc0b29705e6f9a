package stream

import (
	"math"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/data"
)

// counted is how many training images of each class each task has.
func counted(s *Tasks, set *data.Set) [][]int {
	all := make([][]int, len(s.train.lists))
	for t, list := range s.train.lists {
		all[t] = make([]int, set.Classes)
		for _, i := range list {
			all[t][set.Train.Y[i]]++
		}
	}
	return all
}

// once fails unless each training image comes once.
func once(t *testing.T, s *Tasks, set *data.Set) {
	t.Helper()
	list := slices.Concat(s.train.lists...)
	slices.Sort(list)
	if len(list) != set.Train.Len() || len(slices.Compact(list)) != set.Train.Len() {
		t.Errorf("%d training images come, want each of %d once", len(list), set.Train.Len())
	}
}

// TestIBlurry: the disjoint classes are in one task, equally many in each; of the others M % are in a pool that all
// tasks share, the home of a class included. Tasks are equal, mix their images, and have one test set.
func TestIBlurry(t *testing.T) {
	set := tiny(20, 50, 2)
	s, err := Split(set, Options{Kind: "iblurry", Tasks: 5, Batch: 10, Seed: 3, Mixture: Mixture{50, 20}})
	if err != nil {
		t.Fatal(err)
	}
	once(t, s, set)
	if !s.Info().CommonTest || s.Info().Scenario != ocl.DomainIncremental || s.Info().NoBoundaries {
		t.Errorf("%+v", s.Info())
	}
	alone, foreign := 0, 0
	for class := range set.Classes {
		tasks, most := 0, 0
		for _, of := range counted(s, set) {
			if of[class] > 0 {
				tasks++
			}
			most = max(most, of[class])
		}
		switch {
		case tasks == 1:
			alone++
		case most < 40:
			t.Errorf("class %d: its home has %d of 50 images, want at least 80 %%", class, most)
		default:
			foreign += 50 - most
		}
	}
	// of the 100 images of the pool a fifth falls into the home of its class
	if alone != 10 || math.Abs(float64(foreign)-80) > 12 {
		t.Errorf("%d classes are in one task, want 10; %d images are away from home, want about 80", alone, foreign)
	}
	for task, list := range s.train.lists {
		if len(list) != 200 {
			t.Errorf("task %d has %d images, want 200", task, len(list))
		}
		// images that come from elsewhere are not at the end
		home := counted(s, set)[task]
		late := 0
		for _, i := range list[150:] {
			if home[set.Train.Y[i]] < 40 {
				late++
			}
		}
		if late > 16 {
			t.Errorf("task %d: %d of its images from elsewhere are among the last 50", task, late)
		}
	}
}

// TestSiBlurry: tasks of random sizes, none without images; each image comes once, whatever the seed.
func TestSiBlurry(t *testing.T) {
	set, sizes := tiny(20, 30, 2), map[int]bool{}
	for seed := range uint64(30) {
		s, err := Split(set, Options{Kind: "siblurry", Tasks: 5, Batch: 10, Seed: seed, Mixture: Mixture{50, 10}})
		if err != nil {
			t.Fatal(err)
		}
		once(t, s, set)
		disjoint := 0
		for class := range set.Classes {
			tasks := 0
			for _, of := range counted(s, set) {
				if of[class] > 0 {
					tasks++
				}
			}
			if tasks == 1 {
				disjoint++
			}
		}
		if disjoint < 10 {
			t.Errorf("seed %d: %d classes are in one task, want at least 10", seed, disjoint)
		}
		for _, list := range s.train.lists {
			sizes[len(list)] = true
		}
	}
	if len(sizes) < 8 { // multiples of the images of a class
		t.Errorf("the tasks of 30 streams have %d sizes", len(sizes))
	}
}

// TestGaussian: classes come around their times, no learner is told of tasks, and images keep the order of their times.
func TestGaussian(t *testing.T) {
	set := tiny(10, 100, 2)
	s, err := Split(set, Options{Kind: "gaussian", Tasks: 5, Batch: 10, Seed: 1, Order: Given})
	if err != nil {
		t.Fatal(err)
	}
	once(t, s, set)
	if !s.Info().NoBoundaries || !s.Info().CommonTest {
		t.Errorf("%+v", s.Info())
	}
	sum := make([]float64, set.Classes)
	for at, i := range slices.Concat(s.train.lists...) {
		sum[set.Train.Y[i]] += float64(at) / 100
	}
	for class := range set.Classes - 1 {
		if sum[class+1]-sum[class] < 40 || sum[class+1]-sum[class] > 160 {
			t.Errorf("class %d comes at %.0f of 1000 on average, and the next one at %.0f", class, sum[class], sum[class+1])
		}
	}
}

// TestBlurryRefuses: what these kinds cannot be.
func TestBlurryRefuses(t *testing.T) {
	set := tiny(4, 10, 2)
	for _, kind := range []string{"iblurry", "siblurry", "gaussian"} {
		if _, err := Split(set, Options{Kind: kind, Tasks: 5, Batch: 2}); err == nil ||
			!strings.Contains(err.Error(), "Use 1 to 4, the number of classes") {
			t.Errorf("%s: %v", kind, err)
		}
		for want, o := range map[string]Options{"Remove stream.task_classes": {TaskClasses: []int{3, 1}},
			"Remove stream.blurry": {Blurry: 0.2}} {
			o.Kind, o.Tasks, o.Batch = kind, 2, 2
			if _, err := Split(set, o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", kind, err, want)
			}
		}
	}
}

// TestDelay: of so many batches one is learned, at the right place, across tasks.
func TestDelay(t *testing.T) {
	set := tiny(4, 25, 2)
	plain, err := Split(set, Options{Tasks: 2, Batch: 10, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Split(set, Options{Tasks: 2, Batch: 10, Seed: 1, Delay: 3})
	if err != nil {
		t.Fatal(err)
	}
	// batches 3 of the first five, and 6 and 9 of ten
	want := [][]int32{plain.train.lists[0][20:30], slices.Concat(plain.train.lists[1][0:10], plain.train.lists[1][30:40])}
	for task := range want {
		if !slices.Equal(s.train.lists[task], want[task]) || s.Info().Tasks[task].Train != len(want[task]) {
			t.Errorf("task %d learns %v, want %v", task, s.train.lists[task], want[task])
		}
	}
	if _, err := Split(set, Options{Tasks: 2, Batch: 10, Seed: 1, Delay: 6}); err == nil ||
		!strings.Contains(err.Error(), "no batch of task 1 is learned before it ends, as it has 5 batches, and stream.delay is 6") {
		t.Errorf("a delay longer than a task: %v", err)
	}
}

// TestLabelDelay: a batch is learned when its labels come, also in the next task, which then has its classes; the last
// ones never are.
func TestLabelDelay(t *testing.T) {
	set := tiny(4, 25, 2)
	plain, err := Split(set, Options{Tasks: 2, Batch: 10, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Split(set, Options{Tasks: 2, Batch: 10, Seed: 1, LabelDelay: 2})
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(plain.train.lists...)
	if !slices.Equal(s.train.lists[0], all[:30]) || !slices.Equal(s.train.lists[1], all[30:80]) {
		t.Errorf("%v", s.train.lists)
	}
	if n := len(s.Info().Tasks[1].Classes); n != 4 || len(s.Info().Tasks[0].Classes) != 2 {
		t.Errorf("the second task has %d classes, want its own and those that came late", n)
	}
	for b, err := range s.Train(1) {
		if err != nil || b.Len() != 10 {
			t.Fatalf("a batch of %d, %v", b.Len(), err)
		}
	}
}
