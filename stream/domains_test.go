package stream

import (
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/data"
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
		{Options{Tasks: 2, ClassOrder: []int{0}}, "every task has all classes"},
	} {
		tt.o.Kind, tt.o.Batch = "domains", 10
		if _, err := Split(set, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	if _, err := Split(tiny(4, 3, 2), Options{Kind: "domains", Tasks: 1, Batch: 2}); err == nil || !strings.Contains(err.Error(), "has no domains") {
		t.Errorf("a set without domains: %v", err)
	}
	if _, err := Split(set, Options{Kind: "domain", Tasks: 1, Batch: 2}); err == nil || !strings.Contains(err.Error(), "Did you mean domains?") {
		t.Errorf("a misspelt kind: %v", err)
	}
}
