package report

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"ocl/config"
	"ocl/run/result"
	"ocl/view/chart"
)

// crowded are more rows than one panel holds, with everything that figures of lines show.
func crowded() (runs []*run) {
	for i, f := range tricked([]string{"agem", "er", "gss", "mir"}, [][]string{nil, {"rv"}}, 1, 4,
		func(f *fake) { f.errors = true }) {
		r := newRun(f.make(), "run")
		for k := range 40 { // in the middle of tasks
			v := math.Abs(math.Sin(float64((i + 1) * k)))
			r.Evaluations = append(r.Evaluations, result.Evaluation{Step: 10 * (k + 1), Task: k / 10, Accuracy: []*float64{&v}})
		}
		runs = append(runs, r)
	}
	return runs
}

// TestEveryLineHasItsName: of many rows, each line of each figure carries its name, on a phone too.
func TestEveryLineHasItsName(t *testing.T) {
	_, figures, _ := newPage(studyOf(crowded(), nil))
	seen := map[string]int{}
	for _, f := range figures {
		if f.Lines == nil {
			continue
		}
		drawings := map[string]*chart.Drawing{"on a screen": chart.Draw(f.Lines, chart.Wide),
			"on a phone": chart.Draw(f.Lines, chart.Narrow)}
		if f.Panels != nil {
			drawings = map[string]*chart.Drawing{}
			for _, p := range f.Panels.Panels {
				drawings["in the panel "+p.Title] = chart.Draw(&chart.Panels{Panels: []chart.Panel{p}}, chart.Small)
				seen[f.ID] += len(p.Lines.Series)
			}
		}
		for where, d := range drawings {
			if !d.Labelled {
				t.Errorf("%s: the lines %s have no names", f.ID, where)
			}
		}
	}
	for id, most := range map[string]int{"anytime": 17, "error-ratio": 2 * maxPanelRows, "logits": 2 * maxPanelRows,
		"predictions": maxPanelRows} {
		if seen[id] < most-2 {
			t.Errorf("%s: %d lines in panels, want about %d", id, seen[id], most)
		}
	}
}

// TestErrorsByRow: more than two rows have a panel each, with a line of the new and one of the old classes; two share
// one.
func TestErrorsByRow(t *testing.T) {
	runs := crowded()
	few := studyOf(runs[:2], nil).settings[0].panel(panels[0])
	if few.Panels != nil || len(few.Lines.Series) != 4 {
		t.Errorf("two rows have %d lines, and panels: %v", len(few.Lines.Series), few.Panels)
	}
	f := studyOf(runs[:3], nil).settings[0].panel(panels[0])
	var got []string
	for _, p := range f.Panels.Panels {
		for _, s := range p.Lines.Series {
			got = append(got, p.Title+": "+s.Label)
		}
	}
	if want := []string{"AGEM 1k: new", "AGEM 1k: old", "AGEM + RV: new", "AGEM + RV: old", "AGEM 5k: new",
		"AGEM 5k: old"}; !slices.Equal(got, want) {
		t.Errorf("the panels have %q, want %q", got, want)
	}
}

// settled are runs of ER that differ in stages that are frozen, and in what is stored, with two rates for MIR.
func settled() (runs []*run) {
	add := func(f fake, change func(*config.Config)) {
		r := f.make()
		change(&r.Config)
		runs = append(runs, newRun(r, "run"))
	}
	er := fake{method: "er", title: "ER", memory: 500, seed: 1, tasks: 3, perTask: 2, level: 0.6, decay: 0.8}
	for _, depth := range []int{0, 3, 4, 5} {
		add(er, func(c *config.Config) { c.Network.Freeze = depth })
	}
	for _, depth := range []int{3, 4, 5} {
		add(er, func(c *config.Config) { c.Network.Freeze, c.Replay.Latent = depth, true })
	}
	for _, lr := range []float64{0.05, 0.1} {
		add(fake{method: "mir", title: "MIR", memory: 500, seed: 1, tasks: 3, perTask: 2, level: 0.5, decay: 0.8},
			func(c *config.Config) { c.Optimizer.LR = lr })
	}
	return runs
}

// TestSettingsHaveALook: rows that differ in settings other than method, tricks and memory have the hue of their
// method, and a mark and a lightness of their own. Their labels say the settings in words, and panels are for a
// setting.
func TestSettingsHaveALook(t *testing.T) {
	st := studyOf(settled(), nil)
	styleVariants(st.rows, []string{"rv", "ncm", "lb"})
	looks := map[string]string{}
	for _, g := range st.rows {
		look := fmt.Sprint(g.methodTitle(), g.style.Light, g.style.Marker)
		if other, ok := looks[look]; ok {
			t.Errorf("%s looks like %s", g.Short, other)
		}
		looks[look] = g.Short
	}
	if g, plain := st.rows[0], lookOfName("er"); g.Short != "ER, no latent, freeze: none" ||
		g.style.Light != plain.Light || g.style.Marker != plain.Marker {
		t.Errorf("the first row is %q with the look %+v, want that of the method", g.Short, g.style)
	}
	for _, c := range []struct {
		runs []*run
		want []string
	}{
		{settled(), []string{"no latent: ER, freeze: none", "no latent: ER, freeze 3", "no latent: ER, freeze 4",
			"no latent: ER, freeze 5", "latent: ER, freeze 3", "latent: ER, freeze 4",
			"latent: ER, freeze 5", "other rows: MIR, lr 0.05", "other rows: MIR, lr 0.1"}},
		{settled()[:7], []string{"no latent: freeze: none", "no latent: freeze 3", "no latent: freeze 4",
			"no latent: freeze 5", "latent: freeze 3", "latent: freeze 4", "latent: freeze 5"}},
	} {
		f := studyOf(c.runs, nil).settings[0].accuracyFigure()
		if f.Panels == nil {
			t.Fatalf("%d rows share one panel", len(f.Lines.Series))
		}
		var got []string
		for _, p := range f.Panels.Panels {
			for _, s := range p.Lines.Series {
				got = append(got, p.Title+": "+s.Label)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("the panels have %q, want %q", got, c.want)
		}
	}
}
