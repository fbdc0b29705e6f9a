package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/internal/fuzztest"
)

const recordSize = 40

// shelf is a memory of records: what a learner has between two checkpoints.
type shelf struct {
	ids  []uint64
	data [][]byte
}

func newShelf(n int) *shelf {
	s := &shelf{}
	for i := range n {
		s.ids, s.data = append(s.ids, 0), append(s.data, nil)
		s.put(i, 0)
	}
	return s
}

// put puts other bytes into a place; the former ones stay as they are.
func (s *shelf) put(i, value int) {
	s.ids[i], s.data[i] = NewID(), bytes.Repeat([]byte{byte(value), byte(value >> 8), byte(i), byte(i >> 8)}, recordSize/4)
}

// container is what is on the shelf at a step, beside another section.
func (s *shelf) container(step int) *Container {
	c := numbered(step)
	data := slices.Clone(s.data)
	c.Encoder().Sub("m").Records("pixels", Records{Size: recordSize, IDs: slices.Clone(s.ids),
		Append: func(dst []byte, i int) []byte { return append(dst, data[i]...) }})
	return c
}

func (s *shelf) bytes() []byte { return slices.Concat(s.data...) }

// recordsIn takes the records of what was loaded.
func recordsIn(t *testing.T, l Loaded) (ids []uint64, data []byte) {
	t.Helper()
	ids, data, err := l.Decoder().Sub("m").Records("pixels", recordSize)
	if err != nil {
		t.Fatal(err)
	}
	return ids, data
}

// sizes are the lengths of the files of records in the folder.
func (r *ram) sizes() (n, total int) {
	for _, name := range r.files() {
		if isRecordFile(name) {
			n++
			total += len(r.names[filepath.Join("ck", name)].data)
		}
	}
	return n, total
}

// TestRecordsAreWrittenOnce saves a memory in which fewer and fewer records change, as a reservoir's do. Every checkpoint is
// loaded as it was saved, and a process that loads one goes on. What is written is little more than what changed, and the
// folder has few files.
func TestRecordsAreWrittenOnce(t *testing.T) {
	const records, saves = 500, 120
	disk, r := newRAM(), rand.New(rand.NewPCG(1, 2))
	s := newShelf(records)
	d := &Dir{folder: "ck", fs: disk, inlineBytes: 1}
	changed, written, most := records, 0, 0
	for step := 1; step <= saves; step++ {
		before := map[string]bool{}
		for _, name := range disk.files() {
			before[name] = true
		}
		path, err := d.Save(step, s.container(step))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range disk.files() {
			if isRecordFile(name) && !before[name] {
				written += (len(disk.names[filepath.Join("ck", name)].data) - recordsHeader) / recordSize
			}
		}
		files, total := disk.sizes()
		most = max(most, files)
		if total > 5*records*recordSize {
			t.Fatalf("step %d: %d bytes of records for a memory of %d", step, total, records*recordSize)
		}
		if n := len(disk.names[path].data); n > 8*records+2000 {
			t.Fatalf("step %d: a checkpoint of %d bytes", step, n)
		}
		if step%7 == 0 { // another process
			d = &Dir{folder: "ck", fs: disk, inlineBytes: 1}
		}
		got, err := d.Load()
		if err != nil || stepIn(t, got) != step || len(got.Skipped) != 0 || got.Size() != s.container(step).Size() {
			t.Fatalf("step %d: loaded %s: %v, skipped %v", step, got.Path, err, got.Skipped)
		}
		if !got.Equal(s.container(step)) {
			t.Fatalf("step %d: loaded something else", step)
		}
		ids, data := recordsIn(t, got)
		if !bytes.Equal(data, s.bytes()) {
			t.Fatalf("step %d: other records were loaded", step)
		}
		s.ids = ids
		for range 2000 / (10 + 3*step) {
			s.put(r.IntN(records), step)
			changed++
		}
	}
	t.Logf("%d records changed, %d were written, at most %d files", changed, written, most)
	if written > 2*changed {
		t.Errorf("%d records were written, and %d had changed", written, changed)
	}
	if most > 2*mostFiles { // of two checkpoints
		t.Errorf("up to %d files of records", most)
	}
}

