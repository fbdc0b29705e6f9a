package runs

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ocl/internal/escape"
	"ocl/interop/output"
	"ocl/run/result"
)

// columns are those of the table that [CSVOf] writes. docs/interop.md says what they hold.
var columns = []string{"run", "method", "tricks", "memory", "seed", "classifier", "quantity", "step", "task",
	"test_set", "class", "predicted", "value"}

// CSVOf writes every number of some results into one table in long format: a line for each number (RFC 4180, with the
// columns of docs/interop.md). path is the folder that they belong to. out is the file, whose name ends in .csv, or a
// folder that is there; "" puts measurements.csv into the folder of the runs, or NAME.csv beside a file. The file
// appears whole or not at all, and the same runs give the same bytes. CSVOf returns its path.
func CSVOf(ctx context.Context, found []result.Source, path, out string) (string, error) {
	switch {
	case out == "":
		out = beside(path, "measurements.csv", ".csv")
	case isFolder(out):
		out = filepath.Join(out, "measurements.csv")
	}
	if !strings.EqualFold(filepath.Ext(out), ".csv") {
		return "", fmt.Errorf("export: %s: the name of the table does not end in .csv, and it is no folder. Use -o %s.csv",
			out, out)
	}
	return out, output.Write("export", out, func(w io.Writer) error {
		table := csv.NewWriter(w)
		if err := table.Write(columns); err != nil {
			return err
		}
		for _, s := range found {
			r, err := Open(s)
			if err != nil {
				return err
			}
			if err := r.lines(ctx, table); err != nil {
				return err
			}
		}
		table.Flush()
		return table.Error()
	})
}

// lines writes those of one run.
func (r *Run) lines(ctx context.Context, table *csv.Writer) error {
	res := r.Result
	memory := ""
	if res.Memory != nil {
		memory = strconv.Itoa(res.Memory.Capacity)
	}
	same := []string{r.Name, res.Method.Name, strings.Join(res.Method.Tricks, "+"), memory,
		strconv.FormatUint(res.Config.Seed, 10)}
	line := make([]string, 0, len(columns))
	return r.Each(func(v Value) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		line = append(append(line[:0], same...), v.Classifier, v.Quantity)
		for _, index := range []int{v.Step, v.Task, v.TestSet, v.Class, v.Predicted} {
			text := ""
			if index != None {
				text = strconv.Itoa(index)
			}
			line = append(line, text)
		}
		return table.Write(escape.CSV(append(line, number(v.Value))))
	})
}

// number is the shortest text that gives the same 64 bits; whole numbers are without an exponent.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// beside returns the default path of an output: a file called name in a folder, or beside a file, with its ending
// replaced by end.
func beside(path, name, end string) string {
	switch base := filepath.Base(path); {
	case isFolder(path):
		return filepath.Join(path, name)
	case base == "result.json" || base == "result"+result.Packed:
		return filepath.Join(filepath.Dir(path), name)
	}
	return strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".json") + end
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
