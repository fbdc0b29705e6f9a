package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoss: the loss is that of the events beside the results, in parts of the run of which each is a mean; runs
// without events, with those of another run and without a loss have none, and a long run has no more points than a
// short one.
func TestLoss(t *testing.T) {
	dir := t.TempDir()
	fakes := []fake{{method: "er", title: "ER", memory: 500, seed: 1, level: .5, decay: .5},
		{method: "er", title: "ER", memory: 500, seed: 2, level: .5, decay: .5},
		{method: "mir", title: "MIR", memory: 500, seed: 1, level: .5, decay: .5},
		{method: "gss", title: "GSS", memory: 500, seed: 1, level: .5, decay: .5}}
	save(t, dir, fakes)
	events := func(f fake, key string, steps int, loss func(step int) float64) {
		var b strings.Builder
		fmt.Fprintf(&b, `{"time":"2026-11-28T19:00:00.000Z","event":"run","format":"ocl-events","version":1,"key":%q}`+"\n",
			key)
		for i := range steps {
			fmt.Fprintf(&b, `{"time":"2026-11-28T19:00:00.000Z","event":"step","step":%d,"task":0,"loss":%v}`+"\n", i+1,
				loss(i+1))
		}
		if err := os.WriteFile(filepath.Join(dir, f.folder(), "events.jsonl"), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	figureOf := func() *figure {
		read, err := readAll(t.Context(), []string{dir}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return read.study(Options{Known: methods}).settings[0].lossFigure()
	}
	if f := figureOf(); f != nil {
		t.Errorf("without events there is a figure of %d lines", len(f.Lines.Series))
	}
	events(fakes[0], "", 1000, func(step int) float64 { return float64(step) })
	events(fakes[1], "", 1000, func(step int) float64 { return float64(step) + 10 })
	events(fakes[2], "of another run", 1000, func(int) float64 { return 1 })
	events(fakes[3], "", 1000, func(int) float64 { return 0 })
	mir := filepath.Join(dir, fakes[2].folder(), "result.json")
	text, err := os.ReadFile(mir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mir, []byte(strings.Replace(string(text), `"version": 1,`,
		`"version": 1, "key": "`+strings.Repeat("ab", 32)+`",`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	f := figureOf()
	if f == nil || len(f.Lines.Series) != 1 {
		t.Fatalf("the figure is %+v, want one line", f)
	}
	s := f.Lines.Series[0]
	if n := len(s.Y); n > maxLossPoints || s.X[n-1] != 1000 || len(s.Single) != 2 || f.Lines.XMax != 1000 {
		t.Errorf("%d points up to step %d of %d runs", n, s.X[n-1], len(s.Single))
	}
	for i, y := range s.Y {
		if from := 0; i > 0 && (y < float64(s.X[i-1]) || y > float64(s.X[i])+10) {
			t.Errorf("the mean loss of the steps %d to %d is %v", from, s.X[i], y)
		}
		if d := s.Single[1][i] - s.Single[0][i]; d < 9.99 || d > 10.01 {
			t.Errorf("the runs are %v apart, want 10", d)
		}
	}
	for _, want := range []string{"each point is the mean of the recorded losses of at most 17 steps",
		"GSS and MIR: no loss, or none was recorded.", "cannot be compared"} {
		if !strings.Contains(f.Caption, want) {
			t.Errorf("the caption lacks %q: %s", want, f.Caption)
		}
	}
	events(fakes[0], "", 1000, func(step int) float64 { return 2 })
	if err := os.WriteFile(filepath.Join(dir, fakes[1].folder(), "events.jsonl"), []byte("no events\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if f := figureOf(); f == nil || f.Lines.Series[0].Y[0] != 2 {
		t.Error("a damaged file of one run hides the loss of another")
	}
}
