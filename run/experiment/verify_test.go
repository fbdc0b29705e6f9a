package experiment

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"ocl/run/build"
	"ocl/run/result"
)

var update = flag.Bool("update", false, "write a small result of each method that has none; remove a file to write it anew")

// TestEveryMethodVerifies: a small result of each method, and some of larger networks, made on amd64 by the program of
// then, are those of their runs today, bit for bit, by every kernel set with AVX2's bits. An option that is younger
// than a result has its default, and the default changes no number. The results of A-GEM and MIR lack an option each,
// as those of older programs do.
func TestEveryMethodVerifies(t *testing.T) {
	needsAVX2(t)
	const folder = "testdata/verify"
	for _, m := range build.Schema().Methods {
		file := filepath.Join(folder, m.Name+result.Packed)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) && *update {
			smallResult(t, m.Name, file)
		} else if err != nil {
			t.Errorf("%v. \"go test ./run/experiment -run TestEveryMethodVerifies -update\" writes one of a new method", err)
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(file.Name(), func(t *testing.T) {
			made, err := result.Read(filepath.Join(folder, file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if d, values := rerun(t, made, Options{}); len(d) > 0 || values < 300 {
				t.Errorf("%d values are compared, of which differ %v", values, d)
			}
		})
	}
}

// rerun makes the run of a result again and compares.
func rerun(t *testing.T, made *result.Result, o Options) (differences []result.Difference, values int) {
	t.Helper()
	x, err := OpenRerun(t.Context(), made, "", o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	differences, values, err = result.Compare(Schema(), made, got[0])
	if err != nil {
		t.Fatal(err)
	}
	return differences, values
}

// smallResult makes a run of a method and keeps its result in a file.
func smallResult(t *testing.T, name, file string) {
	t.Helper()
	c := one(name)
	c.Engine.Kernel, c.Engine.Convolution = "avx2", "winograd"
	r := mustRun(t, c, Options{Workers: 1})[0]
	text, err := result.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, err = z.Write(text)
	err = errors.Join(err, z.Close(), os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, b.Bytes(), 0o666))
	if err != nil {
		t.Fatal(err)
	}
}
