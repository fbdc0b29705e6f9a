package live

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/data"
	"ocl/predict"
	"ocl/run/experiment"
)

// run makes a run of a method on small drawings.
func run(t testing.TB, method string, change func(*config.Config)) (folder string) {
	t.Helper()
	c := config.Default()
	c.Data = config.Data{Name: "glyphs", Size: 8, TrainPerClass: 6, TestPerClass: 2}
	c.Stream.Tasks, c.Memory, c.Methods = 5, 30, []string{method}
	c.Network = config.Network{Name: "mlp", Width: 20, Hidden: []int{16}}
	if change != nil {
		change(&c)
	}
	folder = filepath.Join(t.TempDir(), "x")
	if _, err := experiment.Run(context.Background(), c,
		experiment.Options{Out: folder, KeepCheckpoint: true}); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestRunGoesOn: the learner of a run predicts what `ocl predict` says of the run, learns a class that the run does not
// know, and goes on from a file to the same bits.
func TestRunGoesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method string
		change func(*config.Config)
	}{{"er", nil}, {"icarl", nil}, {"er", func(c *config.Config) { c.Classifiers = []string{"ncm"} }}, {"lwf", nil},
		{"er", func(c *config.Config) {
			c.Network.Hidden, c.Network.Freeze, c.Replay.Latent, c.Replay.LatentBits = []int{16, 12}, 1, true, config.LatentCodes
			c.Classifiers = []string{"ncm"}
		}},
		{"er", func(c *config.Config) { c.Stream.Mean, c.Stream.Std = []float64{.5, .4, .3}, []float64{.2, .3, .2} }}} {
		folder := run(t, c.method, c.change)
		l, err := OpenWith(folder, func(p *Process) { p.Age = -1 })
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, l)
		p, err := predict.Open(t.Context(), folder, predict.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		pixels := make([]byte, 3*8*8)
		for i := range pixels {
			pixels[i] = byte(i * 7)
		}
		want := make([]predict.Guess, 5)
		if err := p.PredictBatch(want, pixels, 5); err != nil {
			t.Fatal(err)
		}
		got, err := l.PredictPixels(make([]predict.Guess, 5), pixels)
		if err != nil || !slices.Equal(got, want) || l.Measure() != p.Info().Measure {
			t.Errorf("%s: %v, %v; ocl predict says %v", c.method, got, err, want)
		}
		if s := l.Stats(); s.Classes != 100 || s.Capacity != 256 || s.Batches != int64(60) {
			t.Errorf("%s: %+v", c.method, s)
		}
		learn(t, l, 0, 25, 3)
		path := filepath.Join(t.TempDir(), "saved")
		if err := l.Save(path); err != nil {
			t.Fatal(err)
		}
		again, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, again)
		for _, x := range []*Learner{l, again} {
			if err := x.Boundary(); err != nil {
				t.Fatal(err)
			}
			learn(t, x, 25, 60, 4)
			flush(t, x)
		}
		sameState(t, c.method, l, again)
		if s := l.Stats(); s.Classes != 104 {
			t.Errorf("%s: %+v", c.method, s)
		}
	}
}

// TestNamesThatClassesShare: classes of a run with one name are called by their numbers, and a learner of it can be
// saved and opened.
func TestNamesThatClassesShare(t *testing.T) {
	data.Register(data.Info{Name: "cranes", Open: func(context.Context, data.Spec) (*data.Set, error) {
		set := &data.Set{Name: "cranes", C: 1, H: 1, W: 2, Classes: 2, ClassNames: []string{"crane", "crane"}}
		for _, half := range []*data.Split{&set.Train, &set.Test} {
			half.Images, half.Y = data.Block{Pixels: []uint8{0, 255, 255, 0}, Size: 2}, []int32{0, 1}
		}
		return set, nil
	}})
	l, err := Open(run(t, "er", func(c *config.Config) {
		c.Data, c.Stream.Tasks, c.Stream.Batch = config.Data{Name: "cranes"}, 2, 1
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, l)
	if names := l.Classes(); !slices.Equal(names, []string{"0", "1"}) || len(l.Notes()) != 1 ||
		!strings.Contains(l.Notes()[0], "several classes of the run have one name") {
		t.Errorf("classes %q, notes %q", names, l.Notes())
	}
	path := filepath.Join(t.TempDir(), "x")
	if err := l.Save(path); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, again)
}

// TestRunsThatCannotGoOn: runs of methods that cannot learn so are refused with the reason.
func TestRunsThatCannotGoOn(t *testing.T) {
	t.Parallel()
	l, err := Open(run(t, "gdumb", func(c *config.Config) { c.Stream.Tasks, c.Data.TrainPerClass = 2, 1 }))
	if err == nil {
		closed(t, l)
	}
	if !errors.Is(err, ErrMethod) || !strings.Contains(err.Error(), "GDumb trains a new network for every prediction") {
		t.Error(err)
	}
}
