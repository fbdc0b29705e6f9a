package served_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/served"
	"ocl/sweep/study"
	"ocl/sweep/studytest"
)

var forgeSeed = flag.Uint64("forgeseed", 0, "the seed of TestForger; 0 is several")

// forging is a worker that has a good join file and sends whatever the seed says.
type forging struct {
	t       testing.TB
	rand    *rand.Rand
	join    string
	all     []*result.Result
	honest  []string // names of the other workers
	forger  *served.Forger
	key     int
	actions map[string]func(f *served.Forger, key string)
	names   []string
}

func newForging(t testing.TB, seed uint64, join string, all []*result.Result, honest []string) *forging {
	g := &forging{t: t, rand: rand.New(rand.NewPCG(seed, 1)), join: join, all: all, honest: honest}
	text := func(v any) []byte {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	pick := func(of []string) string { return of[g.rand.IntN(len(of))] }
	whole := func(r *result.Result) []byte {
		return archive(experiment.ResultFile, encoded(t, r))
	}
	phases := []string{progress.Done, progress.Failed, progress.Begun, "released", "handed", "else"}
	g.actions = map[string]func(*served.Forger, string){
		"the record of a job": func(f *served.Forger, key string) {
			_ = f.Put(f.KV("jobs", key), text(map[string]any{"phase": pick(phases), "worker": pick(append(g.honest, f.Name)),
				"number": 9, "deaths": g.rand.IntN(4), "error": "forged", "kept": true,
				"outcome": "finished", "accuracy": 0.99}))
		},
		"the end of a job": func(f *served.Forger, key string) {
			if f.Put(f.KV("ends", key), text(map[string]any{"phase": pick(phases[:2]), "outcome": "finished"})) == nil {
				t.Error("a worker says that a job has ended")
			}
		},
		"settings": func(f *served.Forger, key string) {
			if f.Put(f.KV("study", pick([]string{"cancelled", "epoch", "version", "refused." + g.honest[0]})),
				[]byte("yes")) == nil {
				t.Error("a worker changes settings")
			}
		},
		"a claim": func(f *served.Forger, key string) {
			_ = f.Put(f.KV("claims", key), text(map[string]any{"worker": pick(append(g.honest, f.Name)), "step": 5}))
			_ = f.Put(f.KV("claims", key), nil, "KV-Operation", "PURGE", "Nats-Rollup", "sub")
		},
		"keys of no job": func(f *served.Forger, key string) {
			for _, bucket := range []string{"claims", "jobs"} {
				_ = f.Put(f.KV(bucket, fmt.Sprint(g.rand.Uint64())), []byte(`{"phase":"done"}`))
				if f.Put(f.KV(bucket, key), make([]byte, 5000)) == nil {
					t.Errorf("a value of 5,000 bytes in %s", bucket)
				}
			}
		},
		"a result, which may be that of the job": func(f *served.Forger, key string) {
			// sometimes that of the job, after which it is believed more
			_ = f.Put(f.Result(f.Token, key), whole(g.all[g.rand.IntN(len(g.all))]))
		},
		"a changed result": func(f *served.Forger, key string) {
			r := *g.all[0]
			high := 0.99
			r.Key, r.Metrics.AverageAccuracy = key, &high
			_ = f.Put(f.Result(f.Token, key), whole(&r))
		},
		"no result": func(f *served.Forger, key string) { _ = f.Put(f.Result(f.Token, key), []byte("x")) },
		"a fault in another name": func(f *served.Forger, key string) {
			if f.Put(f.Result(pick(g.honest), key), []byte("x")) == nil {
				t.Error("a worker sends results in the name of another one")
			}
			// by an answer of the server
			for _, to := range []string{f.Result(g.honest[0], key), f.KV("ends", key), f.KV("jobs", key)} {
				bucket := strings.Split(to, ".")[1]
				_ = f.NC.PublishRequest("$JS.API.DIRECT.GET.KV_"+bucket+".$KV."+bucket+"."+key, to, nil)
			}
			if f.Put(f.Bundle(pick(append(g.honest, "holder")), key+".saved"), []byte("x")) == nil {
				t.Error("a worker sends bundles in the name of another one")
			}
		},
		"a failure": func(f *served.Forger, key string) {
			_ = f.Put(f.KV("jobs", key), text(map[string]any{"phase": pick([]string{progress.Begun, "handed"}), "worker": f.Name,
				"number": 1}))
			_ = f.Put(f.Result(f.Token, key), []byte(strings.Repeat("forged ", 1000)), served.FailedHeader,
				pick([]string{"yes", "deaths"}))
		},
		"a large bundle": func(f *served.Forger, key string) {
			for n := range 20 {
				_ = f.Put(f.Bundle(f.Name, pick([]string{key, "other"})+".saved.word."+fmt.Sprint(n)), make([]byte, 1000))
			}
		},
		"a large message": func(f *served.Forger, key string) {
			if f.Put(f.Bundle(f.Name, key+".saved.word.0"), make([]byte, served.PartBytes+5000)) == nil {
				t.Error("a large part of a bundle")
			}
		},
		"a wrong digest": func(f *served.Forger, key string) {
			data := whole(g.all[0])
			kind := pick([]string{"saved", "result"})
			m := text(map[string]any{"word": "w", "parts": 1, "size": len(data), "sha256": strings.Repeat("0", 64),
				"step": 1 + g.rand.IntN(1000)})
			_ = f.Put(f.Bundle(f.Name, key+"."+kind+".w.0"), data)
			_ = f.Put(f.Bundle(f.Name, key+"."+kind), m)
			if kind == "result" {
				_ = f.Put(f.Result(f.Token, key), m, served.BundleHeader, pick(append(g.honest, f.Name)))
			}
		},
	}
	g.names = make([]string, 0, len(g.actions))
	for name := range g.actions {
		g.names = append(g.names, name)
	}
	slices.Sort(g.names)
	return g
}

// act does one thing. A forger that was refused comes back with another key, until no new worker is taken.
func (g *forging) act() {
	if g.forger == nil || !g.forger.NC.IsConnected() {
		g.key++
		var err error
		if g.forger, err = served.Forge(g.join, fmt.Sprint("key", g.key),
			[]string{"w", "else-1", g.honest[0]}[g.rand.IntN(3)], ""); err != nil {
			g.forger = nil
			return
		}
		if _, err := served.Forge(g.join, "key", "", g.honest[0]); err == nil {
			g.t.Error("a worker connects with the name of another one")
		}
	}
	name := g.names[g.rand.IntN(len(g.names))]
	g.actions[name](g.forger, g.all[g.rand.IntN(len(g.all))].Key)
}

// TestForger: a worker that forges, among honest ones, changes no result and no count. -forgeseed repeats a seed; with
// OCL_LONG there are more.
func TestForger(t *testing.T) {
	n := 20
	if os.Getenv("OCL_LONG") != "" {
		n = 100
	}
	var seeds []uint64
	for s := range n {
		seeds = append(seeds, uint64(s+1))
	}
	if *forgeSeed != 0 {
		seeds = []uint64{*forgeSeed}
	}
	all := studytest.Results(t, 6)
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel() // it mostly waits, as a refusal has no answer
			forged(t, seed, all)
		})
	}
}

