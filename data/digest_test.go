package data

import (
	"context"
	"testing"
)

// tinySet has everything that a set can have.
func tinySet() *Set {
	half := func(shift int32) Split {
		return Split{Images: Block{[]uint8{1, 2, 3, 4}, 2}, Y: []int32{0, 1}, Domain: []int32{0, 1 - shift},
			Strength: []float32{0.5, 0.25}}
	}
	return &Set{C: 1, H: 1, W: 2, Classes: 2, ClassNames: []string{"a", "b"}, Domains: []string{"c", "d"}, Train: half(0),
		Test: half(1)}
}

// TestDigestCoversWhatAStreamSplitsBy changes each part alone; each digest must be of its own.
func TestDigestCoversWhatAStreamSplitsBy(t *testing.T) {
	seen := map[string]string{digestOf(t, tinySet()): "the set as it is"}
	for name, change := range map[string]func(*Set){
		"label":              func(s *Set) { s.Train.Y[1] = 0 },
		"pixel":              func(s *Set) { s.Test.Images.(Block).Pixels[3] = 9 },
		"classes":            func(s *Set) { s.Classes = 3 },
		"training domain":    func(s *Set) { s.Train.Domain[0] = 1 },
		"test domain":        func(s *Set) { s.Test.Domain[0] = 1 },
		"number of domains":  func(s *Set) { s.Domains = append(s.Domains, "e") },
		"training strength":  func(s *Set) { s.Train.Strength[0] = 0.75 },
		"test strength":      func(s *Set) { s.Test.Strength[1] = 0.75 },
		"no domains":         func(s *Set) { s.Train.Domain, s.Test.Domain, s.Domains = nil, nil, nil },
		"no test domains":    func(s *Set) { s.Test.Domain = nil },
		"no strengths":       func(s *Set) { s.Train.Strength, s.Test.Strength = nil, nil },
		"no train strengths": func(s *Set) { s.Train.Strength = nil },
		"neither":            func(s *Set) { *s = withoutDomains(s) },
		"tasks":              withTasks(2, []int32{0, 1}, []int32{0, 1}),
		"other tasks":        withTasks(2, []int32{1, 0}, []int32{0, 1}),
		"more tasks":         withTasks(3, []int32{0, 1}, []int32{0, 1}),
		"no test tasks":      withTasks(2, []int32{0, 1}, nil),
	} {
		s := tinySet()
		change(s)
		d := digestOf(t, s)
		if other, taken := seen[d]; taken {
			t.Errorf("%s: the digest is that of %s", name, other)
		}
		seen[d] = name
	}
	names := tinySet()
	names.Name, names.ClassNames, names.Domains = "other", nil, []string{"x", "y"}
	if digestOf(t, names) != digestOf(t, tinySet()) {
		t.Error("names change the digest; no stream splits by them")
	}
}

// withTasks gives a set tasks.
func withTasks(n int, train, test []int32) func(*Set) {
	return func(s *Set) { s.Tasks, s.Train.Task, s.Test.Task = n, train, test }
}

func digestOf(t *testing.T, s *Set) string {
	t.Helper()
	d, err := digest(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func withoutDomains(s *Set) Set {
	return Set{C: s.C, H: s.H, W: s.W, Classes: s.Classes, Train: Split{Images: s.Train.Images, Y: s.Train.Y},
		Test: Split{Images: s.Test.Images, Y: s.Test.Y}}
}
