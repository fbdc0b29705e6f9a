package pickle

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// file is a file of testdata.
func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// source is how a pickle is handed to a reader.
func source(b []byte) (*bytes.Reader, int64) { return bytes.NewReader(b), int64(len(b)) }

// show writes a value as Go and Python literals do, so that a test can compare it with a line of text.
func show(v value) string {
	switch r := v.ref.(type) {
	case none:
		return "None"
	case integer:
		return fmt.Sprint(v.n)
	case bool:
		return fmt.Sprint(r)
	case text:
		return fmt.Sprintf("%q", r)
	case data:
		return fmt.Sprintf("%q", utf8Of(r))
	case *list:
		var parts []string
		for i := range r.len() {
			parts = append(parts, show(r.at(i)))
		}
		if r.tuple {
			return "(" + strings.Join(parts, " ") + ")"
		}
		return "[" + strings.Join(parts, " ") + "]"
	case *dict:
		var parts []string
		for _, e := range r.entries {
			parts = append(parts, e.key.String()+":"+show(e.value))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case *Array:
		return fmt.Sprintf("%s %v %s %x", r, r.Shape, r.DType, r.Data)
	}
	return v.String()
}

// TestEveryProtocolGivesTheSameValues reads one dictionary, written by Python 3 in each protocol and as Python 2 writes it.
// The script testdata/make.py has the dictionary.
func TestEveryProtocolGivesTheSameValues(t *testing.T) {
	long := strings.Repeat("abc", 100)
	want := map[string]string{
		"text":     `"hé\n\\ →"`,
		"bytes":    `"\x00\n'\"\\ÿ\x1a"`,
		"no bytes": `""`,
		"long":     `"` + long + `"`,
		"ints":     "[0 1 255 256 65535 65536 -1 -129 2147483647 -2147483648 2147483648 9223372036854775807 -9223372036854775808]",
		"flags":    "[true false None]",
		"tuples":   `[() (1) (1 2) (1 2 "x") (1 2 3 4)]`,
		"mixed":    `[1 2 "three" 4]`,
		"empty":    "[[] {}]",
		"keys":     `{0:"zero" -1:"minus one" 70000:"many"}`,
		"shared":   "[[3 1 2] [3 1 2]]",
		"u1":       "uint8 [2,3] [2 3] |u1 000102030405",
		"i8":       "int64 [3] [3] <i8 ffffffffffffffff00000000000000000100000000000000",
		"big":      "int16, the highest byte first, [3] [3] >i2 ffff00000001",
		"fortran":  "uint8 in Fortran order [2,3] [2 3] |u1 000301040205",
		"nothing":  "uint8 [0,3] [0 3] |u1 ",
		"single":   "uint16 [] [] <u2 0700",
		"scalar":   "[-5 200]",
		"floats":   "float32 [2] [2] <f4 0000003f000000c0",
		"bools":    "bool [2] [2] |b1 0100",
	}
	names, err := filepath.Glob("testdata/values-*.pkl")
	if err != nil || len(names) != 9 {
		t.Fatalf("%d files (%v), want protocols 0 to 5, and 0 to 2 of Python 2", len(names), err)
	}
	for _, name := range names {
		root, err := Read(source(file(t, filepath.Base(name))))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if view, err := View(file(t, filepath.Base(name))); err != nil || show(view.v) != show(root.v) {
			t.Errorf("%s: in memory it is %s (%v)", name, show(view.v), err)
		}
		keys, err := root.Keys()
		if err != nil || len(keys) != len(want) {
			t.Errorf("%s: keys %q (%v), want %d", name, keys, err, len(want))
		}
		for _, k := range keys {
			if v, err := root.Key(k); err != nil || show(v.v) != want[k] {
				t.Errorf("%s: %s is %s (%v), want %s", name, k, show(v.v), err, want[k])
			}
		}
	}
}

// TestAListOfIntegersIsNotBoxed: a list of a million integers takes the 8 bytes of each, twice while it grows, and nothing
// for each.
func TestAListOfIntegersIsNotBoxed(t *testing.T) {
	const batches, each = 1000, 1000
	b := []byte("\x80\x02]")
	for range batches {
		b = append(b, '(')
		for i := range each {
			b = append(b, 'M', byte(i), byte(i>>8))
		}
		b = append(b, 'e')
	}
	b = append(b, '.')
	allocations := testing.AllocsPerRun(1, func() {
		root, err := Read(source(b))
		if err != nil {
			t.Fatal(err)
		}
		ints, err := root.Ints()
		if err != nil || len(ints) != batches*each || ints[each+7] != 7 {
			t.Fatalf("%d integers (%v), want %d", len(ints), err, batches*each)
		}
	})
	if allocations > 200 {
		t.Errorf("%.0f allocations for %d integers", allocations, batches*each)
	}
}

// TestAnArrayIsNotCopied: an array of 32 MiB takes its bytes once.
func TestAnArrayIsNotCopied(t *testing.T) {
	const size = 32 << 20
	for _, array := range []string{
		"cnumpy._core.numeric\n_frombuffer\n(\x96" + le8(size) + string(make([]byte, size)) + u1 + "J" + le4(size) + "\x85\x8c\x01CtR",
		reconstructed + "(K\x01J" + le4(size) + "\x85" + u1 + "\x89B" + le4(size) + string(make([]byte, size)) + "tb",
		reconstructed + "(K\x01J" + le4(size) + "\x85" + u1 + "\x89T" + le4(size) + string(make([]byte, size)) + "tb",
	} {
		b := []byte("\x80\x04}U\x04data" + array + "s.")
		if grown := allocated(t, b); grown > size+1<<20 {
			t.Errorf("%d bytes were allocated for an array of %d", grown, size)
		}
	}
}
