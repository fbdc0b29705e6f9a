package experiment

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ocl/experiment/result"
)

// TestLoadReadsNoDisk: of a file that is far too long only what could be a config or a result is read.
func TestLoadReadsNoDisk(t *testing.T) {
	for begin, most := range map[string]uint64{"seed: 1 #": 20 << 20, "{": 600 << 20} {
		path := filepath.Join(t.TempDir(), "long")
		if err := os.WriteFile(path, []byte(begin), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 2<<30); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, _, err := Load(path)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "the file has more than 1048576 bytes") {
			t.Errorf("%q: %v", begin, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Errorf("%q: took %d MB", begin, used>>20)
		}
	}
}

// TestLoadUnpacks: a committed result, which gzip compressed, gives its config without the folder of the data. One that
// is cut off is an error that names the file.
func TestLoadUnpacks(t *testing.T) {
	const committed = "../results/cifar100/methods/mir-m5000-s1.json.gz"
	c, _, _, err := Load(committed)
	if err != nil || c.Memory != 5000 || c.Engine.Kernel != "avx2" || c.Data.Dir != "" {
		t.Errorf("read as %+v (%v)", c, err)
	}
	file, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cut.json.gz")
	if err := os.WriteFile(path, file[:len(file)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := Load(path); !errors.Is(err, result.ErrDamaged) || !strings.Contains(err.Error(), "cut.json.gz: damaged: it cannot be decompressed") {
		t.Errorf("cut off: %v", err)
	}
}

// TestKey: the key of a result is that of the job that left it.
func TestKey(t *testing.T) {
	x, err := Open(t.Context(), one("er"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	j := x.Jobs()[0]
	r := &result.Result{Config: j.Config}
	r.Provenance = result.Provenance{Numbers: result.Numbers, Kernel: j.Identity.Kernel, Convolution: j.Identity.Convolution, DataDigest: j.Identity.Data}
	if got := Key(r); got != j.Key {
		t.Errorf("the key is %s, want %s", got, j.Key)
	}
	r.Config.Data.Dir = "elsewhere"
	if Key(r) != j.Key {
		t.Error("the key depends on the folder of the data")
	}
	r.Config.Seed++
	if Key(r) == j.Key {
		t.Error("another seed has the same key")
	}
}
