package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"ocl/checkpoint"
	"ocl/internal/edition"
	"ocl/internal/input"
	"ocl/live"
	"ocl/serve/journal"
)

// Status has the state of the daemon for the page, the metrics and /v1/status.
type Status struct {
	Method  string      `json:"method"`
	Release string      `json:"release"`
	Started time.Time   `json:"started"`
	State   string      `json:"state"`   // learning, idle, stopped (Problem says why) or draining
	Problem string      `json:"problem"` // "" is none
	Version int64       `json:"version"`
	Samples Counts      `json:"samples"`
	Rates   Rates       `json:"rates"`
	Latency *Latency    `json:"latency_ms"`
	Answers *Answers    `json:"accuracy"`
	HeldOut *HeldOut    `json:"held_out"`
	Drift   Drift       `json:"drift"`
	Memory  Memory      `json:"memory"`
	Disk    Disk        `json:"disk"`
	Classes []ClassInfo `json:"classes"`
	History []Point     `json:"history"`
}

// Counts are numbers of samples.
type Counts struct {
	Learned    int64 `json:"learned"`   // one that was corrected counts for each time that it was learned
	Answering  int64 `json:"answering"` // of these, in the version that answers
	Waiting    int   `json:"waiting"`
	Queue      int   `json:"queue"` // that may wait
	Remembered int   `json:"remembered"`
	HeldOut    int   `json:"held_out"`
	Forgotten  int   `json:"forgotten"`
}

// Rates are pictures a second, over the last ten seconds.
type Rates struct {
	Predictions float64 `json:"predictions"`
	Learned     float64 `json:"learned"`
}

// Latency has quantiles of the times of the last 1,000 predictions, in milliseconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// Answers has the share of the last samples that were predicted right before they were learned, and their number.
type Answers struct {
	Recent  float64 `json:"recent"`
	Samples int     `json:"samples"`
}

// HeldOut has the accuracy and the forgetting on the held-out samples, at a version.
type HeldOut struct {
	Accuracy   float64 `json:"accuracy"`
	Forgetting float64 `json:"forgetting"` // mean over classes of the best accuracy less the one now
	Samples    int     `json:"samples"`
	Version    int64   `json:"version"`
	// ECE is the expected calibration error of the probabilities, in [0,1]; null where values are distances. That of a
	// network that these pictures have calibrated is a little too small.
	ECE         *float64         `json:"ece"`
	Reliability []ReliabilityBin `json:"reliability,omitempty"`
}

// ReliabilityBin has the pictures whose best class has about one probability.
type ReliabilityBin struct {
	Samples     int     `json:"samples"`
	Probability float64 `json:"probability"` // mean
	Accuracy    float64 `json:"accuracy"`
}

// Drift says how often ADWIN has found a drift of the errors, and when it did last.
type Drift struct {
	Found   int        `json:"found"`
	Last    *time.Time `json:"last"`
	Samples int        `json:"samples"` // in its window
}

// Memory says how many pictures the learner's memory has and can have, and how many bytes the process takes.
type Memory struct {
	Stored   int   `json:"stored"`
	Capacity int   `json:"capacity"`
	Bytes    int64 `json:"bytes"`
}

// Disk is in bytes.
type Disk struct {
	Journal   int64 `json:"journal"`
	Snapshots int64 `json:"snapshots"`
}

// Point is one of the history.
type Point struct {
	Version    int64    `json:"version"`
	Learned    int64    `json:"learned"`
	Accuracy   *float64 `json:"accuracy"`
	HeldOut    *float64 `json:"held_out"`
	Forgetting *float64 `json:"forgetting"`
	Loss       *float64 `json:"loss"`
	// behind Accuracy; 0 in statistics of older programs, and in a point without it
	Answers int `json:"answers,omitempty"`
	Tested  int `json:"tested,omitempty"` // held-out samples behind HeldOut and Forgetting, likewise
}

