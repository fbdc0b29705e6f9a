package live

import (
	"fmt"
	"slices"
	"testing"

	"ocl/config"
	"ocl/data"
	_ "ocl/data/gofonts" // the typefaces of glyphs
	"ocl/run/build"
	"ocl/run/trained"
)

// TestStreamOfARun: the batches of a run of `ocl run`, given to a trainer with exactly its classes, all added first,
// end in the run's very parameters. Methods that use tasks are told their classes as they come, and not at the begin,
// so their numbers may differ.
func TestStreamOfARun(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"er", "mir", "gss"} {
		m, err := trained.Open(t.Context(), run(t, method, func(c *config.Config) { c.Optimizer.Momentum = 0.5 }),
			trained.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		set, err := data.Open(t.Context(), build.Data(m.Config))
		if err != nil {
			t.Fatal(err)
		}
		s, err := build.NewStream(set, m.Config)
		if err != nil {
			t.Fatal(err)
		}
		o := small(method)
		o.Set, o.Capacity = []string{"network.name=mlp", "network.hidden=16", "optimizer.momentum=0.5"}, m.Info.Classes
		x := trainer(t, o)
		for k := range o.Capacity {
			if _, err := x.AddClass(fmt.Sprint(k)); err != nil {
				t.Fatal(err)
			}
		}
		for task := range s.Info().Tasks {
			for b, err := range s.Train(task) {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := x.Observe(t.Context(), b.Pixels, b.Y); err != nil {
					t.Fatal(err)
				}
			}
			if err := x.Boundary(t.Context()); err != nil {
				t.Fatal(err)
			}
			published(t, x, int64(task))
		}
		if !slices.Equal(x.core.net.Params(), m.Net.Params()) || !slices.Equal(x.core.net.Running(), m.Net.Running()) {
			t.Errorf("%s: the stream of a run ends in other parameters than the run's", method)
		}
	}
}
