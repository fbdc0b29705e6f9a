package learner

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/optim"
	"ocl/nn/tensor"
)

// learnCNDPM observes batches [lo, hi) of the golden stream.
func learnCNDPM(t *testing.T, c *CNDPM, lo, hi int) {
	t.Helper()
	for step := lo; step < hi; step++ {
		if _, err := c.Observe(context.Background(), cndpmBatch(step)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCNDPMOneExpert: where log alpha is −∞ there is one expert for ever, which predicts by its classifier.
func TestCNDPMOneExpert(t *testing.T) {
	c := tinyCNDPM(t)
	c.LogAlpha = math.Inf(-1)
	learnCNDPM(t, c, 0, 12)
	if len(c.experts) != 1 || c.Memory.Len() != 0 {
		t.Fatalf("%d experts and %d stored samples, want 1 and none", len(c.experts), c.Memory.Len())
	}
	if got, want := math.Exp(c.experts[0].logCount), 11+50.0; !(math.Abs(got-want) < 1e-3) {
		t.Errorf("its count is %v, want 1 + 10 stored + 50 learned samples", got)
	}
	x := cndpmBatch(20).X
	got := make([]ocl.Label, 5)
	if err := c.Predict(got, x); err != nil {
		t.Fatal(err)
	}
	p := c.Net.Pass(c.WS, netsOf(c.experts), 5, 1)
	p.Classify(x)
	for i, y := range got {
		if want := argmax(p.Logits(0, i)); y != want {
			t.Errorf("image %d: class %d, want %d, that of its classifier", i, y, want)
		}
	}
}

// TestCNDPMExpertEachCapacity: where log alpha is +∞ every sample is stored, and each full memory is an expert.
func TestCNDPMExpertEachCapacity(t *testing.T) {
	c := tinyCNDPM(t)
	c.LogAlpha = math.Inf(1)
	for step := range 7 {
		learnCNDPM(t, c, step, step+1)
		seen := 5 * (step + 1)
		if len(c.experts) != seen/10 || c.Memory.Len() != seen%10 {
			t.Fatalf("after %d samples: %d experts and %d stored, want %d and %d", seen, len(c.experts), c.Memory.Len(), seen/10,
				seen%10)
		}
	}
	for k, e := range c.experts {
		if e.stored != 10 || e.born != int64(2*k+2) || !(math.Abs(math.Exp(e.logCount)-11) < 1e-9) {
			t.Errorf("expert %d: made of %d samples at step %d, count %v; want 10, %d and 11", k+1, e.stored, e.born,
				math.Exp(e.logCount), 2*k+2)
		}
	}
}

// TestCNDPMResponsibilities of samples that are not stored sum to 1, also where likelihoods are far outside of what an
// exponential holds.
func TestCNDPMResponsibilities(t *testing.T) {
	c := tinyCNDPM(t)
	if err := c.prepare(); err != nil {
		t.Fatal(err)
	}
	c.experts = []*expert{{logCount: math.Log(1001)}, {logCount: math.Log(3)}, {logCount: 0}}
	c.reserve(4, 1)
	for _, nll := range [][4]float64{{0, 1, 2, 3}, {9e4, 2823.4, 2823.1, 9e5}, {1e300, 4000, -4000, 0},
		{5000, 4999, 4999, 4999}, {-1e9, 3000, 3000, 3000}} {
		for k, v := range nll {
			c.nll[k][0], c.chilled[k][0] = v, 0
		}
		c.LogAlpha = -300
		stored, sum := c.assign(0), 0.0
		for k := range c.experts {
			sum += c.share[k+1][0]
		}
		if stored != (nll[0] == -1e9) {
			t.Errorf("%v: stored: %v", nll, stored)
		}
		if want := 1.0; stored {
			if sum != 0 {
				t.Errorf("%v: stored, and responsibilities sum to %v, want 0", nll, sum)
			}
		} else if !(math.Abs(sum-want) <= 1e-6) {
			t.Errorf("%v: responsibilities sum to %v, want 1", nll, sum)
		}
	}
}

// TestCNDPMLargeNumbers: images far outside of [0,1] have likelihoods of millions of nats, and all numbers stay finite.
func TestCNDPMLargeNumbers(t *testing.T) {
	c := tinyCNDPM(t)
	c.LogAlpha = 1e5
	large := func(step int) ocl.Batch {
		b := cndpmBatch(step)
		for i := range b.X.Data {
			b.X.Data[i] *= 150
		}
		return b
	}
	for step := range 10 {
		stats, err := c.Observe(context.Background(), large(step))
		if err != nil || math.IsNaN(stats.Loss) || math.IsInf(stats.Loss, 0) {
			t.Fatalf("step %d: %+v, %v", step, stats, err)
		}
	}
	if len(c.experts) < 2 {
		t.Fatalf("%d experts, want several", len(c.experts))
	}
	if least := slices.Min(c.nll[1][:5]); !(least > 1e5) {
		t.Errorf("a likelihood of %v nats, want many", least)
	}
	for k, e := range c.experts {
		if !(e.logCount >= 0 && e.logCount < 100) {
			t.Errorf("expert %d has the log-count %v", k+1, e.logCount)
		}
	}
	if err := c.Predict(make([]ocl.Label, 5), large(20).X); err != nil {
		t.Error(err)
	}
}

// TestCNDPMPredictsEachImageByItself: with two experts, whose codes are drawn, an image is predicted as the same class
// twice, in another order and in a batch of another size, and by a learner with another seed that has loaded the state.
func TestCNDPMPredictsEachImageByItself(t *testing.T) {
	c := tinyCNDPM(t)
	c.LogAlpha = math.Inf(1)
	learnCNDPM(t, c, 0, 4)
	x := tensor.New(50, 3, 12, 12)
	for i := range 10 {
		copy(x.Data[i*5*432:], cndpmBatch(30+i).X.Data)
	}
	all, got := make([]ocl.Label, 50), make([]ocl.Label, 50)
	if err := c.Predict(all, x); err != nil {
		t.Fatal(err)
	}
	scores, one := make([]float64, 50*6), make([]float64, 6)
	if err := c.Scores(scores, x); err != nil {
		t.Fatal(err)
	}
	state := checkpoint.NewContainer()
	if err := c.SaveState(state.Encoder()); err != nil {
		t.Fatal(err)
	}
	other := tinyCNDPM(t)
	other.Seed, other.InitSeed = 7, 8
	if err := other.LoadState(state.Decoder()); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*CNDPM{c, other} {
		for i := range 50 {
			if err := errors.Join(l.Predict(got[49-i:50-i], x.Rows(49-i, 50-i)), l.Scores(one, x.Rows(49-i, 50-i))); err != nil {
				t.Fatal(err)
			}
			if want := scores[(49-i)*6 : (50-i)*6]; !slices.Equal(one, want) || one[got[49-i]] != slices.Max(one) {
				t.Fatalf("image %d: class %d by the scores %v, want %v", 49-i, got[49-i], one, want)
			}
		}
		if !slices.Equal(got, all) {
			t.Errorf("one by one: %v, want %v", got, all)
		}
	}
	if slices.Max(all) == slices.Min(all) {
		t.Errorf("all images are of class %d; want several classes, or the test cannot fail", all[0])
	}
}

// TestCNDPMBeforeTheFirstExpert: the class with the nearest mean of the stored images, the lowest of equally near ones,
// and an error where nothing is stored.
func TestCNDPMBeforeTheFirstExpert(t *testing.T) {
	c := tinyCNDPM(t)
	fill := func(labels []ocl.Label, greys ...byte) ocl.Batch {
		var pixels []byte
		for _, v := range greys {
			pixels = append(pixels, bytes.Repeat([]byte{v}, 3*12*12)...)
		}
		return ocl.NewBatch([3]int{3, 12, 12}, pixels, labels, ocl.NewPixelValues(3, nil, nil))
	}
	got := make([]ocl.Label, 4)
	if err := c.Predict(got, fill(got, 0, 0, 0, 0).X); err == nil || !strings.Contains(err.Error(), "Observe a batch") {
		t.Errorf("nothing is stored: %v", err)
	}
	// means: class 4 at 50, class 1 at 150, class 3 at 255
	stats, err := c.Observe(context.Background(), fill([]ocl.Label{4, 4, 1, 3}, 25, 75, 150, 255))
	if err != nil || stats.Correct != 0 || stats.Loss != 0 || stats.Samples != 4 {
		t.Fatalf("%+v, %v", stats, err)
	}
	for range 2 {
		if err := c.Predict(got, fill(got, 12, 95, 195, 230).X); err != nil || !slices.Equal(got, []ocl.Label{4, 4, 1, 3}) {
			t.Errorf("classes %v (%v), want 4 4 1 3", got, err)
		}
	}
	if stats, err = c.Observe(context.Background(), fill([]ocl.Label{4, 3}, 37, 180)); err != nil || stats.Correct != 1 {
		t.Errorf("%+v (%v), want 1 of 2 correct by the means before it", stats, err)
	}
}

// TestCNDPMRefuses what cannot be learned, before anything is.
func TestCNDPMRefuses(t *testing.T) {
	for want, change := range map[string]func(*CNDPM){
		"is smaller than the batch of a sleep": func(c *CNDPM) { c.Batch = 11 },
		"a chill of 0":                         func(c *CNDPM) { c.Chill = 0 },
		"a chill of NaN":                       func(c *CNDPM) { c.Chill = math.NaN() },
		"divisible by 4":                       func(c *CNDPM) { c.VAE.Width, c.Net.Width = 30, 30 },
		"label 5 is not a class in [0, 5)":     func(c *CNDPM) { c.Net.Classes = 5 },
		"larger than the short-term memory":    func(c *CNDPM) { c.Capacity, c.Batch = 4, 4 },
	} {
		c := tinyCNDPM(t)
		change(c)
		b := cndpmBatch(0)
		b.Y[4] = 5
		if _, err := c.Observe(context.Background(), b); err == nil || !strings.Contains(err.Error(), want) ||
			c.Memory.Len() > 0 {
			t.Errorf("%d samples are stored: %v, want an error with %q", c.Memory.Len(), err, want)
		}
	}
}

// TestCNDPMDiverges: an expert whose parameters are no numbers is an error where it wakes, sleeps and predicts.
func TestCNDPMDiverges(t *testing.T) {
	for net := range 3 {
		c := tinyCNDPM(t)
		c.LogAlpha = math.Inf(1)
		learnCNDPM(t, c, 0, 4)
		broken := c.experts[0].networks()[net]
		broken.Params()[0] = float32(math.NaN())
		broken.Changed()
		if err := c.Predict(make([]ocl.Label, 5), cndpmBatch(9).X); !errors.Is(err, ocl.ErrDiverged) {
			t.Errorf("network %d: it predicts with the error %v, want ocl.ErrDiverged", net, err)
		}
		if _, err := c.Observe(context.Background(), cndpmBatch(5)); !errors.Is(err, ocl.ErrDiverged) {
			t.Errorf("network %d: it observes with the error %v, want ocl.ErrDiverged", net, err)
		}
	}
	c := tinyCNDPM(t)
	c.Opt = optim.SGD{LR: 1e30}
	c.Clip, c.VAESteps, c.ClassifierSteps = 1e30, 30, 30
	learnCNDPM(t, c, 0, 1)
	if _, err := c.Observe(context.Background(), cndpmBatch(1)); !errors.Is(err, ocl.ErrDiverged) {
		t.Errorf("a sleep with an enormous rate: %v, want ocl.ErrDiverged", err)
	}
}

// TestCNDPMRates: experts learn at the learning rate while they sleep, and at a part of it afterwards, also where they
// were loaded.
func TestCNDPMRates(t *testing.T) {
	c := tinyCNDPM(t)
	c.LogAlpha = math.Inf(1)
	learnCNDPM(t, c, 0, 2)
	state := checkpoint.NewContainer()
	if err := c.SaveState(state.Encoder()); err != nil {
		t.Fatal(err)
	}
	loaded := tinyCNDPM(t)
	if err := loaded.LoadState(state.Decoder()); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*CNDPM{c, loaded} {
		for i, want := range []float64{0.002, 0.002, 0.001} {
			if got := l.experts[0].opts[i].LR(); !(math.Abs(got-want) < 1e-12) {
				t.Errorf("network %d: rate %v, want %v", i, got, want)
			}
		}
	}
	learnCNDPM(t, c, 2, 3)
	ctx, cancel := context.WithCancel(context.Background())
	c.Watch(func(done, _ int) {
		if got := c.experts[1].opts[0].LR(); got != 0.01 {
			t.Errorf("rate %v asleep, want 0.01", got)
		}
		cancel()
	})
	if _, err := c.Observe(ctx, cndpmBatch(3)); !errors.Is(err, context.Canceled) || !c.Paused() {
		t.Errorf("%v, paused %v", err, c.Paused())
	}
}