// meter measures a daemon since it was started. None of it belongs to the state.
type meter struct {
	gauge       sync.Mutex
	predictions ring
	learned     ring
	times       []float64 // of predictions, in ms; a ring
	nextTime    int
	served      map[string]string // class that was answered, by the digest of the picture
	order       []string          // of its digests; a ring
	nextOrder   int
	kept        statistics
	watchers    []chan Notice
	recent      []Notice // the last ones, for those who come later
}

// ring counts events by the second.
type ring struct {
	n  [11]int
	at [11]int64
}

func (r *ring) add(n int) {
	now := time.Now().Unix()
	if i := now % 11; r.at[i] == now {
		r.n[i] += n
	} else {
		r.n[i], r.at[i] = n, now
	}
}

// rate is the mean of the last ten whole seconds.
func (r *ring) rate() float64 {
	now, sum := time.Now().Unix(), 0
	for i, at := range r.at {
		if at < now && at >= now-10 {
			sum += r.n[i]
		}
	}
	return float64(sum) / 10
}

const (
	mostTimes   = 1000
	mostHistory = 200
)

func (m *meter) predicted(n int, took time.Duration) {
	m.gauge.Lock()
	defer m.gauge.Unlock()
	m.predictions.add(n)
	put(&m.times, &m.nextTime, float64(took)/1e6)
}

// mostServed bounds the predictions that are kept until the label of their picture comes. It is more than may wait to
// be learned.
const mostServed = 20_000

// answered keeps what was answered for pictures, so that it can be judged when their labels come.
func (m *meter) answered(pixels [][]byte, a live.Answer) {
	digests := make([]string, len(pixels))
	for i, p := range pixels {
		digests[i] = Digest(p)
	}
	m.gauge.Lock()
	defer m.gauge.Unlock()
	if m.served == nil {
		m.served = map[string]string{}
	}
	for i, g := range a.Guesses {
		if len(g) == 0 {
			continue
		}
		if _, known := m.served[digests[i]]; !known {
			if len(m.order) < mostServed {
				m.order = append(m.order, digests[i])
			} else {
				delete(m.served, m.order[m.nextOrder])
				m.order[m.nextOrder] = digests[i]
			}
			m.nextOrder = (m.nextOrder + 1) % mostServed
		}
		m.served[digests[i]] = g[0].Name
	}
}

// put puts a value into a ring.
func put[T any](ring *[]T, next *int, v T) {
	if len(*ring) < mostTimes {
		*ring = append(*ring, v)
	} else {
		(*ring)[*next] = v
	}
	*next = (*next + 1) % mostTimes
}

func (m *meter) learnedPerSecond() float64 {
	m.gauge.Lock()
	defer m.gauge.Unlock()
	return m.learned.rate()
}

// count measures a cut that was learned.
func (d *Daemon) count(s *learner) {
	d.gauge.Lock()
	defer d.gauge.Unlock()
	if s.step.Samples == 0 {
		return
	}
	d.learned.add(len(s.cut.Lessons))
	told := 0 // samples whose answer was served
	for _, m := range s.cut.Lessons {
		said, served := d.served[m.Digest]
		if m.Said != "" {
			said, served = m.Said, true
		}
		if served && !m.Again { // a correction was judged before
			put(&d.kept.Right, &d.kept.Next, said == m.Label)
			d.drifted(said == m.Label)
			told++
		}
	}
	// nobody asks: drift is looked for in what the step says of its batch
	if n := len(s.cut.Lessons); told == 0 && s.step.Correct >= 0 {
		for i := range n {
			d.drifted(i < s.step.Correct)
		}
	}
	stats := s.trainer.Stats()
	k := &d.kept
	k.Every = max(1, k.Every)
	if n := len(k.History); n > 0 && stats.Images-k.History[n-1].Learned < k.Every {
		return
	}
	if k.History = append(k.History, d.point(s.last, stats)); len(k.History) > mostHistory { // every other one goes
		for i := range mostHistory / 2 {
			k.History[i] = k.History[2*i]
		}
		k.History, k.Every = k.History[:mostHistory/2], max(2*k.Every, 10)
	}
}

