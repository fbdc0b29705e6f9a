package runs

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"ocl/internal/escape"
	"ocl/interop/output"
	"ocl/run/result"
)

// WideName is the name of the table that [WideOf] writes.
const WideName = "runs.csv"

// wide are the columns of that table before the metrics, and behind them.
var (
	wide  = []string{"run", "method", "tricks", "classifier", "memory", "data", "tasks", "protocol", "seed", "outcome"}
	times = []string{"train_seconds", "prepare_seconds", "test_seconds", "seconds"}
)

// WideOf writes a table with a line for each run, and for each classifier of a run that has several (RFC 4180, with the
// columns of docs/interop.md): what it is, every metric, and its times. What was not measured is "". It is runs.csv in
// a folder, appears whole or not at all, and the same runs give the same bytes. WideOf returns its path.
func WideOf(ctx context.Context, found []result.Source, folder string) (string, error) {
	path := filepath.Join(folder, WideName)
	return path, output.Write("export", path, func(w io.Writer) error {
		table := csv.NewWriter(w)
		head := append([]string{}, wide...)
		for _, m := range result.AllMetrics() {
			head = append(head, m.Key)
		}
		if err := table.Write(append(head, times...)); err != nil {
			return err
		}
		for _, s := range found {
			if err := ctx.Err(); err != nil {
				return err
			}
			r, err := Open(s)
			if err != nil {
				return err
			}
			for name, c := range r.classifiers() {
				if err := table.Write(escape.CSV(r.wide(name, c))); err != nil {
					return err
				}
			}
		}
		table.Flush()
		return table.Error()
	})
}

// wide is the line of a run and a classifier.
func (r *Run) wide(classifier string, c result.Classifier) []string {
	res := r.Result
	memory := "0"
	if res.Memory != nil {
		memory = strconv.Itoa(res.Memory.Capacity)
	}
	line := []string{r.Name, res.Method.Name, cmp.Or(strings.Join(res.Method.Tricks, "+"), "none"), classifier, memory,
		res.Stream.Name,
		fmt.Sprint(len(res.Stream.Tasks)), res.Stream.Protocol, strconv.FormatUint(res.Config.Seed, 10), res.Outcome.State}
	for _, m := range result.AllMetrics() {
		text := ""
		if v := m.Of(c.Metrics); v != nil {
			text = number(*v)
		}
		line = append(line, text)
	}
	for _, v := range []float64{res.Seconds.Train, res.Seconds.Prepare, res.Seconds.Test, res.Seconds.All()} {
		line = append(line, number(v))
	}
	return line
}
