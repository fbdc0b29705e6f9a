package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ocl"
	"ocl/config"
	"ocl/data"
	"ocl/data/stream"
	"ocl/run/experiment"
)

// turns deals the images of all classes to the tasks in turn.
func turns(set *data.Set, o stream.Options, train []int32) ([]stream.Share, error) {
	shares := make([]stream.Share, o.Tasks)
	for at, i := range train {
		shares[at%o.Tasks].Train = append(shares[at%o.Tasks].Train, i)
	}
	for i := range set.Test.Len() {
		shares[i%o.Tasks].Test = append(shares[i%o.Tasks].Test, int32(i))
	}
	return shares, nil
}

// TestRegister: a registered kind makes the tasks of a run.
func TestRegister(t *testing.T) {
	stream.Restore(t)
	stream.Register(stream.Kind{Name: "in-turn", Scenario: ocl.DomainIncremental, Summary: "images in turn",
		AllClasses: true, Divide: turns})
	c := config.Default()
	c.Stream.Kind, c.Stream.Tasks, c.Methods, c.Network.Name, c.Network.Hidden = "in-turn", 4, []string{"finetune"}, "mlp",
		[]int{4}
	c.Data.TrainPerClass, c.Data.TestPerClass = 2, 1
	results, err := experiment.Run(context.Background(), c, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := results[0].Stream; len(s.Tasks) != 4 || s.Tasks[3].Train != 50 || s.Tasks[3].Test != 25 ||
		s.Scenario != string(ocl.DomainIncremental) {
		t.Errorf("the stream is %s with the tasks %+v", s.Scenario, s.Tasks)
	}
}

func TestRegisterRefuses(t *testing.T) {
	stream.Restore(t)
	good := stream.Kind{Name: "in-turn", Scenario: ocl.DomainIncremental, Divide: turns}
	stream.Register(good)
	for want, change := range map[string]func(*stream.Kind){
		"there is no name":          func(k *stream.Kind) { k.Name = "" },
		"there is no Divide":        func(k *stream.Kind) { k.Name, k.Divide = "x", nil },
		"the scenario is":           func(k *stream.Kind) { k.Name, k.Scenario = "x", "" },
		"the name Classes is taken": func(k *stream.Kind) { k.Name = "Classes" },
		"register_test.go:":         func(*stream.Kind) {},
	} {
		k := good
		change(&k)
		got := func() (text string) {
			defer func() { text = fmt.Sprint(recover()) }()
			stream.Register(k)
			return ""
		}()
		if !strings.Contains(got, want) || !strings.Contains(got, "Register at") {
			t.Errorf("panic %q, want %q", got, want)
		}
	}
}

// TestSharesAreChecked: shares that are not of the data are an error, not a panic later.
func TestSharesAreChecked(t *testing.T) {
	stream.Restore(t)
	var divide func(*data.Set, stream.Options, []int32) ([]stream.Share, error)
	stream.Register(stream.Kind{Name: "broken", Scenario: ocl.DomainIncremental,
		Divide: func(set *data.Set, o stream.Options, train []int32) ([]stream.Share, error) {
			return divide(set, o, train)
		}})
	set, err := data.Open(context.Background(), data.Spec{Name: "glyphs", TrainPerClass: 1, TestPerClass: 1})
	if err != nil {
		t.Fatal(err)
	}
	for want, shares := range map[string][]stream.Share{
		"Divide made 1 task, but 2":        {{}},
		"task 2 the training image 100":    {{Train: []int32{0}, Test: []int32{0}}, {Train: []int32{100}}},
		"task 1 the training image -1":     {{Train: []int32{-1}}, {}},
		"task 2 no training image":         {{Train: []int32{0}, Test: []int32{0}}, {Test: []int32{1}}},
		"image 3 to task 1 and to task 2":  {{Train: []int32{2, 3}, Test: []int32{0}}, {Train: []int32{3}, Test: []int32{1}}},
		"task 1 the test image 100 of 100": {{Train: []int32{0}, Test: []int32{100}}, {}},
		"kind broken: it is Sunday":        nil,
	} {
		divide = func(*data.Set, stream.Options, []int32) ([]stream.Share, error) {
			if shares == nil {
				return nil, errors.New("it is Sunday")
			}
			return shares, nil
		}
		if _, err := stream.Split(set, stream.Options{Kind: "broken", Tasks: 2, Batch: 1}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
