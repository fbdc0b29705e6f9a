package data

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
)

// Mean and deviation are those of the formula, by channel, over the training images alone, with progress.
func TestStatistics(t *testing.T) {
	const n = 1003
	set := &Set{Name: "s", C: 3, H: 1, W: 2}
	b := newBlock(n, set.ImageLen())
	set.Train, set.Test = Split{Images: b, Y: make([]int32, n)}, Split{Images: newBlock(5, 6), Y: make([]int32, 5)}
	for i := range n {
		copy(b.at(i), []uint8{uint8(i), uint8(i / 4), 100, 200, 7, 7})
	}
	last, calls := 0, 0
	st, err := Statistics(context.Background(), set, func(done, total int) {
		if total != n || done < last || done > n {
			t.Errorf("%d of %d are done after %d", done, total, last)
		}
		last = done
		calls++
	})
	if err != nil || st.Images != n || last != n || calls < 2 {
		t.Fatalf("%+v (%v), progress of %d in %d calls", st, err, last, calls)
	}
	for c := range 3 {
		var mean, square float64
		for i := range n {
			for _, v := range b.at(i)[2*c : 2*c+2] {
				mean += float64(v) / 255 / (2 * n)
			}
		}
		for i := range n {
			for _, v := range b.at(i)[2*c : 2*c+2] {
				square += (float64(v)/255 - mean) * (float64(v)/255 - mean) / (2 * n)
			}
		}
		if d := math.Abs(st.Mean[c] - mean); !(d < 1e-12) {
			t.Errorf("channel %d: mean %v, want %v", c, st.Mean[c], mean)
		}
		if d := math.Abs(st.Std[c] - math.Sqrt(square)); !(d < 1e-12) {
			t.Errorf("channel %d: deviation %v, want %v", c, st.Std[c], math.Sqrt(square))
		}
	}
	if st.Std[2] != 0 {
		t.Errorf("the deviation of a constant is %v", st.Std[2])
	}
}

// Statistics end with ctx, and with an image that cannot be read.
func TestStatisticsEnd(t *testing.T) {
	set := &Set{Name: "s", C: 1, H: 1, W: 1, Train: Split{Images: decoded{errs: make([]error, 1)}, Y: make([]int32, 1)}}
	if _, err := Statistics(context.Background(), set, nil); err == nil ||
		!strings.Contains(err.Error(), "data: s: statistics: ") {
		t.Errorf("an image that cannot be read: %v", err)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Statistics(stopped, set, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}
