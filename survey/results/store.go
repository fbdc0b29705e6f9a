package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ocl/config"
	"ocl/internal/atomicfile"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/survey"
	"ocl/survey/paper"
	"ocl/sweep/study"
)

// packed is a result as it is committed: compressed, and without the places that it names, which say nothing to others.
// The same result gives the same bytes.
func packed(r *result.Result) ([]byte, error) {
	text, err := bare(r)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(text)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// bare is the text of a result without places. It is an error if one is left.
func bare(r *result.Result) ([]byte, error) {
	own := *r
	own.Config = r.Config.Clone()
	own.Config.Data.Dir = ""
	own.Provenance.Command = nil
	text, err := result.Encode(&own)
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	if place := absolute(v); place != "" {
		return nil, fmt.Errorf("it names the path %q, which says nothing to others. Only results of runs without weights or lists of their own are kept",
			place)
	}
	var b bytes.Buffer
	err = json.Compact(&b, text)
	b.WriteByte('\n')
	return b.Bytes(), err
}

// absolute is a text in v that begins as the path of a file does, "" if there is none.
func absolute(v any) string {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "/") || strings.HasPrefix(v, "~") || len(v) > 2 && v[1] == ':' && v[2] == '\\' {
			return v
		}
	case []any:
		for _, x := range v {
			if found := absolute(x); found != "" {
				return found
			}
		}
	case map[string]any:
		for _, x := range v {
			if found := absolute(x); found != "" {
				return found
			}
		}
	}
	return ""
}

// folders below results/, by the name of the benchmark in the survey.
var folders = map[string]string{
	survey.CIFAR100: "cifar100", survey.MiniImageNet: "mini-imagenet", survey.CORe50NC: "core50-nc",
	survey.CORe50NI: "core50-ni",
	survey.Noise:    "ns-mini-noise", survey.Occlusion: "ns-mini-occlusion", survey.Blur: "ns-mini-blur",
}

// perImage is the folder of the blur that no table of the survey has.
const perImage = "ns-mini-blur-per-image"

// Keys of the config.
const (
	blurKey  = "stream.shift.blur"
	rateKey  = "optimizer.lr"
	decayKey = "optimizer.weight_decay"
)

// fileOf is the name of a committed result below results/. Its folder is the benchmark and what the run is for: errors
// (the error analysis), times (timed jobs), confirmation and anchors (the runs of confirmation.yaml and addendum.yaml
// below survey/studies), metrics (tested on all tasks), tuned, cndpm (all runs of that method), examined (with one
// thing changed, which the name says), tricks or methods. A run that no table of the survey has anything to do with has
// no such name, which is an error.
func fileOf(r *result.Result) (string, error) {
	spec, changes, err := paper.Planned(r.Config)
	if err != nil {
		return "", fmt.Errorf("%w. Give the name of its file: go run ./survey/results store RESULT.json FILE.json.gz", err)
	}
	top := folders[spec.Benchmark]
	if i := slices.IndexFunc(changes, func(c paper.Change) bool { return c.Key == blurKey }); i >= 0 {
		top, changes = perImage, slices.Delete(changes, i, i+1)
	}
	if r.Tuning != nil {
		changes = nil // each run has its own settings
	}
	tricks := ""
	if len(r.Method.Tricks) > 0 {
		tricks = "+" + strings.ReplaceAll(strings.Join(r.Method.Tricks, "+"), "*", "star")
	}
	words := []string{r.Method.Name + tricks, "m" + strconv.Itoa(spec.Memory)}
	changed := func(key string) bool {
		return slices.ContainsFunc(changes, func(c paper.Change) bool { return c.Key == key })
	}
	if changed(decayKey) && !changed(rateKey) { // a weight decay is named with its rate
		rate, _ := r.Config.Text(rateKey)
		changes = slices.Insert(changes, slices.IndexFunc(changes, func(c paper.Change) bool { return c.Key == decayKey }),
			paper.Change{Key: rateKey, Value: rate})
	}
	for _, c := range changes {
		key := c.Key[strings.LastIndexByte(c.Key, '.')+1:]
		if c.Key == decayKey {
			key = "weight-decay"
		}
		words = append(words, key+c.Value)
	}
	if spec.Protocol == config.ProtocolTuning {
		words = append(words, "tuning")
	}
	words = append(words, "s"+strconv.FormatUint(r.Config.Seed, 10))
	if r.Config.Eval != config.EvalFinal {
		words = append(words, r.Config.Eval)
	}
	folder := "methods"
	switch {
	case r.Provenance.Timed:
		folder = "times"
	case paper.Confirms(r):
		folder = "confirmation"
	case paper.Anchors(r):
		folder = "anchors"
	case r.Tuning != nil:
		folder = "tuned"
	case r.Method.Name == "cndpm": // a text of its own is about all of its runs
		folder = "cndpm"
	case len(changes) > 0 || spec.Protocol == config.ProtocolTuning:
		folder = "examined"
	case spec.Protocol == config.ProtocolStandard:
		folder = "errors"
	case r.Config.Eval == config.EvalAll:
		folder = "metrics"
	case tricks != "":
		folder = "tricks"
	}
	return strings.Join([]string{top, folder, strings.Join(words, "-") + result.Packed}, "/"), nil
}