// TestRecordsThatStay: a checkpoint of a memory that has not changed writes no record, and one that is small has no file of
// records and is of version 1.
func TestRecordsThatStay(t *testing.T) {
	disk, s := newRAM(), newShelf(10)
	d := &Dir{folder: "ck", fs: disk, inlineBytes: 1}
	for step := 1; step <= 3; step++ {
		if _, err := d.Save(step, s.container(step)); err != nil {
			t.Fatal(err)
		}
	}
	if n, total := disk.sizes(); n != 1 || total != recordsHeader+10*recordSize {
		t.Errorf("%d files of %d bytes, want one with ten records", n, total)
	}
	d.inlineBytes = 10 * recordSize
	for step := 4; step <= 5; step++ {
		path, err := d.Save(step, s.container(step))
		if err != nil || disk.names[path].data[len(magic)] != inOneFile {
			t.Errorf("a small memory: %v, version %d", err, disk.names[path].data[len(magic)])
		}
	}
	if n, _ := disk.sizes(); n != 0 {
		t.Errorf("%d files of records stay", n)
	}
	if got, err := d.Load(); err != nil || !got.Equal(s.container(5)) {
		t.Errorf("loaded something else: %v", err)
	}
}

// TestRecordsStoppedAtAnyInstant is TestStoppedAtAnyInstant for a memory in files of records.
func TestRecordsStoppedAtAnyInstant(t *testing.T) {
	const last = 6
	states := map[int][]byte{}
	s := newShelf(12)
	var containers []*Container
	for step := 1; step <= last; step++ {
		s.put(step, step)
		s.put(3*step%12, step)
		states[step] = s.bytes()
		containers = append(containers, s.container(step))
	}
	for stop := 1; ; stop++ {
		disk := newRAM()
		disk.stop = stop
		d := &Dir{folder: "ck", fs: disk, inlineBytes: 1}
		saved := 0
		var err error
		for step := 1; step <= last && err == nil; step++ {
			if _, err = d.Save(step, containers[step-1]); err == nil {
				saved = step
			}
		}
		if err == nil {
			if stop < 100 {
				t.Fatalf("%d checkpoints took %d operations; the test stops at too few places", last, stop)
			}
			return
		}
		for name, after := range map[string]*ram{"kill": disk.kill(), "power cut": disk.cut()} {
			what := fmt.Sprintf("%s before operation %d, %d saved", name, stop+1, saved)
			d := &Dir{folder: "ck", fs: after, inlineBytes: 1}
			got, err := d.Load()
			if saved == 0 && errors.Is(err, iofs.ErrNotExist) {
				continue
			}
			if err != nil || len(got.Skipped) != 0 {
				t.Fatalf("%s: %v, skipped %v", what, err, got.Skipped)
			}
			step := stepIn(t, got)
			ids, data := recordsIn(t, got)
			if step != saved && step != saved+1 || !bytes.Equal(data, states[step]) {
				t.Fatalf("%s: loaded step %d, or other records", what, step)
			}
			next := newShelf(12)
			next.ids = ids
			for i := range next.data {
				next.data[i] = data[i*recordSize : (i+1)*recordSize]
			}
			next.put(5, 99)
			for more := 1; more <= 2; more++ {
				if _, err := d.Save(step+more, next.container(step+more)); err != nil {
					t.Fatalf("%s: saving on: %v", what, err)
				}
			}
			for _, name := range after.files() {
				if strings.HasSuffix(name, tempSuffix) {
					t.Fatalf("%s: %s stays", what, name)
				}
			}
			if got, err := (&Dir{folder: "ck", fs: after, inlineBytes: 1}).Load(); err != nil || !got.Equal(next.container(step+2)) {
				t.Fatalf("%s: loaded something else after saving on: %v", what, err)
			}
		}
	}
}

