package runs

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ocl/internal/fuzztest"
	"ocl/run/result"
)

// listing is an event file as text, a line for each event. Images are checked and shown by their size.
func listing(t *testing.T, file string) string {
	t.Helper()
	events, err := parseBoard([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range events {
		at := time.UnixMicro(int64(e.WallTime * 1e6)).UTC().Format("15:04:05.000")
		fmt.Fprintf(&b, "%s %s", at, e.Version)
		if e.Version == "" {
			fmt.Fprintf(&b, "%s %d ", e.Tag, e.Step)
		}
		switch {
		case len(e.Floats) > 0:
			fmt.Fprint(&b, e.Floats[0])
		case len(e.Strings) == 3:
			image, err := png.Decode(bytes.NewReader(e.Strings[2]))
			if err != nil {
				t.Errorf("%s: %v", e.Tag, err)
				continue
			}
			size := image.Bounds().Size()
			if fmt.Sprint(size.X, size.Y) != fmt.Sprintf("%s %s", e.Strings[0], e.Strings[1]) {
				t.Errorf("%s: the size is given as %s, %s, but is %v", e.Tag, e.Strings[0], e.Strings[1], size)
			}
			b.WriteString("image")
		}
		if e.Plugin != "" {
			fmt.Fprintf(&b, "\n\t%s: %s: %s", e.Plugin, e.Name, e.Help)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestBoardHasTheCharts compares the event file of a small run with one that was checked by hand.
func TestBoardHasTheCharts(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "er-s7")
	put(t, folder, small(), journal)
	logdir, err := Tensorboard(t.Context(), folder, "")
	if err != nil || logdir != filepath.Join(folder, "tensorboard") {
		t.Fatal(logdir, err)
	}
	path := filepath.Join(logdir, "er-s7", "events.out.tfevents.1795342530.ocl.0a0a0a0a")
	first := read(t, path)
	golden(t, "small.board.txt", listing(t, first))
	if _, err := Tensorboard(t.Context(), folder, ""); err != nil || read(t, path) != first {
		t.Errorf("the second file differs from the first, %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files, %v; want one", len(entries), err)
	}
}

// TestBoardWithoutEvents: what was measured is at the end of the run.
func TestBoardWithoutEvents(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "er")
	put(t, folder, small(), "")
	file, err := Tensorboard(t.Context(), folder, filepath.Join(folder, "x.tfevents"))
	if err != nil {
		t.Fatal(err)
	}
	begin := "10:15:30.000 brain.Event:2\n"
	list, ok := strings.CutPrefix(listing(t, read(t, file)), begin)
	if !ok {
		t.Errorf("the file does not begin with %q", begin)
	}
	for line := range strings.Lines(list) {
		if !strings.HasPrefix(line, "10:15:34.000 ") && !strings.HasPrefix(line, "\t") {
			t.Errorf("another time in %q", line)
		}
	}
}

// TestConfusions: rows are shares of their samples, and classes are in the order of the stream: 2, 0, 1, 3.
func TestConfusions(t *testing.T) {
	r := &Run{Name: "er", Result: small()}
	all := r.pictures("ncm", r.Result.ErrorAnalysis)
	want := [][][]float64{
		{{1, 0}},
		{{0.625, 0.375, 0}, {0.125, 0.875, 0}},
		{{0.5, 0.25, 0.25, 0}, {0, 0.5, 0.5, 0}, {0, 0, 1, 0}, {0, 0.25, 0, 0.75}},
	}
	if len(all) != len(want) {
		t.Fatalf("%d pictures, want %d", len(all), len(want))
	}
	for i, p := range all {
		if d := cmp.Diff(want[i], p.heat.V); d != "" {
			t.Errorf("%s: %s", p.title, d)
		}
	}
	last := all[2]
	if last.series.Tag != "confusion-ncm/by_class" || last.title != "er, ncm, after task 2" || last.task != 1 {
		t.Errorf("the last is %q, %q, of task %d", last.series.Tag, last.title, last.task)
	}
	if want := []string{"2", "0", "1", "3"}; !slices.Equal(last.heat.Rows, want) || !slices.Equal(last.heat.Cols, want) {
		t.Errorf("rows %q and columns %q, want %q", last.heat.Rows, last.heat.Cols, want)
	}
	if v := result.Shares([][]int{{0, 0}}, []int{0, 1}, []int{1}); !math.IsNaN(v[0][0]) || !math.IsNaN(v[1][0]) {
		t.Errorf("shares of no samples are %v", v)
	}
}

// TestBoardOfOneTestSet: the accuracy on the test set of all tasks is one chart, without a number of a task.
func TestBoardOfOneTestSet(t *testing.T) {
	r := small()
	r.Stream.Scenario, r.Stream.CommonTest, r.Evaluations, r.Classifiers, r.ErrorAnalysis = "domain-incremental", true,
		nil, nil, nil
	r.Accuracy = [][]*float64{{share(0.5)}, {share(0.75)}}
	r.Metrics = result.MetricsOf(r.Accuracy, true, nil)
	folder := t.TempDir()
	put(t, folder, r, "")
	file, err := Tensorboard(t.Context(), folder, filepath.Join(folder, "x.tfevents"))
	if err != nil {
		t.Fatal(err)
	}
	list := listing(t, read(t, file))
	for _, want := range []string{"accuracy/accuracy 2 0.75\n", "metrics/average_accuracy 1 0.5\n",
		"metrics/average_accuracy 2 0.75\n", "memory/task_2 2 3\n"} {
		if !strings.Contains(list, want) {
			t.Errorf("%q is missing in\n%s", want, list)
		}
	}
	for _, no := range []string{"accuracy/task", "learning_accuracy"} {
		if strings.Contains(list, no) {
			t.Errorf("tasks have test sets of their own: %s in\n%s", no, list)
		}
	}
}

// TestRefusedBoards: what cannot be exported is named, with what to do, and a run is not mixed with another.
func TestRefusedBoards(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, filepath.FromSlash(s)) }
	put(t, name("two/a"), small(), "")
	put(t, name("two/b"), small(), "")
	other := small()
	other.Key = strings.Repeat("0b", 32)
	put(t, name("other/a"), other, "")
	if _, err := Tensorboard(t.Context(), name("two"), name("log")); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx             context.Context
		path, out, want string
	}{
		{t.Context(), name("two/b/nowhere"), "", "Give the folder of an experiment or a run"},
		{t.Context(), name("two"), name("one.tfevents"),
			"it is one file, but " + name("two") + " has 2 runs. Use -o with a folder"},
		{t.Context(), name("two/a"), name("two/a/result.json"),
			`TensorBoard reads only files with "tfevents" in their names`},
		{t.Context(), name("other"), name("log"),
			`it has "events.out.tfevents.1795342530.ocl.0a0a0a0a" of another run. Remove that file, or choose another folder with -o`},
		{ended, name("two/a"), name("ended"), "context canceled"},
	} {
		if _, err := Tensorboard(c.ctx, c.path, c.out); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s to %q: error is %v, want %q", c.path, c.out, err, c.want)
		}
	}
	for pattern, want := range map[string]int{"log/*/*": 2, "ended/*/*": 0} {
		if files, err := filepath.Glob(name(pattern)); err != nil || len(files) != want {
			t.Errorf("%s has %v, %v; want %d files", pattern, files, err, want)
		}
	}
}

