package report

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"ocl/internal/fuzztest"
	"ocl/run/result"
)

// write puts text into DIR/run/result.json and returns DIR.
func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "run"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run", "result.json"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

func goodJSON(t testing.TB) string {
	b, err := json.Marshal(pair(1)[1].make())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestNothingReadable: a report of nothing is not written, and the error says of each file what is wrong with it.
func TestNothingReadable(t *testing.T) {
	dir := write(t, "accuracy: 12")
	for _, in := range []string{dir, filepath.Join(dir, "run")} {
		out := filepath.Join(t.TempDir(), "out")
		w, err := Write(t.Context(), []string{in}, out, Options{Known: methods})
		if w != nil || err == nil || errors.Is(err, ErrLeftOut) || !errors.Is(err, result.ErrDamaged) {
			t.Fatalf("%v, %v", w, err)
		}
		for _, want := range []string{"report: no result can be used", filepath.Join(dir, "run", "result.json"),
			"not a whole JSON file"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error is\n%v\nwithout %q", err, want)
			}
		}
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the folder of a report that is not written: %v", err)
		}
	}
}

// TestLeftOut: what cannot be read is named on the page and by the error, and the rest is drawn.
func TestLeftOut(t *testing.T) {
	dir := t.TempDir()
	copied(t, dir, "er-s1", "errors/er-m5000-s1-seen.json.gz")
	edited := fake{method: "er", title: "ER", memory: 500, seed: 2, tasks: 3, perTask: 2, level: 0.5, decay: 0.5}.make()
	*edited.Metrics.AverageAccuracy += 0.1
	changed, err := result.Encode(edited)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"damaged": `{"format":"ocl-result","version":1,"config":"\u001b[31m"`,
		"newer": `{"format":"ocl-result","version":2}`, "edited": string(changed)} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "result.json"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Write(t.Context(), []string{dir}, "", Options{Known: methods})
	if w == nil || !errors.Is(err, ErrLeftOut) || !errors.Is(err, result.ErrDamaged) || !errors.Is(err, result.ErrNewer) ||
		!errors.Is(err, result.ErrEdited) {
		t.Fatalf("%v, %v", w, err)
	}
	if !strings.HasPrefix(err.Error(), "report: some results are left out: 3 of 4 results cannot be used\n") {
		t.Errorf("error is %v", err)
	}
	page, err := os.ReadFile(w.Page)
	if err != nil {
		t.Fatal(err)
	}
	checkPage(t, string(page), dir)
	for _, name := range []string{"damaged", "newer", "edited"} {
		path := filepath.Join(dir, name, "result.json")
		if !strings.Contains(string(page), path+" is left out: ") {
			t.Errorf("the page does not say that %s is left out", path)
		}
		if !slices.ContainsFunc(w.LeftOut, func(l LeftOut) bool { return l.Path == path && l.Reason != "" }) {
			t.Errorf("%v lacks %s", w.LeftOut, path)
		}
	}
	if len(w.Rows) != 2 || w.Rows[0].Method != "er" {
		t.Errorf("rows %+v, want ER's two", w.Rows)
	}
}

// copied puts a committed result into a run folder.
func copied(t testing.TB, dir, run, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "survey", "results", "cifar100", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, run), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, run, "result.json.gz"), text, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestBadFolders(t *testing.T) {
	empty := t.TempDir()
	pending := t.TempDir()
	if err := os.MkdirAll(filepath.Join(pending, "er-m500-s1", "checkpoint"), 0o777); err != nil {
		t.Fatal(err)
	}
	exp := filepath.Join(t.TempDir(), "exp.yaml")
	if err := os.WriteFile(exp, []byte("seed: 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(filepath.Dir(exp), "first"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(exp), "first", "experiment.yaml"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dirs []string
		want string
	}{
		{nil, "no folder is given"},
		{[]string{filepath.Join(empty, "nowhere")},
			"nowhere: no such file or directory. Give the folder of an experiment or a run"},
		{[]string{empty}, `there is no result.json in it or in its folders. Give the folder of an experiment, of a run or of compressed results; "ocl run --out `},
		{[]string{pending},
			`1 run has begun, but none has a result.json yet. Wait until a run has ended, or continue with "ocl run --resume `},
		{[]string{exp}, "not a whole JSON file"},
		{[]string{filepath.Dir(exp)}, "its folders are experiments. Give them instead, such as "},
	} {
		_, err := Write(t.Context(), c.dirs, "", Options{Known: methods})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error is %v, want %q", c.dirs, err, c.want)
		}
	}
}