// point returns the present numbers as a point of the history. The caller holds gauge.
func (d *Daemon) point(version int64, stats live.Stats) Point {
	p := Point{Version: version, Learned: stats.Images, Loss: &stats.Loss}
	if len(d.kept.Right) > 0 {
		v := d.share()
		p.Accuracy, p.Answers = &v, len(d.kept.Right)
	}
	if d.kept.HeldOut != nil {
		a, f := d.kept.HeldOut.Accuracy, d.kept.HeldOut.Forgetting
		p.HeldOut, p.Forgetting, p.Tested = &a, &f, d.kept.HeldOut.Samples
	}
	return p
}

// drifted looks for drift with one more answer. The caller holds gauge.
func (d *Daemon) drifted(right bool) {
	wrong := 1.0
	if right {
		wrong = 0
	}
	if d.kept.Window.add(wrong) {
		now := time.Now()
		d.kept.Drift.Found++
		d.kept.Drift.Last = &now
		d.send(Notice{"drift", now, "The share of wrong answers has changed.", 0})
	}
	d.kept.Drift.Samples = d.kept.Window.N
}

func (d *Daemon) share() float64 {
	n := 0
	for _, right := range d.kept.Right {
		if right {
			n++
		}
	}
	return float64(n) / float64(len(d.kept.Right))
}

// Classes returns the facts about each class.
func (d *Daemon) Classes() (all []ClassInfo) {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	d.gauge.Lock()
	defer d.gauge.Unlock()
	for _, name := range d.trainer.Named() {
		c := ClassInfo{Name: name}
		if known := d.kept.Classes[name]; known != nil {
			c = *known
		}
		c.Name, c.Learned, c.HeldOut = name, d.state.learned[name], d.state.held[name]
		all = append(all, c)
	}
	return all
}

// Status returns the present state of the daemon.
func (d *Daemon) Status() Status {
	stats, config := d.trainer.Stats(), d.trainer.Config()
	s := Status{Method: config.Methods[0], Release: edition.Release, Started: d.began, State: "idle", Classes: d.Classes(),
		History: []Point{}}
	if s.Classes == nil {
		s.Classes = []ClassInfo{}
	}
	s.Disk.Journal, _ = d.journal.Size()
	for _, f := range []*journal.Files{d.files, d.state.files} {
		s.Disk.Snapshots += sizeOf(filepath.Dir(f.Path(0)))
	}
	d.state.mu.Lock()
	s.Problem, s.Version = d.problem, d.version
	switch {
	case d.halted || d.broken != nil:
		s.State = "stopped"
	case d.draining:
		s.State = "draining"
	case d.problem == noRoom && len(d.state.ops) == 0:
		s.State = "stopped"
	case d.waiting() > 0:
		s.State = "learning"
	}
	s.Samples = Counts{Learned: stats.Images, Answering: d.answering, Waiting: d.waiting(), Queue: d.o.Queue,
		Remembered: len(d.state.book.waiting)}
	for _, n := range d.state.held {
		s.Samples.HeldOut += n
	}
	for _, m := range d.state.samples {
		if m.State == StateForgotten || m.State == StateErased {
			s.Samples.Forgotten++
		}
	}
	d.state.mu.Unlock()
	d.gauge.Lock()
	defer d.gauge.Unlock()
	s.Rates = Rates{d.predictions.rate(), d.learned.rate()}
	if len(d.times) > 0 {
		sorted := slices.Sorted(slices.Values(d.times))
		s.Latency = &Latency{sorted[len(sorted)/2], sorted[len(sorted)*99/100]}
	}
	if len(d.kept.Right) > 0 {
		s.Answers = &Answers{d.share(), len(d.kept.Right)}
	}
	s.HeldOut, s.Drift = d.kept.HeldOut, d.kept.Drift
	s.Memory = Memory{Stored: stats.Stored, Capacity: config.Memory, Bytes: inUse()}
	if n := len(d.kept.History); n > 0 { // what was measured after the last point belongs to it
		s.History = append(append(s.History, d.kept.History[:n-1]...), d.point(s.Version, stats))
	}
	return s
}

// inUse is the memory of the process, in bytes.
func inUse() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