// FuzzRun checks that nothing in files that can be read makes an export panic, or gives what has no name. It
// draws nothing, which would take its time.
func FuzzRun(f *testing.F) {
	text, err := result.Encode(small())
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	f.Add([]byte{1, 40, 0, 0, 9})
	f.Add([]byte{0, 200, 0, 3, 90, 0, 1, 7})
	f.Fuzz(func(t *testing.T, b []byte) {
		choices := fuzztest.Of(b)
		changed, events := text, []byte(journal)
		if choices.Byte()%2 == 1 {
			events = fuzztest.Bytes(events, choices)
		} else {
			changed = fuzztest.JSON(text, choices)
		}
		folder := t.TempDir()
		for name, text := range map[string][]byte{"result.json": changed, "events.jsonl": events} {
			if err := os.WriteFile(filepath.Join(folder, name), text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var r *Run
		var err error
		most := uint64(100*(len(changed)+len(events)) + 4<<20) // a line of the journal may have a megabyte
		if n := fuzztest.Allocated(most, func() {
			r, err = Open(result.Source{Path: filepath.Join(folder, "result.json"), Folder: folder})
		}); n > most {
			t.Fatalf("%d bytes are allocated for files of %d and %d", n, len(changed), len(events))
		}
		if err != nil {
			return
		}
		if err := r.Each(func(v Value) error {
			q, known := quantityOf[v.Quantity]
			if s, _ := r.series(v); !known || math.IsNaN(v.Value) || q.group != "" &&
				(s.Name == "" || !strings.HasPrefix(s.Tag, q.group)) {
				t.Errorf("%+v is in %+v", v, s)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for name, c := range r.classifiers() {
			for _, p := range r.pictures(name, c.ErrorAnalysis) {
				for _, v := range slices.Concat(p.heat.V...) {
					if v < 0 || v > 1 {
						t.Errorf("%s has the share %v", p.title, v)
					}
				}
			}
		}
		if err := r.lines(t.Context(), csv.NewWriter(io.Discard)); err != nil {
			t.Error(err)
		}
	})
}
