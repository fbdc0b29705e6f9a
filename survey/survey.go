// Package survey holds the tables of the survey (Mai et al., Online Continual Learning in Image Classification: An
// Empirical Survey) as data: what it measured, which settings it tried, and what it says of data sets, methods and
// tricks, in other words than the paper's. Each table is a CSV file, typed in once from the paper. The package knows
// nothing of what ocl measures.
//
// The text of the paper gives no number of a figure that is not in a table, so there is no file for a figure.
package survey

import (
	"embed"
	"encoding/csv"
	"fmt"
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
	ClassIncremental: "nc.csv", TricksCIFAR100: "trick_cifar.csv", TricksMiniImage: "trick_mini.csv",
	ErrorAnalysis: "trick_motivation.csv",
	TrickTimes:    "trick_time.csv", DomainIncremental: "ni.csv", Hyperparameters: "hyper.csv",
	Datasets: "dataset.csv", Disturbances: "ns_mini.csv", Signals: "summary.csv", MethodComments: "comment_method.csv",
	TrickComments: "comment_trick.csv",
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

// Read returns a table of results. It panics for a label of another one, as the files are part of the program.
func Read(label string) []Value {
	var values []Value
	for _, r := range read(label, "row", "column", "memory", "mean", "interval") {
		v := Value{Row: r[0], Column: r[1], Memory: int(number(r[2])), Mean: number(r[3]), Interval: math.NaN()}
		if r[4] != "" {
			v.Interval = number(r[4])
		}
		values = append(values, v)
	}
	return values
}

// Find returns the cell of a table with that row, column and memory.
func Find(values []Value, row, column string, memory int) (Value, bool) {
	i := slices.IndexFunc(values, func(v Value) bool { return v.Row == row && v.Column == column && v.Memory == memory })
	if i < 0 {
		return Value{}, false
	}
	return values[i], true
}

// Grids returns the table of hyperparameters (table:hyper).
func Grids() (all []Grid) {
	for _, r := range read(Hyperparameters, "row", "column", "parameter", "values") {
		all = append(all, Grid{Method: r[0], Dataset: r[1], Parameter: r[2], Values: strings.Split(r[3], ", ")})
	}
	return all
}

// read returns the records of a table without its head and its label, and holds them to those columns.
func read(label string, columns ...string) [][]string {
	f, err := files.Open(names[label])
	if err != nil {
		panic(fmt.Sprintf("survey: there is no table %q", label))
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil || !slices.Equal(records[0], append([]string{"label"}, columns...)) {
		panic(fmt.Sprintf("survey: %s: the first line is not label,%s: %v", names[label], strings.Join(columns, ","), err))
	}
	for i, r := range records {
		records[i] = r[1:]
	}
	return records[1:]
}

func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("survey: " + err.Error())
	}
	return v
}
