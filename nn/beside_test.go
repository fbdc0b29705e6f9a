package nn_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ocl/nn"
	"ocl/nn/tensor"
)

// lookAhead is a network one step beyond c's, along gradients that are made up.
func lookAhead(c namedNet, ws *nn.Workspace) *nn.Network {
	ahead := c.net.Clone()
	for i := range c.net.Grads() {
		c.net.Grads()[i] = float32(math.Sin(float64(i))) / 8
	}
	ahead.StepFrom(ws, c.net, 0.25)
	return ahead
}

// TestForwardPairIsForward: both networks give the logits of Forward in BatchOnly mode, with any number of workers,
// and keep their statistics; the weights packed for the one are not those of the other.
func TestForwardPairIsForward(t *testing.T) {
	forEachSet(t, func(t *testing.T) {
		for _, c := range networks(t) {
			for _, workers := range []int{1, 2, 3} {
				ws := c.net.NewWorkspace(workers)
				defer ws.Close()
				ahead := lookAhead(c, ws)
				want := slices.Clone(c.net.Forward(ws, c.x, nn.BatchOnly).Data)
				wantAhead := slices.Clone(ahead.Forward(ws, c.x, nn.BatchOnly).Data)
				if slices.Equal(want, wantAhead) {
					t.Fatalf("%s: the step changes no logit", c.name)
				}
				before := slices.Concat(c.net.Running(), ahead.Running())
				for _, images := range []int{1, c.x.Dim(0)} { // the first makes less room than the second needs
					x := c.x.Rows(0, images)
					own, others := c.net.ForwardPair(ws, ahead, x, nn.BatchOnly)
					if images < c.x.Dim(0) {
						continue // statistics of fewer images
					}
					if !slices.Equal(own.Data, want) || !slices.Equal(others.Data, wantAhead) {
						t.Errorf("%s, %d workers: the logits are not those of Forward in BatchOnly mode", c.name, workers)
					}
				}
				if !slices.Equal(before, slices.Concat(c.net.Running(), ahead.Running())) {
					t.Errorf("%s: the running statistics moved", c.name)
				}
			}
		}
	})
}

// TestForwardPairTrains: in Train mode the logits are the same bits, and the running statistics of the first network
// alone move, as by Forward.
func TestForwardPairTrains(t *testing.T) {
	forEachSet(t, func(t *testing.T) {
		for _, c := range networks(t) {
			for _, workers := range []int{1, 2} {
				ws := c.net.NewWorkspace(workers)
				defer ws.Close()
				ahead, other := lookAhead(c, ws), c.net.Clone()
				before := slices.Clone(ahead.Running())
				want := slices.Clone(other.Forward(ws, c.x, nn.Train).Data)
				own, _ := c.net.ForwardPair(ws, ahead, c.x, nn.Train)
				if !slices.Equal(own.Data, want) {
					t.Errorf("%s, %d workers: the logits are not those of Forward in Train mode", c.name, workers)
				}
				if !slices.Equal(c.net.Running(), other.Running()) || len(before) > 0 && slices.Equal(c.net.Running(), before) {
					t.Errorf("%s, %d workers: the running statistics are not those after Forward in Train mode", c.name, workers)
				}
				if !slices.Equal(ahead.Running(), before) {
					t.Errorf("%s, %d workers: the running statistics of the other network moved", c.name, workers)
				}
			}
		}
	})
}

func TestStepFrom(t *testing.T) {
	c := networks(t)[0]
	ws := c.net.NewWorkspace(2)
	defer ws.Close()
	before := slices.Clone(c.net.Params())
	ahead := lookAhead(c, ws)
	if !slices.Equal(before, c.net.Params()) {
		t.Error("StepFrom changed its source")
	}
	for i, v := range ahead.Params() {
		want := float64(before[i]) - 0.25*float64(c.net.Grads()[i])
		if !(math.Abs(float64(v)-want) <= 0x1p-24*(math.Abs(want)+1)) {
			t.Fatalf("parameter %d is %v, want %v", i, v, want)
		}
	}
	c.net.SetActive(2) // also after the copy was made
	defer c.net.SetActive(c.net.Info().Capacity)
	ahead.StepFrom(ws, c.net, 0.25)
	if own, others := c.net.ForwardPair(ws, ahead, c.x, nn.BatchOnly); own.Dim(1) != 2 || others.Dim(1) != 2 {
		t.Errorf("logits %v, and %v after a step; want those of 2 active classes", own.Shape, others.Shape)
	}
}

// TestCosines compares Cosines with float64, for numbers of rows around a tile's and lengths around a block's.
func TestCosines(t *testing.T) {
	forEachSet(t, func(t *testing.T) {
		r, net := rand.New(rand.NewPCG(1, 2)), perceptron(t, 3, 4, 5, 7)
		for _, n := range []int{1, 7, 8, 40, 1023, 1024, 1025, 16384 + 1024 + 13} {
			for _, rows := range [][2]int{{1, 1}, {1, 7}, {4, 3}, {5, 5}, {10, 10}, {11, 2}} {
				a, b := make([]float32, rows[0]*n), make([]float32, rows[1]*n)
				for _, v := range [][]float32{a, b} {
					for i := range v {
						v[i] = float32(r.NormFloat64() + 0.1)
					}
				}
				clear(b[:n])
				var first []float64
				for _, workers := range []int{1, 2, 3} {
					ws := net.NewWorkspace(workers)
					defer ws.Close()
					got := make([]float64, rows[0]*rows[1])
					for range 2 {
						ws.Cosines(got, a, b, n)
					}
					if first == nil {
						first = got
					}
					if !slices.Equal(got, first) {
						t.Errorf("%d×%d rows of %d: %d workers give other bits than 1", rows[0], rows[1], n, workers)
					}
				}
				for k, got := range first {
					want := cosine(a[k/rows[1]*n:][:n], b[k%rows[1]*n:][:n])
					// 128 roundings a lane and block, of products whose sizes add up to less than the root of their
					// squares' times 1
					if !(math.Abs(got-want) <= 128*0x1p-24) {
						t.Errorf("%d×%d rows of %d: cosine %d is %v, want %v", rows[0], rows[1], n, k, got, want)
					}
				}
			}
		}
	})
}

// cosine is 0 where a vector is.
func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}

// BenchmarkPerSample does the work of GSS in a step: the gradients of 10 incoming and 10 stored samples, and their
// cosines.
func BenchmarkPerSample(b *testing.B) {
	net := survey(b, 32)
	ws := net.NewWorkspace(2)
	defer ws.Close()
	p := len(net.Params())
	x, d := images(20, 3, 32, 32, 1), tensor.New(20, 100)
	g, cosines := make([]float32, 20*p), make([]float64, 100)
	net.Forward(ws, x, nn.Eval)
	b.Run("gradients", func(b *testing.B) {
		for b.Loop() {
			objective(net.Forward(ws, x, nn.Eval), d)
			ws.BackwardPerSample(d, g)
		}
	})
	b.Run("cosines", func(b *testing.B) {
		for b.Loop() {
			ws.Cosines(cosines, g[:10*p], g[10*p:], p)
		}
	})
}
