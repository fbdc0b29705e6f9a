package daemon

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"image"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/image/bmp"

	"ocl/live"
	"ocl/serve/journal"
)

var (
	histories   = flag.Int("histories", 0, "histories of TestHistories; 0 is 200, and 10,000 in the long tier")
	historySeed = flag.Uint64("historyseed", 0, "the one seed of TestHistories; 0 draws as many as there are histories")
)

// call is one request about a sample, and what came of it.
type call struct {
	kind, id, label string // a change of classes has no id, and the label of before
	into            string
	ids             []string // of a split
	// ok, the state that was read, or the error; "" where nobody knows, as the daemon was killed meanwhile
	came string
}

// Errors that change nothing, by name; those that are not here are refusals that may come at any time.
var told = map[error]string{ErrConflict: "conflict", ErrNotFound: "not found", ErrNobody: "not found",
	ErrExpired: "expired", ErrForgotten: "forgotten", ErrErased: "forgotten", ErrLabelled: "labelled"}

// outcomes are the states that a sample may be in after a call in one state: none if it cannot have come so. States are
// absent, remembered, expired, forgotten, and a label for a sample that has one, behind "is ".
func outcomes(was string, c call, drops bool) (all []string) {
	from := []string{was}
	if was == "remembered" { // by the bound
		from = append(from, "expired")
	}
	if drops { // by way of expired where it is remembered
		from = append(from, "absent")
	}
	// its id is let go of, and the memory of the learner has it with a label of before
	if drops && strings.HasPrefix(was, "is ") {
		for n := range historyLabels + historySplits {
			from = append(from, fmt.Sprint("is class ", n))
		}
	}
	for _, s := range from {
		has := strings.HasPrefix(s, "is ")
		next := map[string]string{} // by what comes of it
		switch c.kind {
		case "learn":
			switch {
			case s == "absent", s == "is "+c.label:
				next["ok"] = "is " + c.label
			case s == "forgotten":
				next["forgotten"] = s
			default:
				next["conflict"] = s
			}
		case "remember":
			switch {
			case s == "absent":
				next["ok"] = "remembered"
			case s == "forgotten":
				next["conflict"] = s
			default:
				next["ok"] = s
			}
		case "label":
			switch {
			case has, s == "remembered":
				next["ok"] = "is " + c.label
			case s == "absent":
				// its id was let go of while the label was on its way to the disk, and its event brings it back
				if next["not found"] = s; drops {
					next["ok"] = "is " + c.label
				}
			default:
				next[s] = s
			}
		case "unlabel":
			switch {
			case has, s == "remembered":
				next["ok"] = "remembered"
			case s == "absent": // as of a label
				if next["not found"] = s; drops {
					next["ok"] = "remembered"
				}
			default:
				next[s] = s
			}
		case "mark":
			switch {
			case has:
				next["labelled"] = s
			case s == "remembered":
				next["ok"] = s
			case s == "absent":
				next["not found"] = s
			default:
				next[s] = s
			}
		case "forget":
			switch s {
			case "absent":
				if next["not found"] = s; drops { // the journal has it still
					next["ok"] = "forgotten"
				}
			case "forgotten": // or about to be erased
				next["forgotten"], next["ok"] = s, s
			default:
				next["ok"] = "forgotten"
			}
		case "rename", "merge", "remove":
			switch to := "is " + c.into; {
			case s != "is "+c.label:
				next["ok"] = s
			case c.kind == "remove":
				next["ok"] = "forgotten"
			default:
				next["ok"] = to
			}
		case "split":
			if s == "is "+c.label || s == "absent" && drops { // as of a label
				next["ok"] = "is " + c.into
			}
			if c.came != "ok" && c.came != "" {
				next[c.came] = s
			}
		case "read":
			next[s] = s
		}
		switch {
		case c.came == "": // it came to the disk, or not
			all = append(all, s)
			for _, to := range next {
				all = append(all, to)
			}
		case c.came == "refused" && c.kind == "remove": // its pictures are forgotten first
			all = append(all, s, next["ok"])
		case c.came == "refused":
			all = append(all, s)
		case next[c.came] != "":
			all = append(all, next[c.came])
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// samplesModel is that of the samples of a daemon, each by itself. With drops, ids are let go of.
func samplesModel(drops bool) porcupine.Model {
	return (&porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			by := map[string][]porcupine.Operation{}
			for n := range historyIDs { // a change of classes is about all
				by[fmt.Sprint("id-", n)] = nil
			}
			for _, o := range history {
				for id := range by {
					if c := o.Input.(call); c.id == id || c.id == "" && (c.ids == nil || slices.Contains(c.ids, id)) {
						by[id] = append(by[id], o)
					}
				}
			}
			var all [][]porcupine.Operation
			for _, part := range by {
				all = append(all, part)
			}
			return all
		},
		Init: func() []any { return []any{"absent"} },
		Step: func(state, in, out any) (next []any) {
			c := out.(call)
			for _, s := range outcomes(state.(string), c, drops) {
				next = append(next, s)
			}
			return next
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v", out) },
	}).ToModel()
}

// mortal is a journal whose process is killed before or behind one of its writes, and whose disk has no room for some.
type mortal struct {
	journal.Journal
	*pauses
	mu      sync.Mutex
	appends int // that are left before the kill; below 0 is none
	behind  bool
	full    float64 // share of the writes for which there is no room
	dead    atomic.Bool
}

// pauses let one goroutine go on after the other, in an order that a seed draws: each sleeps for a time of its own on
// the clock of a bubble, which goes on when all wait.
type pauses struct {
	seed uint64
	mu   sync.Mutex
	draw map[string]*rand.Rand // by the name of the point
}

// next is a number in [0,1) of those of a name.
func (p *pauses) next(name string) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	draw := p.draw[name]
	if draw == nil {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name))
		draw = rand.New(rand.NewPCG(p.seed, h.Sum64()))
		p.draw[name] = draw
	}
	return draw.Float64()
}