// TestCompressedResults: a report is written of a file, of a folder of compressed files, and of run folders whose
// result is compressed; the command that repeats a run names the file.
func TestCompressedResults(t *testing.T) {
	pack := func(path, text string) {
		t.Helper()
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	dir, experiment := t.TempDir(), t.TempDir()
	one := filepath.Join(dir, "er-m500-s1.json.gz")
	pack(one, goodJSON(t))
	pack(filepath.Join(dir, "er-m500-s2.json.gz"), strings.Replace(goodJSON(t), `"seed":1`, `"seed":2`, 1))
	pack(filepath.Join(experiment, "er-m500-s1", "result.json.gz"), goodJSON(t))
	if err := os.WriteFile(filepath.Join(dir, "notes.json"), []byte("{}"), 0o666); err != nil { // it is no result
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, page string
		runs       int
		command    string
	}{
		{dir, filepath.Join(dir, "report.html"), 2, "ocl run --config " + quote(one) + " --out " + quote(dir) +
			"-er-m500-s1-again"},
		{one, filepath.Join(dir, "report.html"), 1, "ocl run --config " + quote(one) + " --out " + quote(dir) +
			"-er-m500-s1-again"},
		{experiment, filepath.Join(experiment, "report.html"), 1,
			"er-m500-s1/result.json.gz --out " + quote(experiment) + "-er-m500-s1-again"},
	} {
		w, err := Write(t.Context(), []string{c.path}, "", Options{Known: methods})
		if err != nil {
			t.Fatal(err)
		}
		if w.Page != c.page || len(w.Rows) != 1 || w.Rows[0].Runs != c.runs {
			t.Errorf("%s: %s with %+v, want %s with a row of %d runs", c.path, w.Page, w.Rows, c.page, c.runs)
		}
		page, err := os.ReadFile(w.Page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), c.command) {
			t.Errorf("%s: the page lacks %q", c.path, c.command)
		}
	}
}

func TestRunsWithoutResultAreSaid(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, pair(1))
	if err := os.MkdirAll(filepath.Join(dir, "er-m500-s9", "checkpoint"), 0o777); err != nil {
		t.Fatal(err)
	}
	read, err := readAll(t.Context(), []string{dir}, nil)
	if err != nil || len(read.notes) != 1 || !strings.Contains(read.notes[0], "er-m500-s9 has no result.json yet") {
		t.Error("the page does not say that er-m500-s9 has no result")
	}
}

// FuzzPage holds that no result that can be read makes the page or the table panic. It changes results of all kinds: of
// bytes that are drawn none is a result.
func FuzzPage(f *testing.F) {
	var bases [][]byte
	small := fake{method: "er", memory: 20, seed: 1, tasks: 4, perTask: 2, level: 0.5, decay: 0.8, errors: true}
	for _, name := range slices.Sorted(maps.Keys(oddities)) {
		r := small.make()
		oddities[name](r)
		text, err := result.Encode(r)
		if err != nil {
			f.Fatalf("%s: %v", name, err)
		}
		bases = append(bases, text)
		f.Add([]byte{byte(len(bases))})
	}
	text, err := result.Encode(small.make())
	if err != nil {
		f.Fatal(err)
	}
	bases = append([][]byte{text}, bases...)
	f.Add([]byte{0, 1, 40, 0, 0, 9})
	f.Add([]byte{3, 0, 200, 0, 3, 90, 0, 1, 7})
	f.Fuzz(func(t *testing.T, b []byte) {
		choices := fuzztest.Of(b)
		base, beside := bases[choices.Below(len(bases))], choices.Byte()%2 == 1
		text := fuzztest.JSON(base, choices)
		res, err := result.Parse(text)
		if err != nil {
			return
		}
		results := []*result.Result{res}
		if beside {
			results = append(results, small.make())
		}
		var runs []*run
		for _, r := range results {
			runs = append(runs, newRun(r, ""))
		}
		p, _, _ := newPage(studyOf(runs, nil))
		html := render(p)
		if err := wellFormed(string(html)); err != nil {
			t.Errorf("the page is not well formed: %v", err)
		}
		if m := noNumber.FindIndex(html); m != nil && !noNumber.Match(text) {
			t.Errorf("the page shows %q", html[max(0, m[0]-100):min(len(html), m[1]+20)])
		}
		var table bytes.Buffer
		if err := Table(&table, results, Options{Known: methods}, 0); err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsFunc(table.Bytes(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
			t.Errorf("the table shows a terminal what a file holds raw: %q", table.Bytes())
		}
	})
}
