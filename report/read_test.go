package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/experiment/result"
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

func TestBadInput(t *testing.T) {
	good := goodJSON(t)
	change := func(from, to string) string {
		t.Helper()
		if !strings.Contains(good, from) {
			t.Fatalf("the fixture has no %s", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	// want holds what was found, what was wanted and what to do.
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"the file is empty", `want a JSON object of format "ocl-result"`, "repeat the run"}},
		{"truncated", good[:len(good)/2], []string{"no JSON at byte", "want a JSON object", "repeat the run"}},
		{"no JSON", "accuracy: 12", []string{"no JSON at byte 1 of 12", "repeat the run"}},
		{"an array", "[" + good + "]", []string{"array", "want"}},
		{"other format", change(`"format":"ocl-result"`, `"format":"ocl-study"`), []string{`format is "ocl-study", want "ocl-result"`, `"ocl run" wrote`}},
		{"no format", "{}", []string{`format is "", want "ocl-result"`}},
		{"later version", change(`"version":1`, `"version":7,"accuracy":"moved"`), []string{"version is 7, want 1", "the ocl that wrote it"}},
		{"wrong type", change(`"seconds":{"train":`, `"seconds":{"train":"soon","prepare":`), []string{`field "seconds.train"`, "docs/format/result.md"}},
		{"text for a number", change(`"average_accuracy":`, `"average_accuracy":"good","bwt_plus":`), []string{`field "metrics.average_accuracy" holds a string`, "want a number"}},
		{"impossible metric", change(`"average_accuracy":0.`, `"average_accuracy":7.`), []string{"metrics.average_accuracy is 7.", "want a fraction in [0,1]", "repeat the run"}},
		{"half a count", change(`"classes":100`, `"classes":1.5`), []string{`field "stream.classes" holds a number 1.5`, "want a whole number"}},
		{"accuracy above 1", change(`"accuracy":[[`, `"accuracy":[[17.5,`), []string{"accuracy[0]", "want"}},
		{"too many rows", change(`"accuracy":[[`, `"accuracy":[[],[],[],[],[],[],[],[],[],[],[],[`), []string{"accuracy has 21 rows; want at most 10"}},
		{"class out of range", change(`"classes":100`, `"classes":7`), []string{"has class", "want 0 to 6"}},
		{"unknown outcome", change(`"state":"finished"`, `"state":"lost"`), []string{`outcome.state is "lost"; want finished, interrupted or diverged`}},
		{"no method", change(`"name":"er"`, `"name":""`), []string{"method.name is empty"}},
		{"negative seconds", change(`"seconds":{"train":`, `"seconds":{"train":-`), []string{"seconds.train is -"}},
	} {
		dir := write(t, c.text)
		for _, in := range []string{dir, filepath.Join(dir, "run")} {
			_, err := Write([]string{in}, t.TempDir(), Options{})
			if err == nil {
				t.Errorf("%s: no error", c.name)
				continue
			}
			for _, w := range append(c.want, filepath.Join(dir, "run", "result.json"), "report: ") {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%s: error is\n%v\nwithout %q", c.name, err, w)
				}
			}
		}
	}
}

func TestBadFolders(t *testing.T) {
	empty := t.TempDir()
	pending := t.TempDir()
	if err := os.MkdirAll(filepath.Join(pending, "er-m500-s1", "checkpoint"), 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(write(t, goodJSON(t)), "run", "result.json")
	for _, c := range []struct {
		dirs []string
		want string
	}{
		{nil, "no folder given"},
		{[]string{filepath.Join(empty, "nowhere")}, "nowhere: no such file or directory; want an experiment folder or a run folder"},
		{[]string{empty}, `no result.json in it or in the folders in it; want an experiment folder or a run folder; write one with "ocl run --out `},
		{[]string{pending}, `1 run begun, none with a result.json yet; want one that ended or was stopped; wait for one that is at work, or continue with "ocl run --resume `},
		{[]string{file}, "is a file; want an experiment folder"},
	} {
		_, err := Write(c.dirs, "", Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error is %v, want %q", c.dirs, err, c.want)
		}
	}
}

func TestUnreadableResult(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run", "result.json")
	// A folder of that name cannot be read as a file, whoever the user is.
	if err := os.MkdirAll(path, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := Write([]string{dir}, "", Options{})
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("error is %v, want one that names %s", err, path)
	}
}

func TestRunsWithoutResultAreSaid(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, pair(1))
	if err := os.MkdirAll(filepath.Join(dir, "er-m500-s9", "checkpoint"), 0o777); err != nil {
		t.Fatal(err)
	}
	page := writePage(t, []string{dir}, t.TempDir())
	if !strings.Contains(page, "er-m500-s9 has no result.json yet") {
		t.Error("the page does not say that er-m500-s9 has no result")
	}
}

func TestSeedIsExact(t *testing.T) {
	r := newRun(&result.Result{Config: json.RawMessage(`{"seed":9007199254740993}`)}, "")
	if r.seed != 9007199254740993 {
		t.Errorf("seed is %d", r.seed)
	}
}

// FuzzParse holds that no bytes make the reader or the page panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte(goodJSON(f)))
	f.Add([]byte(`{"format":"ocl-result","version":1,"method":{"name":"er"},"outcome":{"state":"finished"}}`))
	f.Add([]byte(`{"format":"ocl-result","version":1,"config":[1],"method":{"name":"er"},"stream":{"scenario":"domain-incremental","tasks":[{},{}]},"accuracy":[[0.5],null],"memory":{"class_counts":[null]},"outcome":{"state":"diverged"}}`))
	f.Add([]byte(`{"format":"ocl-result","version":1,"method":{"name":"er"},"stream":{"classes":3,"tasks":[{"index":4},{"index":5}]},"accuracy":[null,[null,1]],"accuracy_per_class":[[],[1]],"outcome":{"state":"interrupted"}}`))
	f.Add([]byte(`{"format":"ocl-result","version":1,"method":{"name":"er"},"stream":{"classes":3,"tasks":[{"classes":[1,1]},{"index":5,"classes":[2]}]},"error_analysis":{"tasks":[{"task":1,"confusion":[[1]],"predictions":null,"logits":{"new_own":1e308,"old_own":-1e308},"head":{}}],"confusion":[[],[0,1]]},"outcome":{"state":"finished"}}`))
	f.Add([]byte(`{"format":"ocl-result","version":1,"method":{"name":"er"},"stream":{"tasks":[{},{}]},"classifiers":{"":{"accuracy":[[1]],"error_analysis":{"tasks":null}},"x":{"error_analysis":{"tasks":[{}]}}},"outcome":{"state":"finished"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		res, err := parse("result.json", bytes.NewReader(b))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "report: result.json: ") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		p, _, _ := newPage(newStudy([]*run{newRun(res, "")}, nil))
		html, err := render(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := wellFormed(string(html)); err != nil {
			t.Errorf("the page is not well formed: %v", err)
		}
		if err := Table(new(bytes.Buffer), []*result.Result{res}, TableOptions{}); err != nil {
			t.Fatal(err)
		}
	})
}
