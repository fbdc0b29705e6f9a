// Package reproduce says of runs whether they reproduce what the committed runs of ocl have measured: bit for bit where
// a committed run had the same seed and engine, and by a test of the seeds elsewhere (docs/cli.md, "Compare with the
// committed results"). What the committed runs have measured is part of the program, so no clone of the repository is
// needed. The package runs nothing. Start at [Check].
package reproduce

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // for the references
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/identity"
	"ocl/run/metric/compare"
	"ocl/run/result"
)

// Reference is what the committed runs of one config have measured, whatever their seeds.
type Reference struct {
	Learned []string `json:"learned"` // [Learned] of each of the runs
	Data    string   `json:"data"`    // digest
	Runs    []Run    `json:"runs"`    // by seed, newest numbers, kernel and convolution
}

// Run is what counts of one run here.
type Run struct {
	Seed        uint64 `json:"seed"`
	Numbers     int    `json:"numbers"` // numbers version
	Kernel      string `json:"kernel"`
	Convolution string `json:"convolution,omitempty"` // "" in results of numbers version 1
	Diverged    bool   `json:"diverged,omitempty"`    // it then has no values
	// Tasks is a digest of the accuracies on all test sets after the last task, by the method's own classifier; "" where
	// it was not used.
	Tasks  string             `json:"tasks,omitempty"`
	Values map[string]float64 `json:"values,omitempty"` // by the name of the [Measure]
}

// Measure is a number of a run that is compared.
type Measure struct {
	Name  string // in JSON
	Title string // in tables
	of    func(r *result.Result) *float64
}

// Measures are those of a run, in the order of tables. The second classifier of a run is measured beside the first, and
// a run of the trick ncm is one whose only classifier is that of class means.
var Measures = []Measure{
	{"accuracy", "accuracy", func(r *result.Result) *float64 {
		return metricsBy(r,
			config.ClassifierHead).AverageAccuracy
	}},
	{"class_means", "class means", func(r *result.Result) *float64 {
		return metricsBy(r,
			config.ClassifierNCM).AverageAccuracy
	}},
	{"forgetting", "forgetting", func(r *result.Result) *float64 {
		return metricsBy(r,
			config.ClassifierHead).AverageForgetting
	}},
}

// metricsBy are the metrics of a classifier, all nil where the run did not use it.
func metricsBy(r *result.Result, classifier string) result.Metrics {
	if firstClassifier(r) == classifier {
		return r.Metrics
	}
	return r.Classifiers[classifier].Metrics
}

func firstClassifier(r *result.Result) string {
	if list := r.Config.Classifiers; len(list) > 0 {
		return list[0]
	}
	return config.ClassifierHead
}

// Learned is what a run learned but for its seed: the lines KEY=VALUE of its config that say so and are not what a file
// without them means.
func Learned(c config.Config) []string {
	schema := experiment.Schema()
	learned := identity.New(schema, c).Learned().Without("seed").String()
	return strings.Split(strings.TrimSuffix(learned, "\n"), "\n")
}

// runOf is what counts of a run that has ended.
func runOf(r *result.Result) Run {
	p := r.Provenance
	run := Run{Seed: r.Config.Seed, Numbers: p.Numbers, Kernel: p.Kernel, Convolution: p.Convolution,
		Diverged: r.Outcome.State == result.Diverged}
	if run.Diverged {
		return run
	}
	run.Values = map[string]float64{}
	for _, m := range Measures {
		if v := m.of(r); v != nil {
			run.Values[m.Name] = *v
		}
	}
	rows := r.Classifiers[config.ClassifierHead].Accuracy
	if firstClassifier(r) == config.ClassifierHead {
		rows = r.Accuracy
	}
	if len(rows) > 0 {
		run.Tasks = digest(rows[len(rows)-1])
	}
	return run
}

