package experiment

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
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
		if _, _, _, err := Load(path); err == nil ||
			!strings.Contains(err.Error(), "it has 2,147,483,648 bytes, and 67,108,864 are the limit") {
			t.Errorf("%q: %v", begin, err)
		}
		if err := os.Truncate(path, 60<<20); err != nil { // as large as a result
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
