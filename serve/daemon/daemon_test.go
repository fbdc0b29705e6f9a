package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/internal/lifecycle/lifecycletest"
	"ocl/live"
	"ocl/serve/journal"
)

const side = 8

func small() Options {
	return Options{Live: live.Options{Memory: 20, Size: side,
		Set: []string{"network.name=mlp", "network.hidden=[16]", "optimizer.lr=0.05"}}, Batch: 5, Age: -1, NewClasses: true}
}

// picture is one of a class: its corner is bright.
func picture(class, n int) []byte { return pictureOf(side, class, n) }

func pictureOf(side, class, n int) []byte {
	draw := rand.New(rand.NewPCG(uint64(class), uint64(n)))
	p := make([]byte, 3*side*side)
	for i := range p {
		p[i] = byte(draw.IntN(100))
	}
	for i := range 3 * side {
		p[(class*3*side+i)%len(p)] = byte(200 + draw.IntN(50))
	}
	return p
}

func samples(from, n int) []Sample { return samplesOf(side, from, n) }

func samplesOf(side, from, n int) (list []Sample) {
	for i := from; i < from+n; i++ {
		list = append(list, Sample{ID: fmt.Sprintf("id-%d", i), Label: fmt.Sprintf("class %d", i%3),
			Pixels: pictureOf(side, i%3, i)})
	}
	return list
}

func open(t *testing.T, dir string, o Options) *Daemon {
	t.Helper()
	d, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, d) })
	return d
}