func (p *pauses) wait(name string) {
	time.Sleep(time.Duration(1 + 1e8*p.next(name)*p.next(name)))
}

func (m *mortal) Append(events []journal.Event) (int64, error) {
	m.wait("append")
	m.mu.Lock()
	m.appends--
	last, full := m.appends == 0, m.full > 0 && m.next("full") < m.full
	m.mu.Unlock()
	switch {
	case m.dead.Load(), last && !m.behind:
		m.dead.Store(true)
		return 0, journal.ErrBroken
	case full:
		return 0, journal.ErrNoRoom
	}
	first, err := m.Journal.Append(events)
	m.wait("appended")
	if last {
		m.dead.Store(true)
		return 0, journal.ErrBroken
	}
	return first, err
}

func (m *mortal) Read(from int64, each func(journal.Event) error) error {
	m.wait("read")
	if m.dead.Load() {
		return journal.ErrBroken
	}
	return m.Journal.Read(from, each)
}

func (m *mortal) Trim(before int64) error {
	if m.dead.Load() {
		return journal.ErrBroken
	}
	return m.Journal.Trim(before)
}

func (m *mortal) Erase(ids []string) error {
	m.wait("erase")
	if m.dead.Load() {
		return journal.ErrBroken
	}
	return m.Journal.Erase(ids)
}

// clientKey is that of the client in a context.
type clientKey struct{}

// historian sends requests to a daemon in several lives, and keeps what came of them.
type historian struct {
	seed  uint64
	clock atomic.Int64
	mu    sync.Mutex
	ops   []porcupine.Operation
}

// Samples of a history, which have one picture each, and labels.
const (
	historyIDs    = 5
	historyLabels = 5
	historySplits = 3 // further ones, of classes that are split off
)