// digest is a digest of a row of accuracies.
func digest(row []*float64) string {
	h := sha256.New()
	for _, v := range row {
		text := "none"
		if v != nil {
			text = strconv.FormatFloat(*v, 'g', -1, 64)
		}
		fmt.Fprintln(h, text)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// sameEngine says whether two runs must have the same numbers if they learned the same. Those of plain Go need
// not: on arm64 it rounded otherwise before revision dfa1d9d7.
func (r Run) sameEngine(s Run) bool {
	return r.Seed == s.Seed && r.Numbers == s.Numbers && r.engine() == s.engine() && r.Kernel != "generic"
}

// compare lists what two runs have measured differently; compared is false where they have measured nothing in common.
func (r Run) compare(s Run) (differences []result.Difference, compared bool) {
	if r.Diverged != s.Diverged {
		return []result.Difference{{Key: "outcome", A: r.outcome(), B: s.outcome()}}, true
	}
	compared = r.Diverged
	for _, m := range Measures {
		v, own := r.Values[m.Name]
		w, other := s.Values[m.Name]
		compared = compared || own && other
		if own && other && v != w {
			differences = append(differences, result.Difference{Key: m.Title, A: precise(v), B: precise(w)})
		}
	}
	if r.Tasks != "" && s.Tasks != "" && r.Tasks != s.Tasks && len(differences) == 0 {
		differences = append(differences, result.Difference{Key: "accuracies of single tasks", A: "digest " + r.Tasks,
			B: "digest " + s.Tasks})
	}
	return differences, compared
}

func (r Run) engine() compare.Engine {
	return compare.EngineOf(r.Kernel, r.Convolution)
}

func (r Run) outcome() string {
	if r.Diverged {
		return result.Diverged
	}
	return result.Finished
}

func precise(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// References are the references of results: those of one config and one data set together, and of a run with different
// evaluations what all of them have measured. It is an error if two results of the same run have different numbers.
// Interrupted runs do not count.
func References(results []*result.Result) ([]Reference, error) {
	byID := map[string]*Reference{}
	for _, r := range results {
		if r.Outcome.State == result.Interrupted {
			continue
		}
		learned, own := Learned(r.Config), runOf(r)
		id := identify(learned, r.Provenance.DataDigest)
		if byID[id] == nil {
			byID[id] = &Reference{Learned: learned, Data: r.Provenance.DataDigest}
		}
		if err := byID[id].add(own); err != nil {
			return nil, fmt.Errorf("reproduce: %s: %w", strings.Join(learned, " "), err)
		}
	}
	list := []Reference{}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		slices.SortFunc(byID[id].Runs, before)
		list = append(list, *byID[id])
	}
	return list, nil
}

// identify is what tells references from each other.
func identify(learned []string, data string) string {
	return strings.Join(append(slices.Clone(learned), data), "\n")
}

// add adds a run, or what it has measured to that of the same run.
func (r *Reference) add(run Run) error {
	for i, there := range r.Runs {
		if there.Seed != run.Seed || there.Numbers != run.Numbers || there.engine() != run.engine() {
			continue
		}
		if differences, _ := there.compare(run); len(differences) > 0 {
			return fmt.Errorf("two results of seed %d with the same engine have other numbers: %v", run.Seed, differences[0])
		}
		maps.Copy(there.Values, run.Values)
		if there.Tasks == "" {
			r.Runs[i].Tasks = run.Tasks
		}
		return nil
	}
	r.Runs = append(r.Runs, run)
	return nil
}

// before orders runs so that the first of each seed is the one that counts where one does: that of the newest numbers,
// then that of the first engine.
func before(a, b Run) int {
	return cmp.Or(cmp.Compare(a.Seed, b.Seed), cmp.Compare(b.Numbers, a.Numbers), a.engine().Compare(b.engine()))
}

// values are those of a measure, one of each seed.
func (r *Reference) values(m Measure) (values []float64) {
	var seeds []uint64
	for _, run := range r.Runs { // the first of a seed counts
		if v, measured := run.Values[m.Name]; measured && !slices.Contains(seeds, run.Seed) {
			seeds, values = append(seeds, run.Seed), append(values, v)
		}
	}
	return values
}

// Encode is the text of the file of references, a line for each.
func Encode(list []Reference) ([]byte, error) {
	var lines [][]byte
	for _, r := range list {
		line, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("reproduce: %w", err)
		}
		lines = append(lines, line)
	}
	return fmt.Appendf(nil, "[\n%s\n]\n", bytes.Join(lines, []byte(",\n"))), nil
}

//go:embed references.json
var committed []byte

// Committed are the references of the results in the repository from which the program was built. "go run
// ./survey/results" writes them.
var Committed = sync.OnceValue(func() []Reference {
	list, err := parse(committed)
	if err != nil {
		panic(err) // a test of package results holds the file to the results
	}
	return list
})

func parse(text []byte) (list []Reference, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("reproduce: references: %w. Write them again with \"go run ./survey/results\"", err)
	}
	return list, nil
}