func end(t *testing.T, d *Daemon) {
	t.Helper()
	if err := d.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func learn(t *testing.T, d *Daemon, list []Sample) []Receipt {
	t.Helper()
	r, err := d.Learn(t.Context(), list, "test")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func digest(t *testing.T, d *Daemon) string {
	t.Helper()
	text, err := d.stateDigest()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// stateDigest is the digest of the state between two ops.
func (d *Daemon) stateDigest() (text string, err error) {
	between(d, func() { text, err = d.state.digest() })
	return text, err
}

// between does something with the learner while nobody else uses it.
func between(d *Daemon, do func()) {
	done := make(chan struct{})
	work := func() {
		defer close(done)
		do()
	}
	select {
	case d.between <- work:
	case <-d.closing:
		work()
	}
	<-done
}

// applied waits until all that is on the disk was applied.
func applied(t *testing.T, d *Daemon) {
	t.Helper()
	if err := d.until(t.Context(), func() bool {
		return len(d.state.ops) == 0 && (len(d.state.queue) < d.o.Batch || d.halted)
	}); err != nil {
		t.Fatal(err)
	}
}

// copied copies the folder of a daemon, as a crash would leave it.
func crashed(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(filepath.Join(to, "d"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(to, "d")
}

// TestLearnsAndPredicts: what was learned is predicted, and the numbers say so.
func TestLearnsAndPredicts(t *testing.T) {
	d := open(t, t.TempDir(), small())
	if _, err := d.Predict(t.Context(), [][]byte{picture(0, 1)}, 1); !errors.Is(err, live.ErrNothing) {
		t.Errorf("before anything was learned: %v", err)
	}
	list := samples(0, 300)
	for i := 0; i < len(list); i += 15 {
		for _, m := range list[i : i+10] { // of five others nobody asks
			if _, err := d.Predict(t.Context(), [][]byte{m.Pixels}, 1); i > 0 && err != nil {
				t.Fatal(err)
			}
		}
		r := learn(t, d, list[i:i+15])
		if err := d.Wait(t.Context(), []string{r[14].ID}); err != nil {
			t.Fatal(err)
		}
	}
	right := 0
	for i := range 30 {
		a, err := d.Predict(t.Context(), [][]byte{picture(i%3, 1000+i), picture((i+1)%3, 2000+i)}, 2)
		if err != nil || len(a.Guesses) != 2 || len(a.Guesses[0]) != 2 || a.Version == 0 {
			t.Fatalf("%+v, %v", a, err)
		}
		if a.Guesses[0][0].Name == fmt.Sprintf("class %d", i%3) {
			right++
		}
	}
	if right < 25 {
		t.Errorf("%d of 30 are right", right)
	}
	s := d.Status()
	if s.Samples.Learned != 300 || s.Answers == nil || s.Answers.Recent < 0.5 || s.Answers.Samples != 190 ||
		len(s.Classes) != 3 || s.Classes[1].Learned != 100 || s.Latency == nil || len(s.History) == 0 {
		t.Errorf("%+v", s)
	}
}

// TestIDs: an id is learned once, with one picture and one label.
func TestIDs(t *testing.T) {
	d := open(t, t.TempDir(), small())
	list := samples(0, 5)
	learn(t, d, list)
	if r := learn(t, d, list[:2]); r[0].ID != "id-0" || len(r) != 2 {
		t.Errorf("%+v", r)
	}
	other := list[0]
	other.Label = "class 1"
	if _, err := d.Learn(t.Context(), []Sample{other}, ""); !errors.Is(err, ErrConflict) {
		t.Errorf("another label: %v", err)
	}
	other = list[0]
	other.Pixels = picture(2, 7)
	if _, err := d.Learn(t.Context(), []Sample{{ID: "fresh", Label: "class 0", Pixels: picture(0, 8)}, other},
		""); !errors.Is(err, ErrConflict) {
		t.Errorf("another picture: %v", err)
	}
	if _, there := d.Sample("fresh"); there {
		t.Error("one of several was taken, though another was refused")
	}
	applied(t, d)
	if n := d.trainer.Stats().Images; n != 5 {
		t.Errorf("%d images were learned of 5", n)
	}
}

// TestUnknownClass: a label that is none is refused with the one that was meant.
func TestUnknownClass(t *testing.T) {
	o := small()
	o.NewClasses = false
	d := open(t, t.TempDir(), o)
	if err := d.AddClass(t.Context(), "mouse", ""); err != nil {
		t.Fatal(err)
	}
	var unknown *UnknownClassError
	if _, err := d.Learn(t.Context(), []Sample{{Label: "mousee", Pixels: picture(0, 1)}}, ""); !errors.As(err, &unknown) ||
		unknown.Nearest != "mouse" {
		t.Errorf("%v", err)
	}
	learn(t, d, []Sample{{Label: "mouse", Pixels: picture(0, 1)}})
}

// TestSpellings: a class has one spelling of Unicode and one case, whichever a client writes, in samples, labels and
// new classes.
func TestSpellings(t *testing.T) {
	const one, two = "caf\u00e9", "cafe\u0301"
	dir := t.TempDir()
	d := open(t, dir, small())
	if err := errors.Join(d.AddClass(t.Context(), two, ""), d.AddClass(t.Context(), one, "")); err != nil {
		t.Fatal(err)
	}
	got := learn(t, d, []Sample{{ID: "a", Label: two, Pixels: picture(0, 1)}, {ID: "b", Label: one, Pixels: picture(0, 2)},
		{ID: "c", Label: "n\u0303", Pixels: picture(1, 2)}, {ID: "d", Label: "\u00d1", Pixels: picture(1, 3)}})
	again := learn(t, d, []Sample{{ID: "a", Label: two, Pixels: picture(0, 1)}})
	r, err := d.Label(t.Context(), "c", "CAFE\u0301", "")
	if err != nil || got[0].Label != one || got[3].Label != "\u00f1" || again[0].Label != one || r.Label != one {
		t.Errorf("%+q, %+q, %+q, %+q (%v)", got[0].Label, got[2].Label, again[0].Label, r.Label, err)
	}
	applied(t, d)
	if names := d.trainer.Classes(); !slices.Equal(names, []string{one, "\u00f1"}) {
		t.Errorf("classes %+q", names)
	}
}

// TestRefusedFoldersStay: a folder of pictures is refused and stays as it is, and no folder is made or filled where the
// learner cannot be made.
func TestRefusedFoldersStay(t *testing.T) {
	pictures, empty := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(pictures, "a.jpg"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bad, wrong := small(), small()
	bad.Init = pictures
	wrong.Live.Method = "no method"
	absent := filepath.Join(empty, "new", "folder")
	for _, c := range []struct {
		dir string
		o   Options
	}{{pictures, small()}, {absent, bad}, {absent, wrong}, {empty, bad}, {empty, wrong}} {
		if d, err := Open(c.dir, c.o); err == nil {
			end(t, d)
			t.Errorf("%s is opened", c.dir)
		}
	}
	for dir, want := range map[string]int{pictures: 1, empty: 0} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
			t.Errorf("%v (%v), wanted %d entries", entries, err, want)
		}
	}
	open(t, absent, small())
}

// TestFull: what has no room in the queue is refused with a time.
func TestFull(t *testing.T) {
	o := small()
	o.Queue, o.Batch = 7, 100
	d := open(t, t.TempDir(), o)
	learn(t, d, samples(0, 7))
	var full *FullError
	if _, err := d.Learn(t.Context(), samples(7, 1), ""); !errors.As(err, &full) || full.After <= 0 {
		t.Errorf("%v", err)
	}
}

// TestRecovery: after a crash at any event the state is that of a daemon that was not disturbed.
func TestRecovery(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, small())
	act := []func(){
		func() { learn(t, d, samples(0, 12)) },
		func() {
			if _, err := d.Remember(t.Context(), []Remembered{{ID: "late", Pixels: picture(1, 500)},
				{ID: "never", Pixels: picture(2, 501)}}, ""); err != nil {
				t.Fatal(err)
			}
		},
		func() {
			if r, err := d.Label(t.Context(), "late", "class 1", "me"); err != nil || r.State != StateWaiting {
				t.Fatalf("%+v, %v", r, err)
			}
		},
		func() { learn(t, d, samples(12, 8)) },
		func() {
			if _, err := d.Label(t.Context(), "id-2", "class 0", "me"); err != nil {
				t.Fatal(err)
			}
		},
		func() {
			if err := d.Boundary(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
		},
		func() { learn(t, d, samples(20, 11)) },
	}
	for i, do := range act {
		do()
		applied(t, d)
		want := digest(t, d)
		again, err := Open(crashed(t, dir), small())
		if err != nil {
			t.Fatalf("after step %d: %v", i, err)
		}
		if got := digest(t, again); got != want {
			t.Errorf("after step %d the state is another one", i)
		}
		if err := again.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestVerify: events that are applied again make the state of the newest snapshot, and a damaged state is found.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, small())
	learn(t, d, samples(0, 40))
	end(t, d)
	r, err := Verify(t.Context(), dir, small())
	if err != nil || !r.Same() || r.To == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	s := newState(nil, small().complete(), nil)
	files := journal.Snapshots(dir)
	if err := s.from(files, r.To); err != nil {
		t.Fatal(err)
	}
	s.learned["class 0"]++
	c, _, err := s.container()
	if err == nil {
		err = files.Write(r.To, c)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Verify(t.Context(), dir, small()); err != nil || r.Same() {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestForget: no file has a byte of a picture that was forgotten, whatever became of it before.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	o := small()
	d := open(t, dir, o)
	list := samples(0, 13) // two batches, and three wait
	learn(t, d, list)
	if _, err := d.Remember(t.Context(), []Remembered{{ID: "seen", Pixels: picture(1, 900)}}, ""); err != nil {
		t.Fatal(err)
	}
	applied(t, d)
	pictures := map[string][]byte{"id-1": list[1].Pixels, "id-12": list[12].Pixels, "seen": picture(1, 900)}
	for id, p := range pictures {
		if !has(t, dir, p) {
			t.Fatalf("%s is in no file", id)
		}
	}
	f, err := d.Forget(t.Context(), Which{IDs: []string{"id-1", "id-12", "seen"}}, "me")
	if err != nil || f.Matched != 3 {
		t.Fatalf("%+v, %v", f, err)
	}
	for id, p := range pictures {
		if has(t, dir, p) {
			t.Errorf("a file has %s", id)
		}
		if info, _ := d.Sample(id); info.State != StateErased {
			t.Errorf("%s is %+v", id, info)
		}
	}
	if _, err := d.Learn(t.Context(), list[1:2], ""); !errors.Is(err, ErrForgotten) {
		t.Errorf("the same id again: %v", err)
	}
	learn(t, d, samples(13, 8))
	end(t, d)
	for id, p := range pictures {
		if has(t, dir, p) {
			t.Errorf("after the end a file has %s", id)
		}
	}
}

// has says whether a file of a folder has these bytes.
func has(t *testing.T, dir string, b []byte) bool {
	t.Helper()
	found, err := holds(dir, b)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func holds(dir string, b []byte) (found bool, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found = found || bytes.Contains(text, b)
		return err
	})
	return found, err
}

// TestRollback goes back to the weights of a version.
func TestRollback(t *testing.T) {
	dir, o := t.TempDir(), small()
	o.VersionEvery = 10
	d := open(t, dir, o)
	if _, err := d.Keep(t.Context(), "nothing", "me"); !errors.Is(err, live.ErrNothing) {
		t.Errorf("before anything was learned: %v", err)
	}
	learn(t, d, samples(0, 20))
	named, err := d.Keep(t.Context(), "good", "me")
	if err != nil || named.Name != "good" {
		t.Fatal(named, err)
	}
	if _, err := d.Keep(t.Context(), "good", "me"); !errors.Is(err, ErrSameName) {
		t.Errorf("the same name again: %v", err)
	}
	for i := 20; i < 320; i += 20 {
		learn(t, d, samples(i, 20))
		applied(t, d)
	}
	d = again(t, d, dir, o)
	list := d.Versions()
	if len(list) != mostVersions+1 || list[0].Number != named.Number || list[0].Name != named.Name {
		t.Fatalf("%d versions, %+v", len(list), list)
	}
	v := list[0].Number
	if err := d.Rollback(t.Context(), list[5].Number, "me"); err != nil {
		t.Fatal(err)
	}
	if err := d.Rollback(t.Context(), v, "me"); err != nil {
		t.Fatal(err)
	}
	if err := d.Rollback(t.Context(), v+100_000, "me"); !errors.Is(err, ErrNoVersion) {
		t.Errorf("%v", err)
	}
	applied(t, d)
	if d.trainer.Stats().Stored == 0 {
		t.Error("the memory is empty")
	}
	// A damaged version and one whose file is gone leave the list.
	if err := errors.Join(os.Truncate(d.state.files.Path(v), 700),
		os.Remove(d.state.files.Path(list[3].Number))); err != nil {
		t.Fatal(err)
	}
	var log logText
	d.o.Log = log.logger()
	if err := d.Rollback(t.Context(), v, "me"); !errors.Is(err, ErrSpoilt) ||
		!strings.Contains(log.String(), fmt.Sprintf("a version of the weights cannot be read, so nobody can go back to it\" version=%d",
			v)) {
		t.Errorf("a damaged version: %v, %s", err, log.String())
	}
	if now := d.Versions(); len(now) != len(list)-2 ||
		slices.ContainsFunc(now, func(w VersionInfo) bool { return w.Number == v || w.Number == list[3].Number }) {
		t.Errorf("%d versions, %+v", len(now), now)
	}
}

// TestLifecycle: Close waits for what is at work, ends what waits, and leaves no goroutine.
func TestLifecycle(t *testing.T) {
	lifecycletest.Test(t, func(t *testing.T) lifecycletest.Subject {
		d, err := Open(t.TempDir(), small())
		if err != nil {
			t.Fatal(err)
		}
		learn(t, d, samples(0, 10))
		applied(t, d)
		ctx, n := t.Context(), 10
		return lifecycletest.Subject{Close: func() error { return d.Close(context.Background()) }, Closed: ErrDraining,
			Calls: map[string]func() error{
				"Learn":    func() error { n++; _, err := d.Learn(ctx, samples(n, 1), "test"); return err },
				"Remember": func() error { _, err := d.Remember(ctx, []Remembered{{Pixels: picture(0, 1)}}, "test"); return err },
				"Predict":  func() error { _, err := d.Predict(ctx, [][]byte{picture(0, 1)}, 1); return err },
				"AddClass": func() error { n++; return d.AddClass(ctx, fmt.Sprint("new ", n), "test") },
				"Boundary": func() error { return d.Boundary(ctx, "test") },
				"Model":    func() error { _, err := d.Model(ctx, Weights, io.Discard); return err },
				"Ready":    d.Ready,
			},
			Hold: func() func() {
				at, stay := make(chan struct{}), make(chan struct{})
				go between(d, func() { close(at); <-stay })
				<-at
				return func() { close(stay) }
			},
		}
	})
}
