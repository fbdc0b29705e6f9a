package predict

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ocl"
	"ocl/config"
	"ocl/data"
	"ocl/internal/exiftest"
	"ocl/internal/lifecycle/lifecycletest"
	"ocl/nn/tensor"
	"ocl/run/experiment"
	"ocl/run/result"
	"ocl/run/trained"
)

// small is an experiment of one run on glyphs of 8×8 pixels in five tasks.
func small(method string) config.Config {
	c := config.Default()
	c.Data = config.Data{Name: "glyphs", Size: 8, TrainPerClass: 6, TestPerClass: 2}
	c.Stream.Tasks, c.Memory, c.Methods = 5, 30, []string{method}
	c.Network = config.Network{Name: "mlp", Width: 20, Hidden: []int{16}}
	return c
}

// ncm is small with class means in place of the head.
func ncm() config.Config {
	c := small("er")
	c.Classifiers = []string{config.ClassifierNCM}
	return c
}

// residual has a residual network of images of 32×32 pixels.
func residual() config.Config {
	c := small("er")
	c.Data = config.Data{Name: "glyphs", Size: 32, TrainPerClass: 1, TestPerClass: 1}
	c.Stream.Tasks = 2
	c.Network = config.Network{Name: "resnet18", Width: 4, Hidden: []int{16}}
	return c
}

// experts is CN-DPM with experts that are made of 30 samples each, in sleeps of eight steps.
func experts() config.Config {
	c := small("cndpm")
	c.Data.Size, c.Network = 12, config.Default().Network
	c.Method = map[string]map[string]any{"cndpm": {"sleep_vae_steps": 5, "sleep_classifier_steps": 3, "sleep_batch": 5,
		"z_samples": 2, "z_dim": 4, "vae_features": 4,
		"vae_growth": 2, "classifier_features": 4, "classifier_growth": 2, "log_alpha": 1e6}}
	return c
}

// trainedRun runs a config.
func trainedRun(t testing.TB, c config.Config) (folder string, res *result.Result) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "x")
	results, err := experiment.Run(context.Background(), c, experiment.Options{Out: folder, KeepCheckpoint: true})
	if err != nil {
		t.Fatal(err)
	}
	return folder, results[0]
}

