package largepages

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// flags are those of the mapping that an address lies in, as the system tells them.
func flags(t *testing.T, at uintptr) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	head, inside := regexp.MustCompile(`^([0-9a-f]+)-([0-9a-f]+) `), false
	for line := range strings.Lines(string(text)) {
		if m := head.FindStringSubmatch(line); m != nil {
			from, _ := strconv.ParseUint(m[1], 16, 64)
			to, _ := strconv.ParseUint(m[2], 16, 64)
			inside = uint64(at) >= from && uint64(at) < to
		}
		if f, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			return f
		}
	}
	t.Fatalf("no mapping has address %x", at)
	return ""
}

// TestFloats: all of an array may be put on large pages, and a short one is an array too.
func TestFloats(t *testing.T) {
	if v := Floats(3); len(v) != 3 || v[0] != 0 {
		t.Errorf("%v, want three zeros", v)
	}
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skipf("only short arrays were tried, as this Linux has no transparent large pages: %v", err)
	}
	for _, n := range []int{least / 4, large/4 + 1, 3 * large} {
		v := Floats(n)
		for _, p := range []*float32{&v[0], &v[n/2], &v[n-1]} {
			if f := flags(t, uintptr(unsafe.Pointer(p))); !strings.Contains(f, " hg") {
				t.Errorf("%d floats: the memory of one has flags %q, want hg", n, f)
			}
		}
	}
}