// historyPicture is the picture of an id as it is sent: pixels, or the file of a smaller picture, which is kept as it
// is.
func historyPicture(seed uint64, id int) (pixels, file []byte) {
	draw := rand.New(rand.NewPCG(seed, uint64(id)))
	if id%2 == 0 {
		return nil, fileOf(draw)
	}
	pixels = make([]byte, 3*side*side)
	for i := range pixels {
		pixels[i] = byte(draw.IntN(256))
	}
	return pixels, nil
}

// fileOf is a small picture file of any colours.
func fileOf(draw *rand.Rand) []byte {
	img := image.NewNRGBA(image.Rect(0, 0, 2, 2))
	for i := range img.Pix {
		if img.Pix[i] = byte(draw.IntN(256)); i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	var b bytes.Buffer
	if err := bmp.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// do makes a call.
func (h *historian) do(d *Daemon, client int, c call, n int) {
	began := h.clock.Add(1)
	var err error
	ctx := context.WithValue(context.Background(), clientKey{}, client)
	c.came = "ok"
	pixels, file := historyPicture(h.seed, n)
	if file != nil {
		pixels = make([]byte, 3*side*side)
		if err := d.Decode(ctx, file, pixels); err != nil {
			panic(err)
		}
	}
	switch c.kind {
	case "learn":
		_, err = d.Learn(ctx, []Sample{{ID: c.id, Label: c.label, Pixels: pixels, File: file}}, "")
	case "remember":
		_, err = d.Remember(ctx, []Remembered{{ID: c.id, Pixels: pixels, File: file}}, "")
	case "label":
		_, err = d.Label(ctx, c.id, c.label, "")
	case "unlabel":
		_, err = d.Unlabel(ctx, c.id, "")
	case "mark":
		_, err = d.Mark(ctx, c.id, []string{MarkSkipped, MarkDeleted, ""}[client%3], "")
	case "forget":
		_, err = d.Forget(ctx, Which{IDs: []string{c.id}}, "")
	case "rename":
		_, err = d.RenameClass(ctx, c.label, c.into, "")
	case "merge":
		_, err = d.MergeClass(ctx, c.label, c.into, "")
	case "split":
		_, err = d.SplitClass(ctx, c.label, c.into, c.ids, "")
	case "remove":
		_, err = d.RemoveClass(ctx, c.label, "")
	case "read":
		i, there := d.Sample(c.id)
		switch {
		case !there:
			c.came = "absent"
		case i.State == StateErased:
			c.came = "forgotten"
		case i.Label != "":
			c.came = "is " + i.Label
		default:
			c.came = i.State
		}
	}
	ended := h.clock.Add(1)
	if err != nil {
		c.came = "refused"
		for e, name := range told {
			if errors.Is(err, e) {
				c.came = name
			}
		}
		if errors.Is(err, ErrBroken) || errors.Is(err, ErrFault) || errors.Is(err, ErrDraining) {
			c.came, ended = "", math.MaxInt64/2
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: c, Output: c, Call: began, Return: ended})
}

// historyOf makes a history of one seed: several clients, lives that end by a kill or in order, and a last one, in
// which all is read. It says what is wrong.
func historyOf(seed uint64, dir string) (ops []porcupine.Operation, err error) {
	draw := rand.New(rand.NewPCG(seed, 1))
	o := small()
	o.Batch, o.Age, o.Queue, o.HeldOut, o.Retain = 1+draw.IntN(3), time.Duration(draw.IntN(2)), 30, 0.1, true
	o.VersionEvery = 1 + draw.IntN(20)
	if draw.IntN(2) == 0 {
		o.SnapshotBytes = 1
	}
	forgets, drops := draw.IntN(2) == 0, draw.IntN(4) == 0
	if draw.IntN(2) == 0 {
		o.Remember.Count = 1
	}
	if drops {
		o.IDs = 2
	}
	if o.Live.MaxClasses = 3; draw.IntN(2) == 0 {
		o.Live.MaxClasses = 0
	}
	if draw.IntN(4) == 0 {
		o.Live.Set = append(slices.Clone(o.Live.Set), "optimizer.lr=1e30")
	}
	if draw.IntN(3) == 0 { // a method that undoes
		method := []string{"ncm", "slda", "ranpac"}[draw.IntN(3)]
		most := o.Live.MaxClasses
		o.Live = sums(method).Live
		o.Live.MaxClasses = most
	}
	p := &pauses{seed: seed, draw: map[string]*rand.Rand{}}
	o.Live.AtOnce, o.point, o.chance = 1, func(ctx context.Context,
		name string) {
		p.wait(fmt.Sprint(ctx.Value(clientKey{}), name))
	}, func() float64 { return p.next("chance") }
	h := &historian{seed: seed}
	for life := range 1 + draw.IntN(3) {
		j, err := journal.Open(dir, journal.Options{Retain: true})
		if err != nil {
			return h.ops, err
		}
		m := &mortal{Journal: j, pauses: p, appends: -1}
		d, err := openOn(m, dir, o, nil)
		if err != nil {
			return h.ops, fmt.Errorf("life %d: %w", life, err)
		}
		m.mu.Lock()
		m.full = 0.1 * float64(draw.IntN(2))
		if draw.IntN(3) > 0 {
			m.appends, m.behind = 1+draw.IntN(15), draw.IntN(2) == 0
		}
		m.mu.Unlock()
		var clients sync.WaitGroup
		for client := range 3 {
			mine := rand.New(rand.NewPCG(seed, uint64(100+10*life+client)))
			clients.Go(func() {
				for range 8 {
					p.wait(fmt.Sprint(client))
					n := mine.IntN(historyIDs)
					kinds := []string{"learn", "remember", "label", "label", "unlabel", "mark", "read"}
					if forgets && mine.IntN(4) == 0 {
						kinds = []string{"forget"}
					}
					c := call{kind: kinds[mine.IntN(len(kinds))], id: fmt.Sprint("id-", n),
						label: fmt.Sprint("class ", mine.IntN(historyLabels))}
					if mine.IntN(8) == 0 {
						c.kind = []string{"rename", "merge", "split"}[mine.IntN(3)]
						if forgets && mine.IntN(3) == 0 {
							c.kind = "remove"
						}
						c.id, c.into = "", fmt.Sprint("class ", mine.IntN(historyLabels))
						if c.kind == "split" {
							c.into = fmt.Sprint("class ", historyLabels-1+mine.IntN(historySplits+1))
							for k := range historyIDs { // most of one class
								id := fmt.Sprint("id-", (n+k)%historyIDs)
								i, there := d.Sample(id)
								if there && i.Label != "" && (c.ids == nil || i.Label == c.label || mine.IntN(6) == 0) {
									c.ids, c.label = append(c.ids, id), i.Label
								}
							}
							if c.ids == nil || mine.IntN(6) == 0 {
								c.ids = append(c.ids, fmt.Sprint("id-", n))
							}
						}
					}
					if (c.kind == "forget" || c.kind == "remove") && m.full > 0 { // which waits until there is room
						continue
					}
					h.do(d, client, c, n)
				}
			})
		}
		clients.Wait()
		m.mu.Lock()
		m.full = 0
		m.mu.Unlock()
		d.nudge()
		if err := d.Close(context.Background()); err != nil && !m.dead.Load() {
			return h.ops, fmt.Errorf("life %d: close: %w", life, err)
		}
	}
	o.Age, o.Batch = 1, 2
	d, err := Open(dir, o)
	if err != nil {
		return h.ops, fmt.Errorf("the last life: %w", err)
	}
	defer d.Close(context.Background())
	if err := d.until(context.Background(), func() bool {
		return !d.busyNow() &&
			len(d.state.unerased) == 0
	}); err != nil {
		return h.ops, err
	}
	forgot := false
	for n := range historyIDs {
		id := fmt.Sprint("id-", n)
		h.do(d, 3, call{kind: "read", id: id}, n)
		if i, _ := d.Sample(id); i.State == StateErased {
			forgot = true
			pixels, file := historyPicture(seed, n)
			if found, err := holds(dir, append(pixels, file...)); err != nil || found {
				return h.ops, errors.Join(fmt.Errorf("%s was erased, and a file has it: %v", id, found), err)
			}
		}
	}
	if !porcupine.CheckOperations(samplesModel(drops), h.ops) {
		var text strings.Builder
		for _, o := range h.ops {
			if porcupine.CheckOperations(samplesModel(drops),
				slices.DeleteFunc(slices.Clone(h.ops),
					func(p porcupine.Operation) bool {
						of := p.Input.(call).id
						return of != "" && of != o.Input.(call).id
					})) {
				continue
			}
			fmt.Fprintf(&text, "\n%d to %d, client %d: %+v", o.Call, o.Return, o.ClientId, o.Output)
		}
		return h.ops, fmt.Errorf("the answers fit no order of the requests:%s", text.String())
	}
	if forgot || drops { // whoever replays the journal does not see what was erased
		return h.ops, nil
	}
	want, err := d.stateDigest()
	if err != nil {
		return h.ops, err
	}
	s := newState(nil, o.complete(), journal.Versions(dir))
	if err := s.from(d.files, 0); err != nil {
		return h.ops, err
	}
	defer s.trainer.Close()
	if err := s.replay(context.Background(), d.journal, 1<<62); err != nil && !errors.Is(err, live.ErrClosed) {
		return h.ops, err
	}
	if got, err := s.digest(); err != nil || got != want {
		return h.ops, errors.Join(errors.New("an undisturbed replay makes another state"), err)
	}
	return h.ops, nil
}

// TestHistories: whatever several clients ask at the same time, and wherever a kill, a full disk or a pause comes
// between, the answers are those of a daemon that does one thing after the other; what was acknowledged is there
// afterwards, what was erased is in no file, and an undisturbed replay makes the same state.
func TestHistories(t *testing.T) {
	t.Parallel()
	n := 200
	switch {
	case *histories > 0:
		n = *histories
	case os.Getenv("OCL_LONG") != "":
		n = 10_000
	case testing.Short():
		n = 50
	}
	first := rand.Uint64N(1 << 40)
	if *historySeed != 0 {
		first, n = *historySeed, 1
	}
	for worker := range 2 {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			for k := worker; k < n && !t.Failed(); k += 2 {
				if _, err := history(t, first+uint64(k)); err != nil {
					t.Errorf("history %d, -historyseed=%d: %v", k+1, first+uint64(k), err)
				}
			}
		})
	}
}

// history makes a history of one seed in a bubble of its own, and says what each client asked and was told, and what is
// wrong.
func history(t *testing.T, seed uint64) (told [4][]any, err error) {
	dir, fault := os.MkdirTemp(t.TempDir(), "")
	if fault != nil {
		t.Fatal(fault)
	}
	var ops []porcupine.Operation
	synctest.Test(t, func(*testing.T) { ops, err = historyOf(seed, dir) })
	for _, o := range ops {
		told[o.ClientId] = append(told[o.ClientId], o.Output)
	}
	return told, errors.Join(err, os.RemoveAll(dir))
}

// TestHistoriesRepeat: a seed makes the same history again, but for the few where two goroutines go on at the same
// instant.
func TestHistoriesRepeat(t *testing.T) {
	t.Parallel()
	same := 0
	for seed := range uint64(20) {
		a, err := history(t, seed)
		b, again := history(t, seed)
		if err := errors.Join(err, again); err != nil {
			t.Fatal(err)
		}
		if reflect.DeepEqual(a, b) {
			same++
		}
	}
	if same < 15 {
		t.Errorf("%d of 20 seeds made the same history again", same)
	}
}
