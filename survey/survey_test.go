package survey

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// counts are the cells of each table that hold a value, counted in the paper.
var counts = map[string]int{
	ClassIncremental:  3*4 + 3*(6*3+1), // CN-DPM has one memory
	TricksCIFAR100:    2 + 9*9,
	TricksMiniImage:   2 + 9*9,
	ErrorAnalysis:     3 * 6,
	TrickTimes:        8 * 3,
	DomainIncremental: 4*4 + 4*(5*3+1),
}

func TestTables(t *testing.T) {
	for label, want := range counts {
		values := Read(label)
		if len(values) != want {
			t.Errorf("%s has %d values, want %d", label, len(values), want)
		}
		accuracy, seen := label != ErrorAnalysis && label != TrickTimes, map[string]bool{}
		for _, v := range values {
			cell := fmt.Sprint(v.Row, "|", v.Column, "|", v.Memory)
			if v.Row == "" || !(v.Mean >= 0 && v.Mean <= 10_000) || v.Interval > v.Mean || seen[cell] {
				t.Errorf("%s: %+v is out of range, or is there twice", label, v)
			}
			seen[cell] = true
			if accuracy && !(v.Mean <= 100 && v.Interval < 10) || !accuracy && !math.IsNaN(v.Interval) {
				t.Errorf("%s: %+v is out of range", label, v)
			}
			if !slices.Contains([]int{0, 1000, 5000, 10000}, v.Memory) {
				t.Errorf("%s: %+v: the survey has no such memory", label, v)
			}
		}
	}
	for _, want := range []struct {
		label string
		Value
	}{
		{ClassIncremental, Value{"GDumb", CIFAR100, 5000, 22.1, 0.9}},
		{ClassIncremental, Value{"LwF", "CORe50-NC", 0, 7.1, 1.9}},
		{TricksCIFAR100, Value{"KDC*", "ER", 5000, 21.2, 1.1}},
		{TricksMiniImage, Value{"RV", "MIR", 10000, 37.3, 0.5}},
		{DomainIncremental, Value{"MIR", "CORe50-NI", 5000, 34.0, 1.0}},
	} {
		values := Read(want.label)
		if got, ok := Find(values, want.Row, want.Column, want.Memory); !ok || got != want.Value {
			t.Errorf("%s: %+v, want %+v", want.label, got, want.Value)
		}
	}
	if _, ok := Find(nil, "ER", CIFAR100, 5000); ok {
		t.Error("a cell is found in no table")
	}
}

// TestTablesAgree: the plain rows of the tables of tricks are cells of the table of methods, and their best ones too.
func TestTablesAgree(t *testing.T) {
	methods := Read(ClassIncremental)
	for label, at := range map[string]struct{ plain, column string }{TricksCIFAR100: {"N/A", CIFAR100},
		TricksMiniImage: {"NA", "Split Mini-ImageNet"}} {
		tricks := Read(label)
		best := map[int]float64{}
		for _, v := range methods {
			if v.Column == at.column {
				best[v.Memory] = max(best[v.Memory], v.Mean)
			}
		}
		for _, v := range tricks {
			if v.Row == "Best OCI" && v.Mean != best[v.Memory] {
				t.Errorf("%s: the best at M = %d is %g, in %s it is %g", label, v.Memory, v.Mean, ClassIncremental, best[v.Memory])
			}
			if of, ok := Find(methods, v.Column, at.column, v.Memory); v.Row == at.plain &&
				(!ok || of.Mean != v.Mean || of.Interval != v.Interval) {
				t.Errorf("%s: %+v is %+v in %s", label, v, of, ClassIncremental)
			}
		}
	}
}

func TestGrids(t *testing.T) {
	all := Grids()
	sizes := map[string]int{}
	for _, g := range all {
		sizes[g.Method] += len(g.Values)
	}
	want := map[string]int{"EWC++": 9, "LwF": 11, "ER": 11, "MIR": 9, "GSS": 9, "iCaRL": 11, "A-GEM": 11,
		"CN-DPM": 14 + 15 + 17, "GDumb": 5}
	if !maps.Equal(sizes, want) {
		t.Errorf("the grids have %v values, want %v", sizes, want)
	}
}

// TestPaper compares every number with the paper's source: the values of each table, in their order. The paper is not
// in the repository.
func TestPaper(t *testing.T) {
	source, err := os.ReadFile("../../shared/survey.tex")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("../../shared/survey.tex is not there, so nothing is held to the paper's source")
	}
	if err != nil {
		t.Fatal(err)
	}
	for label := range counts {
		before, _, ok := strings.Cut(string(source), `\label{`+label+`}`)
		if !ok {
			t.Fatalf("the paper has no %s", label)
		}
		table := before[strings.LastIndex(before, `\begin{tabular}`):]
		table = table[:strings.Index(table, `\end{tabular}`)]
		var want, got []string
		if label == ErrorAnalysis || label == TrickTimes {
			for _, m := range regexp.MustCompile(`&\s*(\d+)\b`).FindAllStringSubmatch(strings.ReplaceAll(table, "{2-4}", ""),
				-1) {
				want = append(want, m[1])
			}
		} else {
			for _, m := range regexp.MustCompile(`([\d.]+)\\pm([\d.]+)`).FindAllStringSubmatch(table, -1) {
				want = append(want, m[1]+" ± "+m[2])
			}
		}
		values := Read(label)
		for _, v := range values {
			if math.IsNaN(v.Interval) {
				got = append(got, fmt.Sprint(v.Mean))
			} else {
				got = append(got, fmt.Sprintf("%.1f ± %.1f", v.Mean, v.Interval))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the file has\n%v\nand the paper\n%v", label, got, want)
		}
	}
}