// shelf has the committed results by the key of their run.
type shelf struct {
	root string // the folder results
	of   map[string][]run
}

func openShelf(root string) (*shelf, error) {
	runs, err := readRuns(root)
	if err != nil {
		return nil, err
	}
	s := &shelf{root: root, of: map[string][]run{}}
	for _, r := range runs {
		key := experiment.Key(r.Result)
		s.of[key] = append(s.of[key], r)
	}
	return s, nil
}

// put keeps a result below the folder and says in words what became of it. It writes nothing where the same result is
// there already, and refuses a file that has another one.
func (s *shelf) put(r *result.Result, name string) (string, error) {
	if r.Outcome.State == result.Interrupted {
		return "", errors.New("the run was interrupted. Continue it to its end first")
	}
	text, err := bare(r)
	if err != nil {
		return "", err
	}
	key := experiment.Key(r)
	for _, there := range s.of[key] {
		own, err := bare(there.Result)
		if err != nil {
			return "", err
		}
		if bytes.Equal(own, text) {
			return there.file + " is there already", nil
		}
		if there.file != name && there.Result.Provenance.Timed != r.Provenance.Timed {
			continue // the same run, for its seconds
		}
		what := "with the same numbers, made at another time or place"
		difference, same := result.Same(experiment.Schema(), there.Result, r)
		if !same {
			what = "with other numbers (" + difference + ")"
		} else if there.file != name && (there.Result.Tuning == nil) != (r.Tuning == nil) {
			continue // the same run, whose setting tuning chose
		}
		return "", fmt.Errorf("%s has another result of the same run, %s. Remove one of the two", there.file, what)
	}
	path := filepath.Join(s.root, filepath.FromSlash(name))
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is there, with a result of another run. Give another name, or remove it", name)
	}
	if err := keepResult(r, path); err != nil {
		return "", err
	}
	s.of[key] = append(s.of[key], run{Result: r, file: name})
	return name + " is new", nil
}

// keepResult writes a result to a file in the form of those below results/. It refuses one whose program nobody can
// build again.
func keepResult(r *result.Result, path string) error {
	switch revision := r.Provenance.Revision; {
	case revision == "" || revision == result.UnknownRevision:
		return errors.New("the program that made it does not say its revision, so nobody can build it again. " +
			"Build ocl in a clone (`go build -buildvcs=true ./cmd/ocl`), and run it again with that program")
	case strings.HasSuffix(revision, "+dirty"):
		return fmt.Errorf("the program that made it has the revision %s, so nobody can build it again. Commit the changes, build ocl, and run it again",
			revision)
	}
	text, err := packed(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, text)
}

// storeFile keeps a result under a name that the caller gives.
func storeFile(from, to string) error {
	r, err := result.Read(from)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(to, result.Packed) {
		return fmt.Errorf("%s: the name of a committed result ends in %s", to, result.Packed)
	}
	there, err := result.Read(to)
	if errors.Is(err, fs.ErrNotExist) {
		return keepResult(r, to)
	}
	if err != nil {
		return err
	}
	old, bad := bare(there)
	text, alsoBad := bare(r)
	if err := errors.Join(bad, alsoBad); err != nil {
		return err
	}
	if !bytes.Equal(old, text) {
		return fmt.Errorf("%s is there, with another result. Give another name, or remove it", to)
	}
	return nil
}

// storeStudy keeps the results of all done jobs of a study below root/results, and says of each what became of it. Jobs
// without a whole result are counted alone. The error names the results that were refused; the others are kept all the
// same.
func storeStudy(root, dir string, out io.Writer) error {
	entries, err := study.ReadJobs(dir)
	if err != nil {
		return err
	}
	s, err := openShelf(filepath.Join(root, "survey", "results"))
	if err != nil {
		return err
	}
	store := study.OpenFolder(dir)
	var faults []error
	waiting := 0
	for _, e := range entries {
		if store.State(e).Phase != progress.Done {
			waiting++
			continue
		}
		r, err := store.Result(e)
		name, words := "", ""
		if err == nil && e.Timing && !r.Provenance.Timed {
			err = errors.New("the job has timing: true, and its result is not timed. Run it in a new study on a disk that supports locks")
		}
		if err == nil {
			name, err = fileOf(r)
		}
		if err == nil {
			words, err = s.put(r, name)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", filepath.Join(dir, e.Folder), err))
			continue
		}
		fmt.Fprintln(out, words)
	}
	fmt.Fprintf(out, "%d of %d jobs are done\n", len(entries)-waiting, len(entries))
	return errors.Join(faults...)
}
