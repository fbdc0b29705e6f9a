package identity_test

import (
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/identity"
	"ocl/run/result"
)

// of is the identity of a run with a config.
func of(change func(*config.Config)) identity.Identity {
	c := config.Default()
	c.Methods, c.Eval = []string{"er"}, config.EvalFinal
	change(&c)
	return identity.New(experiment.Schema(), experiment.Schema().Runs(c)[0])
}

// TestParts: each part changes by what it is about, and by nothing else.
func TestParts(t *testing.T) {
	plain := of(func(*config.Config) {})
	seed := uint64(3)
	for name, tt := range map[string]struct {
		change                 func(*config.Config)
		learned, row, measured bool // whether they differ
	}{
		"eval":       {func(c *config.Config) { c.Eval = config.EvalAll }, false, false, true},
		"eval_every": {func(c *config.Config) { c.EvalEvery = 7 }, false, false, true},
		"a further classifier": {func(c *config.Config) { c.Classifiers = []string{"head", "ncm"} }, false, false,
			true},
		"the trick that is a classifier": {func(c *config.Config) { c.Tricks = []string{"ncm"} }, false, false, true},
		"engine":                         {func(c *config.Config) { c.Engine.Kernel = "generic" }, false, false, false},
		"place of the data":              {func(c *config.Config) { c.Data.Dir = "x" }, false, false, false},
		"what another network reads":     {func(c *config.Config) { c.Network.Hidden = []int{3} }, false, false, false},
		"what no trick of the run reads": {func(c *config.Config) { c.Replay.KDCStar = config.KDCStarAuthors }, false, false,
			false},
		"what means the same": {func(c *config.Config) { c.Stream.Shift.Blur = config.BlurPerImage }, false, false,
			false},
		"seed":                           {func(c *config.Config) { c.Seed = 2 }, true, false, false},
		"a separate seed":                {func(c *config.Config) { c.Seeds.Order = &seed }, true, true, false},
		"a trick":                        {func(c *config.Config) { c.Tricks = []string{"lb"} }, true, true, false},
		"memory":                         {func(c *config.Config) { c.Memory = 100 }, true, true, false},
		"learning rate":                  {func(c *config.Config) { c.Optimizer.LR = 0.2 }, true, true, false},
		"first weights":                  {func(c *config.Config) { c.Network.Init = "a" }, true, true, false},
		"first weights, told by digest":  {func(c *config.Config) { c.Network.InitDigest = "sha256:0" }, true, true, false},
		"parent":                         {func(c *config.Config) { c.Parent.Run = "a" }, true, true, false},
		"parent, told by its checkpoint": {func(c *config.Config) { c.Parent.Checkpoint = "sha256:0" }, true, true, false},
	} {
		id := of(tt.change)
		for part, same := range map[string]bool{
			"learned":  tt.learned == (id.Learned().String() != plain.Learned().String()),
			"row":      tt.row == (id.Row().String() != plain.Row().String()),
			"measured": tt.measured == (id.Measured().String() != plain.Measured().String()),
		} {
			if !same {
				t.Errorf("%s: the part %s is wrong:\n%s%s%s", name, part, id.Learned(), id.Row(), id.Measured())
			}
		}
	}
	// Once the digest is known, the name of the file says nothing.
	a := of(func(c *config.Config) { c.Network.Init, c.Network.InitDigest = "a", "sha256:0" })
	if b := of(func(c *config.Config) {
		c.Network.Init, c.Network.InitDigest = "b", "sha256:0"
	}); a.Learned().String() != b.Learned().String() {
		t.Errorf("weights of one digest differ:\n%s%s", a.Learned(), b.Learned())
	}
}

// TestModules: runs of two versions of a method of another module have two keys, and are never seeds of one row.
// Without anything of another module a run keeps the key that it had before modules could register anything.
func TestModules(t *testing.T) {
	plain := of(func(*config.Config) {})
	if got, want := plain.Key(), "399576126928424a5bf7a3f2200dd9b8d584e02e332af8ce2698bc9014d98232"; got != want {
		t.Errorf("the key of a run of this module is %s, want %s", got, want)
	}
	version := func(v string) identity.Identity {
		id := plain
		id.Registered = []config.Registered{{Key: "methods", Name: "er", Module: "example.com/er", Version: v}}
		return id
	}
	one, two := version("v1.0.0"), version("v1.0.1")
	if one.Key() == plain.Key() || one.Key() == two.Key() {
		t.Error("the version of a module is not part of the key")
	}
	if one.Learned().String() == two.Learned().String() || one.Row().String() == two.Row().String() {
		t.Error("runs of two versions have learned the same, or are of one row")
	}
	r := &result.Result{Config: plain.Config, Provenance: result.Provenance{Registered: one.Registered}}
	if got := identity.Of(experiment.Schema(), r).Registered; !slices.Equal(got, one.Registered) {
		t.Errorf("a result has %v, want %v", got, one.Registered)
	}
	avx2, neon, other := plain, plain, plain
	avx2.Kernel, neon.Kernel, other.Kernel = "avx2", "neon", "avx512"
	if avx2.Key() != neon.Key() || avx2.Key() == other.Key() {
		t.Error("the key of a run depends on the kernel set, and not on its bits")
	}
	for _, key := range one.Wider() {
		if slices.Contains(two.Wider(), key) {
			t.Error("a run of one version serves for one of another")
		}
	}
}

// TestRowsOfTunings: tuned runs are one row whatever was chosen, but for another grid, search, number of drawn points
// or of repetitions.
func TestRowsOfTunings(t *testing.T) {
	row := func(lr float64, tuning *result.Tuning) string {
		id := of(func(c *config.Config) { c.Optimizer.LR = lr })
		id.Tuning = tuning
		return id.Row().String()
	}
	tuning := func(change func(*result.Tuning)) *result.Tuning {
		u := &result.Tuning{Grid: "paper", GridDigest: "sha256:0123456789", Search: "random", Repeats: 3,
			Keys: []string{"optimizer.lr"}, Points: make([]result.TuningPoint, 20)}
		change(u)
		return u
	}
	same := func(*result.Tuning) {}
	want := row(0.1, tuning(same))
	if got := row(0.01, tuning(same)); got != want || !strings.Contains(got, "optimizer.lr=tuned\n") ||
		!strings.Contains(got, "grid=paper 01234567\nsearch=random\npoints=20\nrepeats=3\n") {
		t.Errorf("tuned runs are two rows:\n%s\n%s", want, got)
	}
	if row(0.1, nil) == row(0.01, nil) || row(0.1, nil) == want {
		t.Error("runs that were not tuned share a row")
	}
	for name, change := range map[string]func(*result.Tuning){
		"grid":   func(u *result.Tuning) { u.GridDigest = "sha256:1" },
		"search": func(u *result.Tuning) { u.Search = "halving" },
		"points": func(u *result.Tuning) { u.Points = u.Points[:10] }, "repeats": func(u *result.Tuning) { u.Repeats = 1 },
	} {
		if row(0.1, tuning(change)) == want {
			t.Errorf("runs of another %s share a row", name)
		}
	}
}
