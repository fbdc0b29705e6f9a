package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/experiment"
	"ocl/run/result"
	"ocl/survey/reproduce"
	"ocl/view/report"
)

// references is the file of what `ocl verify --committed` compares with.
func references(runs []run) ([]byte, error) {
	var results []*result.Result
	for _, r := range runs {
		results = append(results, r.Result)
	}
	list, err := reproduce.References(results)
	if err != nil {
		return nil, err
	}
	return reproduce.Encode(list)
}

// run is a committed result.
type run struct {
	*result.Result
	file   string // below results/, with slashes
	digest string // SHA-256 of its text, hexadecimal
}

// readRuns reads all results below a folder, by name.
func readRuns(folder string) (runs []run, err error) {
	err = input.Walk(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, result.Packed) {
			return err
		}
		text, err := unpacked(path)
		if err != nil {
			return err
		}
		r, err := result.Parse(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		sum := sha256.Sum256(text)
		name, err := filepath.Rel(folder, path)
		runs = append(runs, run{r, filepath.ToSlash(name), hex.EncodeToString(sum[:])})
		return err
	})
	return runs, err
}

// unpacked is the text of a compressed file.
func unpacked(path string) ([]byte, error) {
	f, _, err := input.Open(path, input.Want{Most: limit.Result})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := result.Unpack(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, limit.Result+1))
}

// field is a value in a CSV file, and the name of its column.
type field struct{ name, value string }

// csvOf is a CSV file with a line for each thing, all of which have the same fields.
func csvOf(things [][]field) []byte {
	lines := make([][]string, 1+len(things))
	for i, fields := range things {
		for _, f := range fields {
			if i == 0 {
				lines[0] = append(lines[0], f.name)
			}
			lines[1+i] = append(lines[1+i], f.value)
		}
	}
	return report.CSV(lines)
}

// index is runs.csv: a line for each run. A value that was not measured is empty.
func index(runs []run) []byte {
	var lines [][]field
	for _, r := range runs {
		capacity := 0
		if r.Memory != nil {
			capacity = r.Memory.Capacity
		}
		lines = append(lines, []field{
			{"file", r.file},
			{"data", r.Config.Data.Name},
			{"protocol", r.Config.Protocol},
			{"method", r.Method.Name},
			{"tricks", strings.Join(r.Method.Tricks, "+")},
			{"memory", strconv.Itoa(capacity)},
			{"seed", strconv.FormatUint(r.Config.Seed, 10)},
			{"evaluation", r.Config.Eval},
			{"changed", r.changed()},
			{"average_accuracy", number(r.Metrics.AverageAccuracy)},
			{"class_means", number(r.Classifiers["ncm"].Metrics.AverageAccuracy)},
			{"forgetting", number(r.Metrics.AverageForgetting)},
			{"learning_accuracy", number(r.Metrics.LearningAccuracy)},
			{"bwt_plus", number(r.Metrics.BWTPlus)},
			{"fwt", number(r.Metrics.FWT)},
			{"outcome", r.Outcome.State},
			{"step", strconv.Itoa(r.Outcome.Step)},
			{"revision", r.Provenance.Revision},
			{"numbers", strconv.Itoa(r.Provenance.Numbers)},
			{"kernel", r.Provenance.Kernel},
			{"convolution", r.Provenance.Convolution},
			{"seconds", strconv.FormatFloat(r.Seconds.All(), 'f', 1, 64)},
			{"key", experiment.Key(r.Result)},
			{"sha256", r.digest},
		})
	}
	return csvOf(lines)
}

// changed lists the keys of the config that do not have their defaults, but for those with a column of their own.
func (r run) changed() string {
	schema := experiment.Schema()
	var keys []string
	for line := range strings.Lines(schema.Canonical(r.Config)) {
		line = strings.TrimSpace(line)
		switch name, _, _ := strings.Cut(line, "="); name {
		case "data.name", "protocol", "methods", "tricks", "memory", "seed", "eval":
		default:
			keys = append(keys, line)
		}
	}
	return strings.Join(keys, " ")
}

// number is a fraction in full precision, empty where it was not measured.
func number(v *float64) string {
	if v == nil {
		return ""
	}
	return count.Exact(*v)
}
