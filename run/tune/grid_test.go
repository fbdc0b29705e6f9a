package tune

import (
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/internal/fuzztest"
	"ocl/learn/method"
	"ocl/run/experiment"
	"ocl/survey"
)

// runOf is a run of a method on a data set.
func runOf(name, data string) config.Config {
	c := config.Default()
	c.Methods, c.Data.Name = []string{name}, data
	return experiment.Schema().Runs(c)[0]
}

// TestCounts compares the grids with the numbers of points in the authors' files and in table:hyper.
func TestCounts(t *testing.T) {
	for _, tt := range []struct {
		method, data   string
		paper, authors int // 0 is no grid
	}{
		{"er", "cifar100", 28, 28}, {"agem", "cifar100", 28, 28}, {"icarl", "cifar100", 28, 28}, {"lwf", "cifar100", 28, 28},
		{"finetune", "cifar100", 28, 28}, {"mir", "cifar100", 24, 24}, {"gss", "cifar100", 24, 24}, {"gss", "core50", 24, 18},
		{"ewc++", "mini-imagenet", 24, 24}, {"gdumb", "cifar100", 6, 6}, {"offline", "cifar100", 0, 6},
		{"cndpm", "cifar100", 36, 36}, {"cndpm", "mini-imagenet", 27, 27}, {"cndpm", "core50", 24, 12},
	} {
		for name, want := range map[string]int{Paper: tt.paper, Authors: tt.authors} {
			g, err := Named(name, runOf(tt.method, tt.data))
			switch {
			case want == 0 && err == nil:
				t.Errorf("%s has a grid %s of %d points, want none", tt.method, name, g.Count())
			case want == 0:
			case err != nil:
				t.Errorf("%s: %v", tt.method, err)
			case g.Count() != want || len(g.Points()) != want:
				t.Errorf("%s on %s, grid %s: %d points, %d listed, want %d", tt.method, tt.data, name, g.Count(), len(g.Points()),
					want)
			}
		}
	}
}

// TestEveryMethodHasAGrid: each value of each grid can be set, is read by the method, and is in the form in which
// configs write it.
func TestEveryMethodHasAGrid(t *testing.T) {
	schema := experiment.Schema()
	for _, info := range method.Catalogue() {
		run := runOf(info.Name, "cifar100")
		g, err := Named(Authors, run)
		if err != nil {
			t.Errorf("%s: %v", info.Name, err)
			continue
		}
		grids := []Grid{g}
		if p, err := Named(Paper, run); err == nil {
			grids = append(grids, p)
		}
		for _, g := range grids {
			for _, a := range g.Axes {
				if !reads(run, a.Key) || !isTunable(a.Key) {
					t.Errorf("%s, grid %s: %s is not read, or cannot be tuned", info.Name, g.Name, a.Key)
				}
				for _, v := range a.Values {
					if got, err := conform(schema, a.Key, v); err != nil || got != v {
						t.Errorf("%s, grid %s: %s %s is %s in a config (%v)", info.Name, g.Name, a.Key, v, got, err)
					}
				}
			}
		}
	}
}

// TestPaperIsTheTable compares the grid paper with table:hyper, as package survey has it.
func TestPaperIsTheTable(t *testing.T) {
	titles := map[string]string{"EWC++": "ewc++", "LwF": "lwf", "ER": "er", "MIR": "mir", "GSS": "gss", "iCaRL": "icarl",
		"A-GEM": "agem", "GDumb": "gdumb",
		"CN-DPM": "cndpm"}
	keys := map[string]string{"LR": "optimizer.lr", "WD": "optimizer.weight_decay", "lambda": "method.ewc++.lambda",
		"C": "method.mir.candidates", "n": "method.gss.subset_size",
		"cc": "method.cndpm.classifier_chill", "alpha": "method.cndpm.log_alpha"}
	schema, compared := experiment.Schema(), 0
	for _, row := range survey.Grids() {
		name, key := titles[row.Method], keys[row.Parameter]
		run := runOf(name, "cifar100")
		switch row.Dataset {
		case "Mini-ImageNet", "NS-MiniImageNet":
			run.Data.Name = "mini-imagenet"
			if row.Dataset == "NS-MiniImageNet" {
				run.Stream.Shift.Kind = "noise"
			}
		case "CORe50-NC", "CORe50-NI":
			run.Data.Name = "core50"
			if row.Dataset == "CORe50-NI" {
				run.Stream.Kind = config.KindDomains
			}
		}
		g, err := Named(Paper, run)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(g.Axes, func(a Axis) bool { return a.Key == key })
		if i < 0 {
			t.Errorf("%s: no values of %s", name, key)
			continue
		}
		var want []string
		for _, v := range row.Values {
			text, err := conform(schema, key, v)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, text)
		}
		if !slices.Equal(g.Axes[i].Values, want) {
			t.Errorf("%s: %s is %v, and table:hyper has %v", name, key, g.Axes[i].Values, want)
		}
		compared++
	}
	if compared != 34 {
		t.Errorf("%d rows are compared, want 34", compared)
	}
}

