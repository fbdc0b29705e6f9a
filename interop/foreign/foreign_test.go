package foreign

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"ocl/internal/fuzztest"
	"ocl/internal/limit"
	"ocl/run/result"
)

// plainly is a matrix with NaN where nothing was measured.
func plainly(m [][]*float64) [][]float64 {
	var out [][]float64
	for _, row := range m {
		var v []float64
		for _, p := range row {
			if p == nil {
				v = append(v, math.NaN())
				continue
			}
			v = append(v, *p)
		}
		out = append(out, v)
	}
	return out
}

var nan = math.NaN()

func TestRead(t *testing.T) {
	triangle := [][]float64{{0.9, nan, nan}, {0.6, 0.8, nan}, {0.5, 0.7, 0.85}}
	for _, c := range []struct {
		text   string
		common bool
		want   [][]float64
	}{
		{"0.9,0.1,0.2\n0.6,0.8,0.3\n0.5,0.7,0.85\n", false, [][]float64{{0.9, 0.1, 0.2}, {0.6, 0.8, 0.3}, {0.5, 0.7, 0.85}}},
		{"0.9\n0.6,0.8\n0.5,0.7,0.85", false, triangle},
		{"0.9,,\n0.6,0.8,\n0.5,0.7,0.85\n\n\n", false, triangle},
		{"\ufeff# after task, on task\r\n\"0.9\", nan ,NaN\r\n# more\r\n0.6,8e-1,\r\n 0.5,\t0.7,0.85\r\n", false, triangle},
		{"\n\n0.9\n0.6,0.8\n0.5,0.7,0.85", false, triangle},
		{"1", false, [][]float64{{1}}},
		{"0.9,\n-0,1\n", false, [][]float64{{0.9, nan}, {0, 1}}},
		{"0.5\n0.6\n0.7\n", true, [][]float64{{0.5}, {0.6}, {0.7}}},
	} {
		got, err := Read("x.csv", strings.NewReader(c.text), c.common)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		same := slices.EqualFunc(plainly(got), c.want, func(a, b []float64) bool {
			return slices.EqualFunc(a, b, func(x, y float64) bool {
				return math.Float64bits(x) == math.Float64bits(y) ||
					x != x && y != y
			})
		})
		if !same {
			t.Errorf("%q is read as %v, want %v", c.text, plainly(got), c.want)
		}
	}
}

// TestReadBad: a message says the line, the column, what is wanted and what to do.
func TestReadBad(t *testing.T) {
	for _, c := range []struct {
		text   string
		common bool
		says   []string
	}{
		{"", false, []string{"x.csv: it has no numbers", "a row for each task is wanted", "Write the accuracies"}},
		{"# only this\n\n", false, []string{"it has no numbers"}},
		{"0.9,0.1\n0.6,1.8\n", false,
			[]string{`x.csv, line 2, column 2: found "1.8", but a number from 0 to 1 is wanted. Divide per cent by 100`}},
		{"-0.1", false, []string{`line 1, column 1: found "-0.1"`, "0 to 1 is wanted. Write accuracies as fractions"}},
		{"inf", false, []string{`found "inf"`, "as fractions"}},
		{"1e999", false, []string{`found "1e999"`, "as fractions"}},
		{"101", false, []string{`found "101"`, "as fractions"}},
		{"task,1\n1,0.9\n", false, []string{`line 1, column 1: found "task"`, "remove the names of its rows and columns"}},
		{"0.9\nx\x1b[31m,0.9\n", false, []string{`line 2, column 1: found "x\x1b[31m"`}},
		{"0.9;0.1\n0.6;0.8\n", false, []string{`line 1, column 1: found "0.9;0.1", but numbers with commas`,
			"Save the table as CSV"}},
		{"0.9 0.1\n0.6 0.8\n", false, []string{`found "0.9 0.1"`, "Save the table as CSV"}},
		{"0.9,0.1,0.2\n0.5,0.7,0.85\n", false, []string{"line 1, column 3: found 3 columns in 2 rows, but as many columns as rows are wanted, one for each task",
			"Add the missing rows"}},
		{"0.9\n0.5,0.7,0.85\n", false, []string{"line 2, column 3: found 3 columns in 2 rows"}},
		{"0.9,0.1\n0.6,0.8\n0.5,0.7\n", false,
			[]string{"line 1, column 3: found 2 columns in 3 rows, but as many columns as rows are wanted, or in this row 1. Add the missing columns"}},
		{"0.9\n0.6,0.8\n\n0.1,0.1,0.1,0.1", false,
			[]string{"line 3, column 1: the line is empty, but the accuracies after task 3 are wanted. Add the row"}},
		{"0.9,0.1\n,0.8\n", false, []string{"line 2, column 1: there is no number, but after task 2 the accuracy on task 1 is wanted",
			"transpose"}},
		{"nan", false, []string{"line 1, column 1: there is no number"}},
		{"0.9\n0.8,0.7\n", true,
			[]string{"line 2, column 2: found 2 columns, but one is wanted, as all tasks share one test set. Leave out --common-test"}},
		{"0.9\n\"\"\n", true, []string{"line 2, column 1: there is no number"}},
		{strings.Repeat("0.5\n", limit.ForeignTasks+1), true,
			[]string{"line 1001, column 1: there are more than 1,000 rows"}},
		{strings.Repeat("0.5,", 5000), false, []string{"line 1, column 1001: there are more than 1,000 columns"}},
		{strings.Repeat("x", 4000), false, []string{`found "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"…, but`}},
		{strings.Repeat("\n", limit.Foreign+1), false, []string{"it has more than 33,554,432 bytes"}},
	} {
		_, err := Read("x.csv", strings.NewReader(c.text), c.common)
		if err == nil {
			t.Errorf("%.40q is read", c.text)
			continue
		}
		for _, says := range c.says {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%.40q: got  %v\nwant %s", c.text, err, says)
			}
		}
	}
}