// TestDamagedRecords: whatever happens to a file of records that only the newest checkpoint names, the one before it is
// loaded, and the message names the file.
func TestDamagedRecords(t *testing.T) {
	for name, damage := range map[string]func(disk *ram, path string){
		"missing": func(disk *ram, path string) { delete(disk.names, path) },
		"empty":   func(disk *ram, path string) { disk.names[path].data = nil },
		"cut":     func(disk *ram, path string) { disk.names[path].data = disk.names[path].data[:90] },
		"flipped": func(disk *ram, path string) { disk.names[path].data[90] ^= 1 },
		"header":  func(disk *ram, path string) { disk.names[path].data[9] ^= 1 },
	} {
		disk, s := newRAM(), newShelf(50)
		d := &Dir{folder: "ck", fs: disk, inlineBytes: 1}
		if _, err := d.Save(1, s.container(1)); err != nil {
			t.Fatal(err)
		}
		first, old := s.bytes(), disk.files()
		for i := range 10 {
			s.put(i, 7)
		}
		if _, err := d.Save(2, s.container(2)); err != nil {
			t.Fatal(err)
		}
		file := ""
		for _, name := range disk.files() {
			if isRecordFile(name) && !slices.Contains(old, name) {
				file = name
			}
		}
		damage(disk, filepath.Join("ck", file))
		d = &Dir{folder: "ck", fs: disk, inlineBytes: 1}
		got, err := d.Load()
		if err != nil || stepIn(t, got) != 1 || len(got.Skipped) != 1 || !errors.Is(got.Skipped[0], ErrCorrupt) ||
			!strings.Contains(got.Skipped[0].Error(), file) {
			t.Fatalf("%s: loaded %s: %v, skipped %v", name, got.Path, err, got.Skipped)
		}
		if _, data := recordsIn(t, got); !bytes.Equal(data, first) {
			t.Errorf("%s: other records than those of step 1", name)
		}
		for _, other := range disk.files() {
			if isRecordFile(other) && other != file { // the same damage again could undo itself
				damage(disk, filepath.Join("ck", other))
			}
		}
		delete(disk.names, filepath.Join("ck", "step-1.ckpt"))
		if _, err := (&Dir{folder: "ck", fs: disk, inlineBytes: 1}).Load(); !errors.Is(err, ErrCorrupt) || errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("%s: all damaged: %v, want ErrCorrupt", name, err)
		}
	}
}

// TestRecordsTaken: records are taken from a container once, and belong to who took them.
func TestRecordsTaken(t *testing.T) {
	disk, s := newRAM(), newShelf(3)
	d := &Dir{folder: "ck", fs: disk, inlineBytes: 1}
	if _, err := d.Save(1, s.container(1)); err != nil {
		t.Fatal(err)
	}
	got, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	recordsIn(t, got)
	if _, _, err := got.Decoder().Sub("m").Records("pixels", recordSize); err == nil {
		t.Error("records were taken twice")
	}
	c := s.container(1)
	for range 2 { // those of a container in memory are copied
		_, data, err := c.Decoder().Sub("m").Records("pixels", recordSize)
		if err != nil || !bytes.Equal(data, s.bytes()) {
			t.Fatalf("other records: %v", err)
		}
		clear(data)
	}
}

// FuzzRecords: no list of places and no file of records makes reading panic or take more memory than a few times their
// lengths, also when the digest of the file is set right.
func FuzzRecords(f *testing.F) {
	good := filed{name: "m", size: 4, files: []recordFile{{count: 3}}, places: []place{{0, 2}, {0, 0}}}
	file := append(good.files[0].header(4), "aaaabbbbcccc"...)
	f.Add(good.encode(), file)
	f.Add(good.encode()[:30], file)
	f.Add(good.encode(), file[:20])
	f.Fuzz(func(t *testing.T, places, file []byte) {
		most := uint64(64*(len(places)+len(file)) + 1<<17)
		var err error
		if n := fuzztest.Allocated(most, func() {
			var p filed
			if p, err = parsePlaces("m", places); err != nil {
				return
			}
			if !bytes.Equal(p.encode(), places) {
				t.Error("places are written back as something else")
			}
			disk := newRAM()
			for i := range p.files {
				p.files[i].digest = digestOf(file)
				disk.names[filepath.Join("ck", p.files[i].name())] = &inode{data: file}
			}
			var r *records
			if r, err = p.read(disk, "ck"); err == nil && len(r.loaded) != p.size*len(p.places) {
				t.Errorf("%d bytes of %d records", len(r.loaded), len(p.places))
			}
		}); n > most {
			t.Fatalf("%d bytes were allocated for %d of places and %d of records", n, len(places), len(file))
		}
		if err != nil && !errors.Is(err, ErrCorrupt) && !strings.Contains(err.Error(), "it") && !strings.Contains(err.Error(), "place") {
			t.Errorf("error %v", err)
		}
	})
}

func digestOf(file []byte) [digestSize]byte { return sha256.Sum256(file) }