// TestOrder: keys are sorted, and the last one changes fastest.
func TestOrder(t *testing.T) {
	g, err := ParseGrid("g.yaml",
		[]byte("optimizer.weight_decay: [0.1, 1e-2]\nmethod.mir.candidates: [25, 50]\noptimizer.lr: [3e-1]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range g.Points() {
		got = append(got, pointText(g, p))
	}
	want := []string{
		"candidates 25, lr 0.3, weight_decay 0.1", "candidates 25, lr 0.3, weight_decay 0.01",
		"candidates 50, lr 0.3, weight_decay 0.1", "candidates 50, lr 0.3, weight_decay 0.01",
	}
	if !slices.Equal(got, want) {
		t.Errorf("points:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	other := g
	other.Name = "other"
	if g.Digest() != other.Digest() {
		t.Error("the name of a grid changes its digest")
	}
	other.Axes = slices.Clone(g.Axes)
	other.Axes[1] = Axis{"optimizer.lr", []string{"0.03"}}
	if g.Digest() == other.Digest() {
		t.Error("another value leaves the digest as it is")
	}
}

func TestGridFaults(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "the file has no keys"},
		{"[1]", "line 1: cannot unmarshal !!seq"},
		{"a: [", "the file is not YAML"},
		{"a: [1]\n---\nb: [1]\n", "several YAML documents"},
		{"optimizer.lr:\n- 1\n- 2\n- x", "g.yaml:4: "},
		{"optimizer.lr: [1]\noptimizer.rl: [1]", "g.yaml:2: unknown key optimizer.rl. Did you mean optimizer.lr"},
		{"lr: [1]", "g.yaml:1: unknown key lr. Did you mean optimizer.lr? `ocl config keys` lists all keys"},
		{"optimizer.epochs: [1]",
			"g.yaml:1: unknown key optimizer.epochs. Did you mean method.gdumb.epochs or method.offline.epochs? `"},
		{"optimizer.nesterov: [1]", "g.yaml:1: unknown key optimizer.nesterov. `ocl config keys` lists all keys"},
		{"network.lr: [1]", "g.yaml:1: unknown key network.lr. Did you mean optimizer.lr? `"},
		{"method.mri.candidates: [1]", "g.yaml:1: unknown key method.mri.candidates. Did you mean method.mir.candidates? `"},
		{"memory: [100]", "memory cannot be tuned"},
		{"network.name: [mlp]", "network.name cannot be tuned"},
		{"optimizer.lr: 0.1", "line 1: cannot unmarshal !!float `0.1` into a list"},
		{"optimizer.lr: []", "optimizer.lr has 0 values, but 1 to 1000 are possible"},
		{"optimizer.lr: [[1]]", "a value of optimizer.lr is not a number or a word"},
		{"optimizer.lr: [null]", "a value of optimizer.lr is not a number or a word"},
		{"optimizer.lr: [fast]", "optimizer.lr cannot be fast"},
		{"optimizer.lr: [0.01, 1e-2]", "optimizer.lr has the value 0.01 twice"},
		{"optimizer.lr: [1]\noptimizer.lr: [2]", "already defined at line 1"},
		{"method.mir.candidates: [1.5]", "method.mir.candidates cannot be 1.5"},
	} {
		_, err := ParseGrid("g.yaml", []byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// TestGridOfAMethod: a file may serve several methods, and each takes what it reads.
func TestGridOfAMethod(t *testing.T) {
	g, err := ParseGrid("g.yaml", []byte("optimizer.lr: [0.1]\nmethod.mir.candidates: [25, 50]\n"))
	if err != nil {
		t.Fatal(err)
	}
	er, mir := runOf("er", "cifar100"), runOf("mir", "cifar100")
	for _, tt := range []struct {
		run   config.Config
		count int
	}{{er, 1}, {mir, 2}} {
		if of, err := g.For(tt.run); err != nil || of.Count() != tt.count {
			t.Errorf("%s: %d points, %v; want %d", tt.run.Methods[0], of.Count(), err, tt.count)
		}
	}
	if err := g.CheckRead([]config.Config{er}); err == nil ||
		!strings.Contains(err.Error(), "none of the methods reads method.mir.candidates") {
		t.Errorf("er alone: %v", err)
	}
	if err := g.CheckRead([]config.Config{er, mir}); err != nil {
		t.Error(err)
	}
	if _, err := (Grid{Name: "x", Axes: []Axis{{"network.width",
		[]string{"20"}}}}).For(func() config.Config { c := er; c.Network.Name = "mlp"; return c }()); err == nil {
		t.Error("the width of another network is tuned")
	}
}

func FuzzParseGrid(f *testing.F) {
	f.Add([]byte("optimizer.lr: [0.01, 1e-1]\nmethod.mir.candidates: [25, 50]\n"))
	f.Add([]byte(`{"optimizer.weight_decay": [0, 1e-7], "replay.joint": [true, false]}`))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("network.hidden: [\"16,32\", 8]\n\"\\x1b\": [1]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var g Grid
		var err error
		most := uint64(4<<20 + 4000*len(text))
		if n := fuzztest.Allocated(most, func() { g, err = ParseGrid("grid.yaml", text) }); n > most {
			t.Fatalf("%d bytes were allocated for a file of %d", n, len(text))
		}
		if err != nil {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Fatalf("a message has raw bytes of the file: %q", err)
			}
			return
		}
		var again strings.Builder
		for _, a := range g.Axes {
			again.WriteString(a.Key + ": [")
			for i, v := range a.Values {
				again.WriteString([]string{"", ", "}[min(i, 1)] + "'" + strings.ReplaceAll(v, "'", "''") + "'")
			}
			again.WriteString("]\n")
		}
		h, err := ParseGrid("grid.yaml", []byte(again.String()))
		if err != nil || h.Digest() != g.Digest() {
			t.Fatalf("%q is read as %v, and written again as %q: %v", text, g, again.String(), err)
		}
	})
}
