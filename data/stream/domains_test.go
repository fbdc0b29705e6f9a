package stream

import (
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/data"
	_ "ocl/data/gofonts"
)

// Tasks of the kind domains share the images by domain: each image is in one task, each task has its own domains in
// training and testing, and the seed orders them.
func TestDomains(t *testing.T) {
	set, err := data.Open(t.Context(), data.Spec{Name: "glyphs", Size: 8, TrainPerClass: 20, TestPerClass: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Domains) != 10 {
		t.Fatalf("%d typefaces, the test wants 10", len(set.Domains))
	}
	firsts := map[int32]bool{}
	for seed := range uint64(6) {
		for _, tasks := range []int{1, 2, 5, 10} {
			s, err := Split(set, Options{Kind: "domains", Tasks: tasks, Batch: 10, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if s.Info().Scenario != ocl.DomainIncremental || len(s.Info().Tasks) != tasks {
				t.Fatalf("%d tasks: %+v", tasks, s.Info())
			}
			owner := map[int32]int{}
			train, test := 0, 0
			for i := range tasks {
				var classes []int
				for _, at := range s.train.lists[i] {
					d := set.Train.Domain[at]
					if was, known := owner[d]; known && was != i {
						t.Fatalf("domain %d is in tasks %d and %d", d, was, i)
					}
					owner[d] = i
					classes = append(classes, int(set.Train.Y[at]))
				}
				for _, at := range s.test.lists[i] {
					if owner[set.Test.Domain[at]] != i {
						t.Errorf("a test image of task %d is of domain %d", i, set.Test.Domain[at])
					}
				}
				slices.Sort(classes)
				if got := s.Info().Tasks[i].Classes; len(slices.Compact(classes)) != len(got) {
					t.Errorf("task %d has %d classes, told are %d", i, len(slices.Compact(classes)), len(got))
				}
				train, test = train+len(s.train.lists[i]), test+len(s.test.lists[i])
			}
			if len(owner) != 10 || train != set.Train.Len() || test != set.Test.Len() {
				t.Errorf("%d tasks: %d domains, %d and %d images", tasks, len(owner), train, test)
			}
			if tasks == 10 {
				firsts[set.Train.Domain[s.train.lists[0][0]]] = true
			}
		}
	}
	if len(firsts) < 3 {
		t.Errorf("six seeds begin with the domains %v", firsts)
	}
	given, err := Split(set, Options{Kind: "domains", Tasks: 10, Batch: 10, Order: Given})
	if err != nil || set.Train.Domain[given.train.lists[3][0]] != 3 {
		t.Errorf("in the given order task 4 begins with another domain: %v", err)
	}
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Tasks: 3}, "3 tasks cannot share the 10 domains of glyphs equally"},
		{Options{Tasks: 20}, "20 tasks cannot share the 10 domains"},
		{Options{Tasks: 2, ClassOrder: []int{0}}, "the classes of its tasks cannot be chosen"},
	} {
		tt.o.Kind, tt.o.Batch = "domains", 10
		if _, err := Split(set, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	if _, err := Split(tiny(4, 3, 2), Options{Kind: "domains", Tasks: 1, Batch: 2}); err == nil ||
		!strings.Contains(err.Error(), "has no domains") {
		t.Errorf("a set without domains: %v", err)
	}
	if _, err := Split(set, Options{Kind: "domain", Tasks: 1, Batch: 2}); err == nil ||
		!strings.Contains(err.Error(), "Did you mean domains?") {
		t.Errorf("a misspelt kind: %v", err)
	}
}

// TestHeldOut: a tenth of the training images of the tasks that are kept is tested and not learned, and no test image
// is seen. Tasks that share a test set share what they hold out, and others keep their own.
func TestHeldOut(t *testing.T) {
	set, err := data.Open(t.Context(), data.Spec{Name: "glyphs", Size: 8, TrainPerClass: 20, TestPerClass: 10})
	if err != nil {
		t.Fatal(err)
	}
	shared := *set
	shared.Test.Domain = make([]int32, set.Test.Len())
	for i := range shared.Test.Domain {
		shared.Test.Domain[i] = 10 // a domain that is never learned
	}
	for _, tt := range []struct {
		set    *data.Set
		kind   string
		common bool
	}{{&shared, "domains", true}, {set, "domains", false}, {set, "classes", false}} {
		o := Options{Kind: tt.kind, Tasks: 5, Batch: 10, Seed: 3, Keep: Range{0, 2}}
		if got := o.SharesTest(tt.set); got != tt.common {
			t.Errorf("%s: shares a test set: %v", tt.kind, got)
		}
		plain, err := Split(tt.set, o)
		if err != nil {
			t.Fatal(err)
		}
		o.HeldOut = true
		s, err := Split(tt.set, o)
		if err != nil {
			t.Fatal(err)
		}
		lists := 2
		if tt.common {
			lists = 1
		}
		if len(s.test.lists) != lists || s.test.from != &tt.set.Train || s.Info().CommonTest != tt.common {
			t.Fatalf("%s: %d test sets, %+v", tt.kind, len(s.test.lists), s.Info())
		}
		for i, list := range s.test.lists {
			was, tested := plain.train.lists[i], s.Info().Tasks[i].Test
			learned, tenth := s.train.lists[i], len(was)/10
			if tt.common {
				was, learned = slices.Concat(plain.train.lists...), slices.Concat(s.train.lists...)
				tenth = len(plain.train.lists[0])/10 + len(plain.train.lists[1])/10
			}
			if len(list) != tenth || tested != len(list) || !slices.IsSorted(list) {
				t.Errorf("%s: %d images of %d are held out, told are %d", tt.kind, len(list), len(was), tested)
			}
			both := slices.Concat(list, learned)
			slices.Sort(both)
			slices.Sort(was)
			if !slices.Equal(both, was) {
				t.Errorf("%s: what is learned and what is held out is not what the tasks have", tt.kind)
			}
		}
		again, err := Split(tt.set, o)
		if err != nil || !slices.Equal(again.test.lists[0], s.test.lists[0]) {
			t.Errorf("%s: the same seed holds out others: %v", tt.kind, err)
		}
		if o.Seed = 4; tt.kind == "classes" {
			continue // another seed has other classes, too
		}
		if other, err := Split(tt.set, o); err != nil || slices.Equal(other.test.lists[0], s.test.lists[0]) {
			t.Errorf("%s: another seed holds out the same: %v", tt.kind, err)
		}
	}
}