func sizeOf(folder string) (n int64) {
	entries, _ := input.ReadDir(folder) // a folder that is not there has nothing
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

// mostRecent is the number of past notices that a new reader gets first.
const mostRecent = 20

// mostNotices bounds the notices that wait for a slow reader. It loses further ones.
const mostNotices = 64

// Subscribe hears of what happens, the last of what has happened first, until ctx ends.
func (d *Daemon) Subscribe(ctx context.Context) <-chan Notice {
	c := make(chan Notice, mostNotices)
	d.gauge.Lock()
	for _, n := range d.recent {
		c <- n
	}
	d.watchers = append(d.watchers, c)
	d.gauge.Unlock()
	context.AfterFunc(ctx, func() {
		d.gauge.Lock()
		defer d.gauge.Unlock()
		d.watchers = slices.DeleteFunc(d.watchers, func(w chan Notice) bool { return w == c })
		close(c)
	})
	return c
}

// tell sends a notice to those who watch.
func (d *Daemon) tell(kind, text string, version int64) {
	d.gauge.Lock()
	defer d.gauge.Unlock()
	d.send(Notice{kind, time.Now(), text, version})
}

func (d *Daemon) send(n Notice) {
	d.recent = append(d.recent[max(0, len(d.recent)-mostRecent+1):], n)
	for _, w := range d.watchers {
		select {
		case w <- n:
		default:
		}
	}
}

// report tells of an event that is in the book. The applier tells of those that the learner has to do first.
func (d *Daemon) report(e journal.Event) {
	b, err := bodyOf(e)
	if err != nil {
		return
	}
	switch e.Kind {
	case kindClass:
		d.tell("class", fmt.Sprintf("The class %s was added.", b.Label), e.Number)
	case kindRename, kindMerge, kindRemove:
		d.gauge.Lock()
		if known := d.kept.Classes[b.Label]; known != nil && e.Kind == kindRename {
			d.kept.Classes[b.Into] = known
		}
		delete(d.kept.Classes, b.Label)
		d.gauge.Unlock()
		text := map[string]string{kindRename: "The class %s is called %s.", kindMerge: "The class %s is a part of %s."}[e.Kind]
		if e.Kind == kindRemove {
			d.tell("class", fmt.Sprintf("The class %s was removed.", b.Label), e.Number)
		} else {
			d.tell("class", fmt.Sprintf(text, b.Label, b.Into), e.Number)
		}
	case kindSplit:
		d.tell("class", fmt.Sprintf("The class %s was split: %s is a new one.", b.Label, b.Into), e.Number)
	case kindRemember:
		d.tell("remembered", "A picture waits for its label.", e.Number)
	case kindLabel:
		d.tell("labelled", fmt.Sprintf("A picture was labelled %s.", b.Label), e.Number)
	case kindUnlabel:
		d.tell("unlabelled", fmt.Sprintf("A picture is not %s any more.", b.Label), e.Number)
	case kindErased:
		d.tell("forgotten", fmt.Sprintf("Forgotten: %d.", len(b.IDs)), e.Number)
	}
}

// Options returns the options in use, with defaults filled in.
func (d *Daemon) Options() Options { return d.o }

// Problem says, for people, what keeps samples from being taken or learned; "" if nothing does.
func (d *Daemon) Problem() string {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	return d.problem
}

// Waiting is the number of pictures that wait to be learned.
func (d *Daemon) Waiting() int {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	return d.waiting()
}

// Learner reads the config, as a file, and the shape of the pictures of a folder's learner from its newest snapshot,
// without opening the folder. The error wraps fs.ErrNotExist where there is none yet.
func Learner(dir string) (config []byte, shape [3]int, err error) {
	newest, err := journal.Snapshots(dir).Newest()
	if err != nil {
		return nil, shape, err
	}
	var header struct { // of package live, as is the config
		Shape [3]int `json:"shape"`
	}
	if err := (checkpoint.Parts{checkpoint.JSON("live/header", &header),
		checkpoint.Bytes("live/config", &config)}).LoadState(newest.Decoder().Sub(trainerSection)); err != nil {
		return nil, shape, err
	}
	return config, header.Shape, nil
}
