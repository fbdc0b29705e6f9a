package bench

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ocl/internal/fuzztest"
	"ocl/nn"
)

// TestLayerFLOPs compares the breakdown with the network's own count, at an even and an odd size.
func TestLayerFLOPs(t *testing.T) {
	for _, size := range []int{32, 84} {
		r, err := newRig(size, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		sum := int64(0)
		for _, n := range r.layerFLOPs() {
			sum += n
		}
		if want := r.net.Info().FLOPs; sum != want {
			t.Errorf("%d×%d: layers have %d FLOPs together, the network %d", size, size, sum, want)
		}
	}
}

func TestEngine(t *testing.T) {
	rounds := 0
	rep, err := Engine(context.Background(), Options{Sizes: []int{32}, Workers: 1, Rounds: 1, Layers: true, AtOnce: 2,
		Round: func(int, time.Duration) { rounds++ }})
	if err != nil {
		t.Fatal(err)
	}
	if rounds != 1 || len(rep.Steps) != 1 || len(rep.Evaluation) != 1 || len(rep.AtOnce) != 1 || len(rep.Layers) != 1 {
		t.Fatalf("%d rounds, report %+v; want one of everything", rounds, rep)
	}
	if rep.Kernel != nn.DefaultEngine().Kernel || rep.Convolution != "winograd" && rep.Convolution != "direct" {
		t.Errorf("kernel %q, convolution %q; want those in use", rep.Kernel, rep.Convolution)
	}
	s, e := rep.Steps[0], rep.Evaluation[0]
	// 6 × 10 forward passes of 54.6 million multiply-adds.
	if flops := s.GFLOPS * s.MS * 1e6; !(math.Abs(flops/6.55e9-1) <= 0.01) {
		t.Errorf("a step has %.4g FLOPs, want 6.55e9", flops)
	}
	if got := s.GFLOPS / rep.PeakGFLOPS; !(math.Abs(got-s.PeakShare) <= 1e-9) {
		t.Errorf("step: share %v, want %v", s.PeakShare, got)
	}
	for name, v := range map[string]float64{"step": s.PeakShare, "evaluation": e.PeakShare} {
		if !(v > 0 && !math.IsInf(v, 0)) { // no upper bound: a busy machine may slow the peak more than the step
			t.Errorf("%s: share of the peak is %v", name, v)
		}
	}
	share := 0.0
	for _, p := range rep.Layers[0].Parts {
		share += p.Share
	}
	if !(math.Abs(share-1) <= 1e-9) {
		t.Errorf("the shares of the layers add up to %v, want 1", share)
	}
}

// TestReportKeys pins the keys that scripts read.
func TestReportKeys(t *testing.T) {
	b, err := json.Marshal(Report{Steps: []Step{{}}, Evaluation: []Evaluation{{}}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kernel":"","convolution":"","workers":0,"peak_gflops":0,"steps":[{"size":0,"ms":0,"gflops":0,"peak_share":0}],` +
		`"evaluation":[{"size":0,"images_per_second":0,"peak_share":0}]}`
	if d := cmp.Diff(want, string(b)); d != "" {
		t.Error(d)
	}
}

func TestEngineStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Engine(ctx, Options{Sizes: []int{32}, Workers: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if _, err := Engine(context.Background(), Options{Sizes: []int{8}}); !errors.Is(err, ErrSize) {
		t.Errorf("error %v, want %v", err, ErrSize)
	}
}

// TestTooLarge: what cannot fit the memory is refused before it is allocated.
func TestTooLarge(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "300MiB")
	for _, measure := range []func() error{
		func() error { _, err := Engine(t.Context(), Options{Sizes: []int{256}, Rounds: 1}); return err },
		func() error {
			_, err := Engine(t.Context(), Options{Sizes: []int{25}, Rounds: 1, AtOnce: 100})
			return err
		},
		func() error { _, err := Predict(t.Context(), Options{Sizes: []int{256}, Rounds: 1}); return err },
	} {
		var err error
		if got := fuzztest.Allocated(16<<20, func() { err = measure() }); got > 16<<20 || !errors.Is(err, nn.ErrMemory) {
			t.Errorf("error %v after %d bytes were allocated", err, got)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 2}, 2}} {
		if got := median(c.v); got != c.want {
			t.Errorf("median %v, want %v", got, c.want)
		}
	}
}
