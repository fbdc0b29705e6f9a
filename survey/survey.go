// Package survey holds the tables of the survey (Mai et al., Online Continual Learning in Image Classification: An Empirical Survey) as
// data: what it measured, which settings it tried, and what it says of data sets, methods and tricks, in other words than the paper's. Each table is a CSV file, typed in once from the paper. The package knows nothing of what
// ocl measures.
//
// The text of the paper gives no number of a figure that is not in a table, so there is no file for a figure.
package survey

import (
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
)

//go:embed *.csv
var files embed.FS

// The tables, by their labels in the paper.
const (
	ClassIncremental  = "table:nc"               // average accuracy of the methods
	TricksCIFAR100    = "table:trick_cifar"      // average accuracy with tricks
	TricksMiniImage   = "table:trick_mini"       // average accuracy with tricks
	ErrorAnalysis     = "table:trick_motivation" // counts, and ratios in per cent
	TrickTimes        = "tab:trick_time"         // seconds
	DomainIncremental = "table:ni"               // average accuracy of the methods
	Hyperparameters   = "table:hyper"            // the values that were tried, of which [Grids] reads
)

// The columns of [ClassIncremental] and [DomainIncremental], which are data sets and how they become streams.
const (
	CIFAR100     = "Split CIFAR-100"
	MiniImageNet = "Split Mini-ImageNet"
	CORe50NC     = "CORe50-NC"
	Noise        = "Mini-ImageNet-Noise"
	Occlusion    = "Mini-ImageNet-Occlusion"
	Blur         = "Mini-ImageNet-Blur"
	CORe50NI     = "CORe50-NI"
)

// files by label.
var names = map[string]string{
	ClassIncremental: "nc.csv", TricksCIFAR100: "trick_cifar.csv", TricksMiniImage: "trick_mini.csv", ErrorAnalysis: "trick_motivation.csv",
	TrickTimes: "trick_time.csv", DomainIncremental: "ni.csv", Hyperparameters: "hyper.csv",
	Datasets: "dataset.csv", Disturbances: "ns_mini.csv", Signals: "summary.csv", MethodComments: "comment_method.csv", TrickComments: "comment_trick.csv",
}

// Value is a cell of a table. Accuracies are in per cent.
type Value struct {
	Row, Column string // as the paper has them; the column is empty where a cell spans all
	Memory      int    // samples; 0 where the table names none
	Mean        float64
	Interval    float64 // half of it: the paper has Mean ± Interval; NaN where it has none
}

// Grid is the values of a hyperparameter that the survey tried for a method.
type Grid struct {
	Method    string
	Dataset   string // empty: all
	Parameter string // LR, WD, lambda, C, n, cc or alpha
	Values    []string
}

// Read reads a table of results.
func Read(label string) ([]Value, error) {
	records, err := read(files, label, "row", "column", "memory", "mean", "interval")
	if err != nil {
		return nil, err
	}
	return parseValues(label, records)
}

// Find returns the cell of a table with that row, column and memory.
func Find(values []Value, row, column string, memory int) (Value, bool) {
	i := slices.IndexFunc(values, func(v Value) bool { return v.Row == row && v.Column == column && v.Memory == memory })
	if i < 0 {
		return Value{}, false
	}
	return values[i], true
}

// Grids reads the table of hyperparameters (table:hyper).
func Grids() ([]Grid, error) {
	records, err := read(files, Hyperparameters, "row", "column", "parameter", "values")
	if err != nil {
		return nil, err
	}
	return parseGrids(records)
}

// read reads the records of a table without its head and its label, and holds them to those columns and to having no two with the same key:
// everything but what was measured or tried.
func read(dir fs.FS, label string, columns ...string) ([][]string, error) {
	name, ok := names[label]
	if !ok {
		return nil, fmt.Errorf("survey: there is no table %q", label)
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, fmt.Errorf("survey: %w", err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("survey: %s: %w", name, err)
	}
	if len(records) < 2 || !slices.Equal(records[0], append([]string{"label"}, columns...)) {
		return nil, fmt.Errorf("survey: %s: the first line is not label,%s, or no line follows", name, strings.Join(columns, ","))
	}
	seen := map[string]bool{}
	for i, r := range records[1:] {
		key := strings.Join(r[1:4], "|")
		if r[0] != label {
			return nil, fmt.Errorf("survey: %s: line %d is of table %q, not of %q", name, i+2, r[0], label)
		}
		if seen[key] {
			return nil, fmt.Errorf("survey: %s: line %d repeats the cell %q", name, i+2, key)
		}
		seen[key] = true
		records[i+1] = r[1:]
	}
	return records[1:], nil
}

// most is the largest value in the tables, a count of test images.
const most = 10_000

func parseValues(label string, records [][]string) ([]Value, error) {
	var values []Value
	for i, r := range records {
		v := Value{Row: r[0], Column: r[1], Interval: math.NaN()}
		var memory, mean, interval error
		v.Memory, memory = strconv.Atoi(r[2])
		v.Mean, mean = strconv.ParseFloat(r[3], 64)
		if r[4] != "" {
			v.Interval, interval = strconv.ParseFloat(r[4], 64)
		}
		if err := errors.Join(memory, mean, interval); err != nil {
			return nil, fmt.Errorf("survey: %s: line %d: %w", names[label], i+2, err)
		}
		if v.Row == "" || v.Memory < 0 || !(v.Mean >= 0 && v.Mean <= most) || v.Interval <= 0 || v.Interval > v.Mean {
			return nil, fmt.Errorf("survey: %s: line %d is out of range: %v", names[label], i+2, r)
		}
		values = append(values, v)
	}
	return values, nil
}

func parseGrids(records [][]string) ([]Grid, error) {
	var all []Grid
	for i, r := range records {
		g := Grid{Method: r[0], Dataset: r[1], Parameter: r[2], Values: strings.Split(r[3], ", ")}
		for _, v := range g.Values {
			if _, err := strconv.ParseFloat(v, 64); err != nil {
				return nil, fmt.Errorf("survey: %s: line %d: %w", names[Hyperparameters], i+2, err)
			}
		}
		if g.Method == "" || g.Parameter == "" {
			return nil, fmt.Errorf("survey: %s: line %d names no method or no parameter", names[Hyperparameters], i+2)
		}
		all = append(all, g)
	}
	return all, nil
}
