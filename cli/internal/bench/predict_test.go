package bench

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A report has a line for each size, in their order, with times that fit each other.
func TestPredict(t *testing.T) {
	rounds := 0
	rep, err := Predict(t.Context(), Options{Sizes: []int{32, 25}, Workers: 1, Rounds: 2,
		Round: func(int, time.Duration) { rounds++ }})
	if err != nil || len(rep.Predict) != 2 || rounds != 2 || rep.Workers != 1 || rep.Kernel == "" ||
		rep.Convolution == "" {
		t.Fatalf("%+v, %v, %d rounds", rep, err, rounds)
	}
	for i, size := range []int{32, 25} {
		p := rep.Predict[i]
		if p.Size != size || !(p.OneLeastMS > 0) || !(p.OneMS >= p.OneLeastMS) || !(p.BatchLeastMS > p.OneLeastMS) ||
			!(p.BatchMS >= p.BatchLeastMS) ||
			!(p.ImagesPerSecond*p.BatchMS > 199999) || !(p.ImagesPerSecond*p.BatchMS < 200001) {
			t.Errorf("%+v", p)
		}
	}
}

// Sizes that cannot be measured, and an end by ctx, are errors.
func TestPredictFaults(t *testing.T) {
	for _, sizes := range [][]int{nil, {24}} {
		if _, err := Predict(t.Context(), Options{Sizes: sizes, Rounds: 1}); !errors.Is(err, ErrSize) {
			t.Errorf("%v: %v", sizes, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Predict(ctx, Options{Sizes: []int{25}, Rounds: 1}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