func opened(t testing.TB, c config.Config, o Options) (*Predictor, *result.Result) {
	t.Helper()
	folder, res := trainedRun(t, c)
	p, err := Open(context.Background(), folder, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, res
}

func dataOf(t testing.TB, c config.Config) *data.Set {
	t.Helper()
	set, err := experiment.OpenData(context.Background(), c, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// pixels are the test images of a set, one after the other.
func pixels(t testing.TB, set *data.Set) []uint8 {
	t.Helper()
	var all []uint8
	for i := range set.Test.Len() {
		image, err := set.Test.Images.Image(i, make([]uint8, set.ImageLen()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, image...)
	}
	return all
}

// The best guess is what the run predicts, for every kind of learner, alone and in batches, with any number of workers.
func TestBestGuessIsThePredictionOfTheRun(t *testing.T) {
	t.Parallel()
	normal := small("er")
	normal.Stream.Mean, normal.Stream.Std = []float64{0.1, 0.5, 0.9}, []float64{0.2, 0.3, 0.4}
	for name, c := range map[string]config.Config{"er": small("er"), "normal": normal, "icarl": small("icarl"),
		"gdumb": small("gdumb"), "ncm": ncm(), "resnet": residual(), "cndpm": experts()} {
		p, _ := opened(t, c, Options{Workers: 2, AtOnce: 1})
		set := dataOf(t, c)
		images := pixels(t, set)
		n, size := set.Test.Len(), set.ImageLen()
		x := tensor.New(n, set.C, set.H, set.W)
		for i := range n {
			p.by.Write(x.Row(i), images[i*size:(i+1)*size])
		}
		run, err := trained.Open(t.Context(), p.Info().Folder, trained.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		want := make([]ocl.Label, n)
		if _, err := run.Classifiers.Predict(run.Learner, x); err != nil {
			t.Fatal(err)
		}
		copy(want, run.Classifiers.Labels[0])
		got := make([]Guess, 2*n)
		if err := p.PredictBatch(got, images, 2); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if ocl.Label(got[2*i].Class) != want[i] {
				t.Fatalf("%s: image %d: in a batch %v, in the run class %d", name, i, got[2*i:2*i+2], want[i])
			}
			if i%4 > 0 {
				continue
			}
			var alone [2]Guess
			if err := p.PredictBatch(alone[:], images[i*size:(i+1)*size], len(alone)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(alone[:], got[2*i:2*i+2]) {
				t.Fatalf("%s: image %d: in a batch %v, alone %v", name, i, got[2*i:2*i+2], alone)
			}
		}
	}
}

// Probabilities of all classes add up to 1 and fall; distances rise and lie between 0 and 2.
func TestGuessesAreOrdered(t *testing.T) {
	t.Parallel()
	for _, c := range []config.Config{small("er"), ncm()} {
		p, _ := opened(t, c, Options{})
		info := p.Info()
		all := make([]Guess, info.Guesses)
		image := pixels(t, dataOf(t, c))[:192]
		if err := p.PredictBatch(all, image, len(all)); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, g := range all {
			sum += g.Value
			if g.Name != info.ClassNames[g.Class] {
				t.Errorf("%+v has another name", g)
			}
			if i > 0 && (info.Measure == Probability) != (g.Value <= all[i-1].Value) && g.Value != all[i-1].Value {
				t.Errorf("%s %d is %v after %v", info.Measure, i, g.Value, all[i-1].Value)
			}
			if info.Measure == Distance && !(g.Value >= 0 && g.Value <= 2) {
				t.Errorf("distance %v", g.Value)
			}
		}
		if info.Measure == Distance {
			ws, x, squares := p.model.Net.NewWorkspace(1), tensor.New(1, 3, 8, 8), make([]float64, info.Classes)
			defer ws.Close()
			for i := range x.Data {
				x.Data[i] = float32(float64(image[i]) / 255)
			}
			if err := p.model.Means.Squares(squares, p.model.Net.Predict(ws, x).Features.Row(0)); err != nil {
				t.Fatal(err)
			}
			for _, g := range all {
				if !(math.Abs(g.Value*g.Value-squares[g.Class]) <= 1e-12) {
					t.Errorf("class %d: distance %v, its square is %v", g.Class, g.Value, squares[g.Class])
				}
			}
		}
		if info.Measure == Probability && !(math.Abs(sum-1) <= 1e-9) {
			t.Errorf("the probabilities add up to %v", sum)
		}
	}
}

// Each classifier of a run can be chosen, and predicts what a run predicts that has it as its first one.
func TestClassifierIsChosen(t *testing.T) {
	t.Parallel()
	both := func(names ...string) config.Config {
		c := small("er")
		c.Classifiers = names
		return c
	}
	folder, _ := trainedRun(t, both("head", "ncm"))
	images := pixels(t, dataOf(t, small("er")))
	for _, name := range []string{"", "head", "ncm"} {
		p, err := Open(t.Context(), folder, Options{Classifier: name})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		first, measure := "head", Probability
		if name == "ncm" {
			first, measure = name, Distance
		}
		other, _ := opened(t, both(first), Options{})
		n := 20
		got, want := make([]Guess, n), make([]Guess, n)
		size := p.preparation.Len()
		if err := errors.Join(p.PredictBatch(got, images[:n*size], 1),
			other.PredictBatch(want, images[:n*size], 1)); err != nil {
			t.Fatal(err)
		}
		if name == "ncm" { // of a run whose first classifier it is, it is calibrated
			for i := range got {
				got[i].Value = want[i].Value
			}
		}
		if !slices.Equal(got, want) || p.Info().Classifier != first || p.Info().Measure != measure {
			t.Errorf("%q: %s by %s: %v, want %v", name, p.Info().Measure, p.Info().Classifier, got, want)
		}
	}
	head, _ := trainedRun(t, both("head"))
	for name, c := range map[string]struct{ folder, want string }{
		"nearest": {folder, `the run has no classifier "nearest". Use head or ncm`},
		"ncm":     {head, `the run has no classifier "ncm". Use head`},
	} {
		if _, err := Open(t.Context(), c.folder, Options{Classifier: name}); !errors.Is(err, ErrClassifier) ||
			!strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Of equal scores the lowest class comes first, as learners decide.
func TestEqualScores(t *testing.T) {
	got := make([]Guess, 3)
	best(got, []float64{1, 3, 2, 3, 2, 0}, nil)
	if want := []Guess{{Class: 1, Value: 3}, {Class: 3, Value: 3}, {Class: 2, Value: 2}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Many goroutines share a predictor, more than there are slots, and get what one alone gets.
func TestGoroutinesShareAPredictor(t *testing.T) {
	t.Parallel()
	for _, c := range []config.Config{residual(), ncm()} {
		p, _ := opened(t, c, Options{AtOnce: 2})
		set := dataOf(t, c)
		images := pixels(t, set)
		n, size := set.Test.Len(), set.ImageLen()
		want := make([]Guess, 3*n)
		if err := p.PredictBatch(want, images, 3); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for g := range 6 {
			wg.Go(func() {
				got := make([]Guess, 3*n)
				for i := g; i < n; i += 6 {
					if err := p.PredictBatch(got[:3], images[i*size:(i+1)*size], 3); err != nil ||
						!slices.Equal(got[:3], want[3*i:3*i+3]) {
						t.Errorf("image %d: %v, %v", i, got[:3], err)
					}
				}
				if err := p.PredictBatch(got, images, 3); err != nil || !slices.Equal(got, want) {
					t.Errorf("the batch: %v, or other guesses", err)
				}
			})
		}
		wg.Wait()
	}
}

// An image file is predicted as the image that it becomes.
func TestPredictFile(t *testing.T) {
	t.Parallel()
	p, _ := opened(t, small("er"), Options{})
	m := image.NewNRGBA(image.Rect(0, 0, 60, 40))
	for i := range 60 * 40 {
		m.SetNRGBA(i%60, i/60, color.NRGBA{uint8(i), uint8(i / 9), 99, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	got, want, prepared := make([]Guess, 3), make([]Guess, 3), make([]uint8, 3*8*8)
	if err := errors.Join(p.PredictFile(t.Context(), got, b.Bytes()), p.Prepare(t.Context(), prepared, b.Bytes()),
		p.PredictBatch(want, prepared, 3)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) || slices.Max(prepared) == slices.Min(prepared) {
		t.Errorf("%v, want %v", got, want)
	}
	if err := p.PredictFile(t.Context(), got, []byte("no image")); err == nil ||
		!strings.Contains(err.Error(), "this is no JPEG") {
		t.Error(err)
	}
}

// A photograph that is stored on its side is predicted as it is seen.
func TestPredictTurnedFile(t *testing.T) {
	t.Parallel()
	p, _ := opened(t, small("er"), Options{})
	got, want := make([]uint8, 3*8*8), make([]uint8, 3*8*8)
	guess, as := make([]Guess, 3), make([]Guess, 3)
	turned, upright := exiftest.Sideways(t), exiftest.Photo(t)
	if err := errors.Join(p.Prepare(t.Context(), got, turned), p.Prepare(t.Context(), want, upright),
		p.PredictFile(t.Context(), guess, turned), p.PredictFile(t.Context(), as, upright)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) || !slices.Equal(guess, as) {
		t.Errorf("%v, and upright %v", guess, as)
	}
}

// Wrong lengths are errors that say what is right, and so is a call after Close.
func TestWrongCalls(t *testing.T) {
	t.Parallel()
	p, _ := opened(t, ncm(), Options{AtOnce: 1})
	info := p.Info()
	image := make([]uint8, info.C*info.H*info.W)
	many := make([]Guess, info.Guesses+1)
	for what, c := range map[string]struct {
		err  error
		want string
	}{
		"no guess":            {p.PredictBatch(nil, image, 0), "Ask for 1 to"},
		"too many guesses":    {p.PredictBatch(many, image, len(many)), "Ask for 1 to"},
		"too many of a file":  {p.PredictFile(t.Context(), many, nil), "Ask for 1 to"},
		"no guess of a file":  {p.PredictFile(t.Context(), nil, nil), "Ask for 1 to"},
		"a guess too few":     {p.PredictBatch(many[:3], image, 2), "give room for all"},
		"a byte too few":      {p.PredictBatch(many[:1], image[1:], 1), "192 bytes for each image"},
		"an image too many":   {p.PredictBatch(many[:2], append(image, image...), 2), "192 bytes for each image"},
		"preparing elsewhere": {p.Prepare(t.Context(), image[1:], nil), "192 bytes for each image"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v", what, c.err)
		}
	}
}

// TestLifecycle: Close waits for calls at work, wakes those that wait, and leaves no goroutine.
func TestLifecycle(t *testing.T) {
	folder, _ := trainedRun(t, small("er"))
	lifecycletest.Test(t, func(t *testing.T) lifecycletest.Subject {
		p, err := Open(t.Context(), folder, Options{Workers: 3, AtOnce: 1})
		if err != nil {
			t.Fatal(err)
		}
		image, guess := make([]byte, p.size), make([]Guess, 1)
		return lifecycletest.Subject{
			Close: func() error { p.Close(); return nil }, Closed: ErrClosed,
			Calls: map[string]func() error{
				"PredictBatch": func() error { return p.PredictBatch(guess, image, 1) },
				"PredictFile":  func() error { return p.PredictFile(t.Context(), guess, nil) },
			},
			Hold: func() func() {
				s, _ := p.slots.Take()
				return func() { p.slots.Give(s) }
			},
			Woken: []string{"PredictBatch", "PredictFile"},
		}
	})
}

// A network whose logits are no numbers is refused, whichever way it predicts.
func TestBrokenNetwork(t *testing.T) {
	for _, c := range []config.Config{small("er"), ncm()} {
		p, _ := opened(t, c, Options{AtOnce: 1})
		p.model.Net.Params()[0] = float32(math.NaN())
		for i := range p.model.Net.Params() {
			p.model.Net.Params()[i] = float32(math.NaN())
		}
		p.model.Net.Changed()
		p.slots.All()[0].ws.Close()
		p.slots.All()[0].ws = p.model.Net.NewWorkspace(1)
		if err := p.PredictBatch(make([]Guess, 1), make([]uint8, 192), 1); !errors.Is(err, ocl.ErrDiverged) {
			t.Errorf("%s: %v", p.info.Measure, err)
		}
	}
}
