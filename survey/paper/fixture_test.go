package paper

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ocl/config"
	"ocl/learn/method"
	"ocl/run/experiment"
	"ocl/run/result"
	"ocl/survey"
	"ocl/view/report"
)

// fake is a made-up result of a run of a spec: all classifiers and, with eval all, every metric. The same arguments
// give the same result.
func fake(spec Spec, seed uint64, eval string) *result.Result {
	b, c := benchmark(spec.Benchmark), spec.Config(seed)
	c.Eval, c.EvalEvery = eval, 20
	info, err := method.Lookup(spec.Method)
	if err != nil {
		panic(err)
	}
	var tricks []string
	if spec.Tricks != "" {
		tricks = strings.Split(spec.Tricks, "+")
	}
	r := &result.Result{Format: result.Format, Version: result.Version, Config: c,
		Method: result.Method{Name: info.Name, Title: info.Title, Tricks: tricks, Signals: info.SignalsWith(tricks),
			Options: c.Method[info.Name], Citation: info.Citation},
		Provenance: result.Provenance{Revision: "0123456789abcdef", Numbers: result.Numbers, Kernel: "avx2",
			Convolution: "winograd", Workers: 1, Concurrency: 1, Timed: true, Go: "go1.26.0",
			DataDigest: "sha256:" + strings.Repeat(fmt.Sprintf("%x", len(b.Data)%16), 64)},
		Stream: streamOf(b, spec.Protocol), Outcome: result.Outcome{State: result.Finished, Step: 100},
	}
	h := fnv.New64()
	fmt.Fprint(h, spec.Benchmark, spec.Method, spec.Tricks, spec.Memory)
	src := rand.New(rand.NewPCG(h.Sum64(), seed))
	level := 0.3 + 0.4*src.Float64()
	r.Accuracy = matrix(src, r, level, eval)
	for step := 20; step <= 100; step += 20 {
		r.Evaluations = append(r.Evaluations, result.Evaluation{Step: step, Accuracy: r.Accuracy[len(r.Accuracy)-1]})
	}
	r.Metrics = result.MetricsOf(r.Accuracy, r.Stream.CommonTest, r.Evaluations)
	if !b.DomainIncremental() {
		r.ErrorAnalysis = analysis(src, r, eval)
	}
	if list := c.Classifiers; len(list) > 1 {
		better := matrix(src, r, level+0.1, eval)
		r.Classifiers = map[string]result.Classifier{list[1]: {Accuracy: better,
			Metrics: result.MetricsOf(better, r.Stream.CommonTest, nil)}}
	}
	r.Seconds = result.Seconds{Train: 300 + float64(spec.Memory)/100*src.Float64(), Prepare: 10, Test: 20}
	if info.UsesMemory {
		r.Memory = stored(r, spec.Memory)
	}
	r.Key = experiment.Key(r)
	return r
}

// streamOf is the stream of a benchmark after its protocol, with 2 test images of each class.
func streamOf(b Benchmark, protocol string) result.Stream {
	s := result.Stream{Name: b.Data, Scenario: "class-incremental", Protocol: protocol, Shape: [3]int{3, 32, 32},
		Classes: 100}
	if b.Data == "core50" {
		s.Classes = 50
	}
	if b.DomainIncremental() {
		s.Scenario = "domain-incremental"
		s.CommonTest = b.Kind == config.KindDomains
	}
	first := 0
	if protocol == config.ProtocolSurvey {
		first = 2
	}
	for t := first; t < b.Tasks; t++ {
		task := result.Task{Index: t, Train: 2500, Test: 500}
		for k := range s.Classes {
			if b.DomainIncremental() || k%b.Tasks == t {
				task.Classes = append(task.Classes, k)
			}
		}
		s.Tasks = append(s.Tasks, task)
	}
	return s
}

// matrix is a matrix of accuracies that fall from level.
func matrix(src *rand.Rand, r *result.Result, level float64, eval string) [][]*float64 {
	n, sets := len(r.Stream.Tasks), len(r.Stream.Tasks)
	if r.Stream.CommonTest {
		sets = 1
	}
	m := make([][]*float64, n)
	for i := range m {
		m[i] = make([]*float64, sets)
		if eval == config.EvalFinal && i < n-1 {
			continue
		}
		for j := range sets {
			if eval == config.EvalSeen && j > i && !r.Stream.CommonTest {
				continue
			}
			v := math.Min(1, level*math.Pow(0.9, float64(max(i-j, 0)))*(0.9+0.2*src.Float64()))
			if j > i {
				v *= 0.1
			}
			m[i][j] = &v
		}
	}
	return m
}

// analysis is an error analysis after each task that was evaluated.
func analysis(src *rand.Rand, r *result.Result, eval string) *result.ErrorAnalysis {
	a := &result.ErrorAnalysis{}
	p := func(v float64) *float64 { return &v }
	for t := range r.Stream.Tasks {
		if eval == config.EvalFinal && t < len(r.Stream.Tasks)-1 {
			continue
		}
		a.Tasks = append(a.Tasks, result.TaskErrors{Task: t, New: 500, Old: 500 * t, NewAsOld: 30 + src.IntN(20),
			NewAsNew: 90, OldAsOld: 100 * t, OldAsNew: 300 * t,
			NewAsOldOfErrors: p(0.2 + 0.1*src.Float64()), OldAsNewOfErrors: p(0.7 + 0.1*src.Float64()),
			Logits: &result.Logits{NewOwn: p(3 + src.Float64()), OldOwn: p(1)},
			Head:   &result.Head{NewWeight: p(0.02), OldWeight: p(0.001), NewBias: p(0.04), OldBias: p(0.002)}})
	}
	return a
}

// stored is a memory that every task has an equal part of.
func stored(r *result.Result, capacity int) *result.Memory {
	m := &result.Memory{Capacity: capacity}
	for i := range r.Stream.Tasks {
		classes, tasks := map[int]int{}, map[int]int{}
		for t := range i + 1 {
			tasks[t] = capacity / (i + 1)
			classes[r.Stream.Tasks[t].Classes[0]] += capacity / (i + 1)
		}
		m.ClassCounts, m.TaskCounts = append(m.ClassCounts, classes), append(m.TaskCounts, tasks)
	}
	return m
}

// write writes a result below a folder, compressed where the name says so.
func write(t testing.TB, dir, name string, r *result.Result) string {
	t.Helper()
	text, err := result.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, result.Packed) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(text); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		text = b.Bytes()
	}
	return writeText(t, dir, name, text)
}

func writeText(t testing.TB, dir, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// committed reads the results of the repository once.
func committed(t testing.TB) *Study {
	t.Helper()
	s, err := readCommitted()
	if s == nil || err != nil && !errors.Is(err, report.ErrLeftOut) {
		t.Fatal(err)
	}
	return s
}

var readCommitted = sync.OnceValues(func() (*Study,
	error) {
	return Read(context.Background(), []string{"../results"})
})

// er is ER with a memory of 5,000 on CIFAR-100 under the survey's protocol.
var er = Spec{Benchmark: survey.CIFAR100, Protocol: config.ProtocolSurvey, Method: "er",
	Classifier: config.ClassifierHead, Memory: 5000}