// TestResult: the worked example of package metric, with its metrics, is written and read again.
func TestResult(t *testing.T) {
	accuracy, err := Read("x.csv", strings.NewReader("0.9,0.1,0.2\n0.6,0.8,0.3\n0.5,0.7,0.85\n"), false)
	if err != nil {
		t.Fatal(err)
	}
	about := About{Method: "er", Data: "cifar100", Scenario: "class-incremental",
		Source: result.Foreign{Program: "p", File: "x.csv", Digest: "sha256:" + strings.Repeat("0", 64), Seed: 7}}
	r, err := Result(accuracy, about)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct {
		got  *float64
		want float64
	}{{r.Metrics.AverageAccuracy, 0.6833}, {r.Metrics.AverageForgetting, 0.25}, {r.Metrics.FWT, 0.2},
		{r.Metrics.LearningAccuracy, 0.85}} {
		if m.got == nil || !(math.Abs(*m.got-m.want) < 1e-4) {
			t.Errorf("a metric is %v, want %v", m.got, m.want)
		}
	}
	text, err := result.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	back, err := result.ParseAny(text)
	if err != nil || back.Foreign.Seed != 7 || len(back.Stream.Tasks) != 3 {
		t.Errorf("it is read again as %+v: %v", back, err)
	}
	about.Source.Program = ""
	if _, err := Result(accuracy, about); err == nil {
		t.Error("a result without a program is made")
	}
}

// FuzzRead: no file makes the reader panic or take memory out of proportion, and no message shows its bytes raw. What
// is read is written as a result, and that is read as the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte("0.9,0.1,0.2\n0.6,0.8,0.3\n0.5,0.7,0.85\n"), false)
	f.Add([]byte("0.9\n0.6,0.8\n"), false)
	f.Add([]byte("\ufeff# x\r\n\"1\",nan\r\n0,0.5\r\n"), false)
	f.Add([]byte("0.5\n1\n"), true)
	f.Add([]byte("a;b\n\n1"), true)
	f.Fuzz(func(t *testing.T, text []byte, common bool) {
		var m [][]*float64
		var err error
		most := uint64(200*len(text) + 1<<20)
		if n := fuzztest.Allocated(most, func() {
			m, err = Read("x.csv", strings.NewReader(string(text)), common)
		}); n > most {
			t.Fatalf("%d bytes were allocated for a file of %d", n, len(text))
		}
		if err != nil {
			if strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("a message with a control character: %q", err)
			}
			return
		}
		r, err := Result(m, About{Method: "m", Data: "d", CommonTest: common,
			Source: result.Foreign{Program: "p", File: "x.csv", Digest: "sha256:" + strings.Repeat("0", 64)}})
		if err != nil {
			t.Fatalf("read but no result: %v", err)
		}
		written, err := result.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := result.ParseAny(written)
		if err != nil {
			t.Fatalf("written but not read again: %v", err)
		}
		if d := cmp.Diff(m, back.Accuracy); d != "" {
			t.Errorf("written and read it differs: %s", d)
		}
	})
}