func forged(t *testing.T, seed uint64, all []*result.Result) {
	t.Logf("go test ./sweep/served -run TestForger -forgeseed %d", seed)
	entries := entriesOf(all)
	of := map[string]*result.Result{}
	jobs := make([]study.Job, len(entries))
	for i, e := range entries {
		jobs[i].Entry, of[e.Key] = e, all[i]
	}
	dir := made(t, entries)
	h, err := served.Serve(context.Background(), dir, study.OpenFolder(dir), entries,
		served.ServeOptions{Listen: "127.0.0.1:0", Look: soon, Most: 1 << 20, Note: notesOf(t).add})
	if err != nil {
		t.Fatal(err)
	}
	join1, _ := join(t, h.Join(), t.TempDir())
	join2, _ := join(t, h.Join(), t.TempDir())
	before := h.Bundles()
	g := newForging(t, seed, h.Join(), all, []string{join1.Worker(), join2.Worker()})
	var mu sync.Mutex // one forges at a time
	forge := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		for range n {
			g.act()
		}
	}
	forge(3)
	var wg sync.WaitGroup
	ended := make(chan error, 3)
	for _, worker := range []*served.RemoteWorker{join1, join2} {
		w := study.Worker{Store: worker.Store(), Jobs: jobs, Concurrency: 1, Workers: 1, Poll: 10 * time.Millisecond,
			Stay: true,
			Do: func(ctx context.Context, j study.Job, at experiment.RunIn) (*result.Result, error) {
				forge(3)
				return writing(of[j.Key])(ctx, j, at)
			}}
		wg.Go(func() {
			_, err := w.Run(t.Context())
			ended <- err
		})
	}
	attend := study.Worker{Store: h.Store(), Jobs: jobs, Poll: 10 * time.Millisecond, Attend: true}
	sum, err := attend.Run(t.Context())
	if err != nil || sum.Left != 0 || sum.AllFailed != 0 {
		t.Errorf("the holder ends with %+v, error %v", sum, err)
	}
	for i, e := range entries { // as the holder says that all is done, it is
		st := study.OpenFolder(dir).State(e)
		text, err := os.ReadFile(filepath.Join(dir, e.Folder, experiment.ResultFile))
		want, _ := result.Encode(all[i])
		if st.Phase != progress.Done || err != nil || !bytes.Equal(text, want) {
			t.Errorf("%s is %+v, error %v; the result is the same: %v", e, st, err, bytes.Equal(text, want))
		}
	}
	wg.Wait()
	close(ended)
	for err := range ended {
		if err != nil {
			t.Errorf("an honest worker ends with %v", err)
		}
	}
	for _, name := range h.Refused() {
		if name == join1.Worker() || name == join2.Worker() {
			t.Errorf("the honest worker %s is refused", name)
		}
	}
	if g.forger != nil {
		g.forger.NC.Close()
	}
	within(t, "nothing foreign is left", func() bool { return h.Bundles() <= before && h.Waiting() == 0 })
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// TestForgedSequence: a header of a message that looks like one of the server does not keep a job from others, nor what
// they save from the folder.
func TestForgedSequence(t *testing.T) {
	all, entries, dir, h, _ := opened(t, 2)
	f := forger(t, h, "key")
	for _, e := range entries {
		for _, to := range []string{f.KV("jobs", e.Key), f.KV("claims", e.Key)} {
			if err := f.Put(to, []byte(`{"phase":"released"}`), "Nats-Sequence", "777"); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Put(f.KV("claims", e.Key), nil, "Nats-Sequence", "777", "KV-Operation", "PURGE", "Nats-Rollup",
			"sub"); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Put(f.Bundle(f.Name, entries[1].Key+".saved"), []byte("x"), "Nats-Sequence", "777"); err != nil {
		t.Fatal(err)
	}
	worker, _ := join(t, h.Join(), t.TempDir())
	c := claim(t, worker, entries[0])
	if err := os.WriteFile(filepath.Join(c.Place().Folder, experiment.EventsFile), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	within(t, "what was saved is in the folder", func() bool {
		_, err := os.Stat(filepath.Join(dir, entries[0].Folder, experiment.EventsFile))
		return err == nil
	})
	finish(t, worker, all[0])
	accepted(t, dir, entries[0])
}

// TestForgedEnds: on a server where whoever is connected may write, somebody says how a job has ended, that the study
// was cancelled and that a worker is refused, puts another study there, and answers in the name of the holder. Nobody
// believes it, as it has no signature. What was written over is put right.
func TestForgedEnds(t *testing.T) {
	all := studytest.Results(t, 2)
	entries := entriesOf(all)
	dir := made(t, entries)
	url := team(t, "", "")
	serving := func(look time.Duration) *served.Holder {
		h, err := served.Serve(context.Background(), dir, study.OpenFolder(dir), entries,
			served.ServeOptions{NATS: url, Look: look, Note: notesOf(t).add})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := serving(time.Hour) // it puts nothing right meanwhile
	worker, _ := join(t, h.Join(), t.TempDir())
	finish(t, worker, all[1])
	accepted(t, dir, entries[1])
	within(t, "the worker knows", func() bool { return worker.Store().State(entries[1]).Phase == progress.Done })
	f, err := served.Forge(h.Join(), "key", "w", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.NC.Close)
	ends := func(e study.Entry) string { return f.KV("ends", e.Key) }
	other, err := h.Value(ends(entries[1]))
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string][]byte{"done": []byte(`{"phase":"done","outcome":"finished"}`),
		"failed": []byte(`{"phase":"failed"}`), "as another job": other} {
		if err := f.Put(ends(entries[0]), text); err != nil {
			t.Fatal(err)
		}
		within(t, "the worker has read it", func() bool { return worker.Seen("ends") >= h.Last("ends") })
		if st := worker.Store().State(entries[0]); st.Phase != progress.Waiting {
			t.Errorf("%s: a forged end makes of the job %+v", what, st)
		}
	}
	for _, setting := range []string{"cancelled", "refused." + worker.Worker()} {
		if err := f.Put(f.KV("study", setting), []byte("yes")); err != nil {
			t.Fatal(err)
		}
	}
	within(t, "the worker has read it", func() bool { return worker.Seen("study") >= h.Last("study") })
	if _, _, err := worker.Store().Claim(entries[1]); err != nil || worker.Store().Cancelled() {
		t.Errorf("a forged setting ends a worker: cancelled %v, error %v", worker.Store().Cancelled(), err)
	}
	bundle := f.Bundle("holder", "study.files")
	if err := f.Put(bundle, []byte(`{"word":"w","parts":1,"size":1,"sha256":"`+strings.Repeat("0", 64)+`"}`)); err != nil {
		t.Fatal(err)
	}
	_, err = served.Join(t.Context(), h.Join(), served.JoinOptions{Dir: t.TempDir()})
	says(t, err, "the study cannot be fetched: its files are missing", "Try again")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.NC.Subscribe(f.Ask("*", "*"), func(m *nats.Msg) {
		var b bytes.Buffer
		zip := gzip.NewWriter(&b)
		_, _ = zip.Write([]byte(encoded(t, all[0])))
		_ = zip.Close()
		_ = m.Respond(b.Bytes())
	}); err != nil {
		t.Fatal(err)
	}
	_, err = worker.Store().Result(entries[1])
	says(t, err, "the answer of the holder was changed", "Look at the server")
	h = serving(soon)
	closed(t, h)
	for _, to := range []string{bundle, f.KV("study", "version"), f.KV("study", "epoch"), ends(entries[1])} {
		if err := f.Put(to, []byte("x")); err != nil {
			t.Fatal(err)
		}
		within(t, to+" is put right", func() bool {
			now, err := h.Value(to)
			return err == nil && string(now) != "x"
		})
	}
	again, _ := join(t, h.Join(), t.TempDir())
	finish(t, again, all[0])
	accepted(t, dir, entries[0])
}

// TestLyingWorker: that a job has failed counts once two workers of which a result was good have said so, or nobody
// else is there. Who has said so of three jobs that others have done is refused.
func TestLyingWorker(t *testing.T) {
	all, entries, dir, h, told := opened(t, 7)
	worker, _ := join(t, h.Join(), t.TempDir())
	liar := forger(t, h, "key")
	if err := liar.Put(liar.Result(liar.Token, entries[0].Key),
		archive(experiment.ResultFile, encoded(t, all[0]))); err != nil {
		t.Fatal(err)
	}
	accepted(t, dir, entries[0])
	lie := func(e study.Entry) {
		t.Helper()
		if err := liar.Put(liar.KV("jobs", e.Key),
			[]byte(`{"phase":"begun","worker":"`+liar.Name+`","attempt":1}`)); err != nil {
			t.Fatal(err)
		}
		if err := liar.Put(liar.Result(liar.Token, e.Key), []byte("a lie"), served.FailedHeader, "yes"); err != nil {
			t.Fatal(err)
		}
		within(t, "the holder has heard it", func() bool { return h.Waiting() == 0 })
	}
	for i := 1; i < 4; i++ {
		lie(entries[i])
		if st := study.OpenFolder(dir).State(entries[i]); st.Phase == progress.Failed {
			t.Fatalf("a worker lets a job be %+v", st)
		}
		finish(t, worker, all[i])
		accepted(t, dir, entries[i])
	}
	within(t, "the liar is refused", func() bool {
		return told.count("it said that 3 jobs have failed that others have done") == 1 && liar.NC.IsClosed()
	})

	failing := func(w *served.RemoteWorker, e study.Entry, why string) {
		t.Helper()
		if err := claim(t, w, e).Fail(errors.New(why)); err != nil {
			t.Fatal(err)
		}
		if st := w.Store().State(e); st.Phase != progress.Failed {
			t.Errorf("for the worker that cannot do it the job is %+v", st)
		}
		within(t, "the holder has heard it", func() bool { return h.Waiting() == 0 })
	}
	failed := func(e study.Entry, why string) {
		t.Helper()
		within(t, "the job has failed", func() bool { return study.OpenFolder(dir).State(e).Phase == progress.Failed })
		if st := study.OpenFolder(dir).State(e); st.Error != why {
			t.Errorf("failed is %+v", st)
		}
	}
	other, _ := join(t, h.Join(), t.TempDir())
	finish(t, other, all[4])
	accepted(t, dir, entries[4])
	failing(worker, entries[5], "first")
	if st := study.OpenFolder(dir).State(entries[5]); st.Phase == progress.Failed {
		t.Errorf("one of two workers lets a job be %+v", st)
	}
	failing(other, entries[5], "second")
	failed(entries[5], "second")
	failing(other, entries[6], "third")
	if st := study.OpenFolder(dir).State(entries[6]); st.Phase == progress.Failed {
		t.Errorf("one of two workers lets a job be %+v", st)
	}
	worker.Close() // nobody else can try
	failed(entries[6], "third")
}

// TestNobodyElse: a job that has failed for one worker, and that the others do not take, as they may lack its data, has
// failed after a minute.
func TestNobodyElse(t *testing.T) {
	if os.Getenv("OCL_LONG") == "" {
		t.Skip("NOT RUN: OCL_LONG is not set; with it the test waits a minute")
	}
	all, entries, dir, h, _ := opened(t, 4)
	worker, _ := join(t, h.Join(), t.TempDir())
	other, _ := join(t, h.Join(), t.TempDir())
	finish(t, worker, all[0])
	finish(t, other, all[1])
	accepted(t, dir, entries[0])
	accepted(t, dir, entries[1])
	at := claim(t, other, entries[2])
	began := time.Now()
	if err := claim(t, worker, entries[3]).Fail(os.ErrInvalid); err != nil {
		t.Fatal(err)
	}
	studytest.Write(t, at, all[2])
	if err := at.Done(all[2]); err != nil {
		t.Fatal(err)
	}
	accepted(t, dir, entries[2])
	within(t, "the job has failed", func() bool { return study.OpenFolder(dir).State(entries[3]).Phase == progress.Failed })
	if d := time.Since(began); d < served.MaxAge {
		t.Errorf("it has failed after %v", d)
	}
}
