package daemon

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestStatisticsSurvive: what was measured goes on after a start, also the window of ADWIN, and a damaged file costs
// nothing else.
func TestStatisticsSurvive(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), small()
	o.HeldOut = 0.2
	d := open(t, dir, o)
	learn(t, d, samples(0, 100))
	applied(t, d)
	for _, m := range samples(100, 100) {
		if _, err := d.Predict(t.Context(), [][]byte{m.Pixels}, 1); err != nil {
			t.Fatal(err)
		}
	}
	learn(t, d, samples(100, 100))
	end(t, d)
	want, err := d.measured()
	d = open(t, dir, o)
	before := d.Status()
	if err != nil || before.Answers == nil || len(before.History) == 0 || before.Drift.Samples == 0 ||
		before.HeldOut == nil {
		t.Fatalf("%+v, %v", before, err)
	}
	if last := before.History[len(before.History)-1]; last.HeldOut == nil || *last.HeldOut != before.HeldOut.Accuracy {
		t.Errorf("the history ends at %+v, and the held-out pictures give %+v", last, before.HeldOut)
	}
	got, err := d.measured()
	if !reflect.DeepEqual(kept(t, got), kept(t, want)) {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	end(t, d)
	for _, damage := range []string{"{", "[]", `{"v":2}`, `{"v":1,"right":[true],"next":7}`,
		`{"v":1,"window":{"rows":[[[9,0]]],"n":1}}`} {
		if err := os.WriteFile(filepath.Join(dir, statisticsFile), []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		d := open(t, dir, o)
		if s := d.Status(); s.Answers != nil || s.Samples.Learned != before.Samples.Learned {
			t.Errorf("%s: %+v", damage, s)
		}
		end(t, d)
	}
	if err := os.Remove(filepath.Join(dir, statisticsFile)); err != nil {
		t.Fatal(err)
	}
	for folder, says := range map[string]bool{dir: true, t.TempDir(): false} { // a new folder has lost nothing
		var log logText
		o.Log = log.logger()
		end(t, open(t, folder, o))
		const lost = `"nothing is there of what was measured before, so accuracy, forgetting and drift begin anew"`
		if text := log.String(); strings.Contains(text, lost+" file=statistics.json") != says {
			t.Errorf("%s: %s", folder, text)
		}
	}
}

// kept are statistics without those of the held-out samples, which are measured again when nothing is to be done.
func kept(t *testing.T, text []byte) (s statistics) {
	t.Helper()
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	s.HeldOut, s.HeldAt, s.Classes = nil, 0, nil
	return s
}

// TestWindowGoesOn: a meter that resumes finds drift where one does that never stopped.
func TestWindowGoesOn(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var a, b meter
	for i := range 4000 {
		x := 0.0
		if random.Float64() < 0.1+0.6*float64(i/1000%2) {
			x = 1
		}
		if i%97 == 0 {
			text, err := b.measured()
			b = meter{}
			if err == nil {
				err = b.resume(text)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if got, want := b.kept.Window.add(x), a.kept.Window.add(x); got != want || a.kept.Window.N != b.kept.Window.N {
			t.Fatalf("number %d: %v and %d numbers, want %v and %d", i, got, b.kept.Window.N, want, a.kept.Window.N)
		}
	}
}

func FuzzStatistics(f *testing.F) {
	var m meter
	for i := range 100 {
		m.kept.Window.add(float64(i % 2))
	}
	text, err := m.measured()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"v":1,"window":{"rows":[[],[[1,0]]],"n":2,"sum":1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var m meter
		if m.resume(text) != nil {
			return
		}
		for i := range 200 {
			m.kept.Window.add(float64(i % 2))
			put(&m.kept.Right, &m.kept.Next, true)
		}
	})
}

// TestOldIDs: an id is known as long as the memory of the learner has the picture, however many come later. Where the
// journal is retained, a picture whose id was let go of is erased there too.
func TestOldIDs(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), small()
	o.IDs, o.Retain, o.HeldOut = 30, true, 0
	d := open(t, dir, o)
	for i := 0; i < 300; i += 20 {
		learn(t, d, samples(i, 20))
		applied(t, d)
	}
	d.state.mu.Lock()
	known, stored, gone := len(d.state.samples), 0, ""
	for i := range 300 {
		id := fmt.Sprint("id-", i)
		if m := d.state.stored[id]; m != nil && d.trainer.Stores(m.Places[0]) {
			stored++
		} else if d.state.samples[id] == nil {
			gone = id
		}
	}
	d.state.mu.Unlock()
	if have := d.trainer.Stats().Stored; stored != have || stored < 5 || known > 30 || gone == "" {
		t.Fatalf("%d ids, %d of %d stored ones; %q is gone", known, stored, have, gone)
	}
	n := 0
	if _, err := fmt.Sscanf(gone, "id-%d", &n); err != nil {
		t.Fatal(err)
	}
	pixels := samples(n, 1)[0].Pixels
	if !has(t, dir, pixels) {
		t.Fatal("the journal does not have what was sent")
	}
	f, err := d.Forget(t.Context(), Which{IDs: []string{gone}}, "me")
	if err != nil || f.Matched != 1 || f.Stored != 0 {
		t.Errorf("%+v, %v", f, err)
	}
	end(t, d)
	if has(t, dir, pixels) {
		t.Error("a forgotten picture is still in a file")
	}
}
