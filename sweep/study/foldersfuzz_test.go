package study

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/internal/fuzztest"
	"ocl/run/progress"
)

// FuzzFolder reads the files of a study of which one is changed, and takes its job: nothing panics, memory is in
// proportion to the file, no message has raw bytes of it, and a job that can be claimed is given back.
func FuzzFolder(f *testing.F) {
	e := Entry{Key: strings.Repeat("0a", 32), Folder: "er-m50-s1-0a0a0a0a", Name: "er", Steps: 10, FLOPs: 1}
	accuracy := 0.5
	text := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	line := func(b []byte) []byte {
		l, err := checkedLine(json.RawMessage(b))
		if err != nil || !bytes.HasPrefix(b, []byte("{")) {
			return b
		}
		return l
	}
	padded := func(b []byte) []byte {
		return append(append(b, bytes.Repeat([]byte{' '}, max(0, attemptBytes-1-len(b)))...), '\n')
	}
	same := func(b []byte) []byte { return b }
	job := func(b []byte) []byte { return append(line(text(jobsHead{jobsFormat, 1, 1})), line(b)...) }
	begun := text(attempt{Attempt: Attempt{Number: 1, Progress: progress.Progress{Host: "x", PID: 1, Step: 3}}})
	files := []struct {
		name string
		base []byte
		pack func([]byte) []byte // of a changed base
	}{
		{e.Folder + "/" + attemptFile, begun, padded},
		{e.Folder + "/" + doneFile, text(doneNote{Key: e.Key, stamp: stamp{Size: 10, Modified: 1}, Outcome: "finished",
			Accuracy: &accuracy, Step: 3}), line},
		{e.Folder + "/" + failedFile, text(failure{Format: failureFormat, Version: 1, Error: "x", Host: "y", Attempt: 2}),
			same},
		{jobsFile, text(e), job},
		{jobsFile, text(jobsHead{jobsFormat, 1, 1}), func(b []byte) []byte { return append(line(b), line(text(e))...) }},
		{shardsFile, []byte("8\n"), same},
		{StudyFile, []byte(`{"study": 1, "methods": ["er"], "made": {"numbers": 2, "kernel": "avx2", "convolution": "direct", "data": {"glyphs": "sha256:00"}}}`),
			same},
	}
	for i := range files {
		f.Add(byte(i), true, []byte{})
		f.Add(byte(i), true, []byte{3, 0, 0, 9, 1, 4, 20, 6, 7})
		f.Add(byte(i), false, files[i].base)
	}
	f.Fuzz(func(t *testing.T, which byte, whole bool, b []byte) {
		file := files[int(which)%len(files)]
		if whole {
			b = file.pack(fuzztest.JSON(file.base, fuzztest.Of(b)))
		}
		dir := t.TempDir()
		path := filepath.Join(dir, file.name)
		put := func() {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		plain := func(err error) {
			if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }) {
				t.Fatalf("a message has raw bytes of the file: %q", err)
			}
		}
		most := uint64(8<<20 + 500*len(b))
		if n := fuzztest.Allocated(most, func() {
			put() // a claim may have removed it
			s := OpenFolder(dir)
			s.State(e)
			c, _, err := s.Claim(e)
			plain(err)
			if c != nil {
				plain(c.Beat(progress.Progress{Step: 4}))
				plain(c.Release())
			}
			if st := s.State(e); c != nil && st.Phase == progress.Running {
				t.Fatalf("a job that was given back is %+v", st)
			}
			plain(Shard{1, 8}.Begin(dir))
			_, err = ReadJobs(dir)
			plain(err)
			_, _, err = ReadMade(dir) // FuzzStudy reads what the study says
			plain(err)
		}); n > most {
			t.Fatalf("%d bytes were allocated for a file of %d", n, len(b))
		}
	})
}
