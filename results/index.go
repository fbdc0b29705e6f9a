package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ocl/experiment"
	"ocl/experiment/result"
	"ocl/reproduce"
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
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, result.Packed) {
			return err
		}
		r := run{}
		if r.Result, err = result.Read(path); err != nil {
			return err
		}
		text, err := unpacked(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		r.digest = hex.EncodeToString(sum[:])
		name, err := filepath.Rel(folder, path)
		r.file = filepath.ToSlash(name)
		runs = append(runs, r)
		return err
	})
	return runs, err
}

// unpacked is the text of a compressed file that has been read as a result.
func unpacked(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := result.Unpack(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// columns of runs.csv and what each says of a run; a value that was not measured is empty.
var columns = []struct {
	name string
	of   func(r run) string
}{
	{"file", func(r run) string { return r.file }},
	{"data", func(r run) string { return r.Config.Data.Name }},
	{"protocol", func(r run) string { return r.Config.Protocol }},
	{"method", func(r run) string { return r.Method.Name }},
	{"tricks", func(r run) string { return strings.Join(r.Method.Tricks, "+") }},
	{"memory", func(r run) string { return strconv.Itoa(r.capacity()) }},
	{"seed", func(r run) string { return strconv.FormatUint(r.Config.Seed, 10) }},
	{"evaluation", func(r run) string { return r.Config.Eval }},
	{"changed", run.changed},
	{"average_accuracy", func(r run) string { return number(r.Metrics.AverageAccuracy) }},
	{"class_means", func(r run) string { return number(r.Classifiers["ncm"].Metrics.AverageAccuracy) }},
	{"forgetting", func(r run) string { return number(r.Metrics.AverageForgetting) }},
	{"learning_accuracy", func(r run) string { return number(r.Metrics.LearningAccuracy) }},
	{"bwt_plus", func(r run) string { return number(r.Metrics.BWTPlus) }},
	{"fwt", func(r run) string { return number(r.Metrics.FWT) }},
	{"outcome", func(r run) string { return r.Outcome.State }},
	{"step", func(r run) string { return strconv.Itoa(r.Outcome.Step) }},
	{"revision", func(r run) string { return r.Provenance.Revision }},
	{"numbers", func(r run) string { return strconv.Itoa(r.Provenance.Numbers) }},
	{"kernel", func(r run) string { return r.Provenance.Kernel }},
	{"convolution", func(r run) string { return r.Provenance.Convolution }},
	{"seconds", func(r run) string {
		return strconv.FormatFloat(r.Seconds.Train+r.Seconds.Prepare+r.Seconds.Test, 'f', 1, 64)
	}},
	{"key", func(r run) string { return experiment.Key(r.Result) }},
	{"sha256", func(r run) string { return r.digest }},
}

// capacity is the size of the memory in samples, 0 for a method without one.
func (r run) capacity() int {
	if r.Memory == nil {
		return 0
	}
	return r.Memory.Capacity
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
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

// index is runs.csv: a line for each run.
func index(runs []run) ([]byte, error) {
	lines := make([][]string, 1+len(runs))
	for _, c := range columns {
		lines[0] = append(lines[0], c.name)
		for i, r := range runs {
			lines[1+i] = append(lines[1+i], c.of(r))
		}
	}
	return csvOf(lines)
}
