package pickle

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"ocl/internal/fuzztest"
)

// TestRefused: whatever calls something, makes an object or refers to something outside the file is refused, and so is
// each damage. The message says where and what.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ pickle, want string }{
		"REDUCE os.system": {"\x80\x02cos\nsystem\n(U\x02idtR.",
			"byte 2: the pickle calls 'os.system', which is not read: data sets are"},
		"STACK_GLOBAL":       {"\x80\x04\x8c\x05posix\x8c\x06system\x93.", "byte 17: the pickle calls 'posix.system',"},
		"a name below numpy": {"cnumpy\nfromfile\n(U\x01xtR.", "the pickle calls 'numpy.fromfile',"},
		"a dotted name": {"\x80\x04\x8c\x05numpy\x8c\x10core.os.system.x\x93.",
			"the pickle calls 'numpy.core.os.system.x',"},
		"control characters": {"c\x1b[2J\n\x07\n.", `the pickle calls "\x1b[2J.\a",`},
		"a long name": {"c" + strings.Repeat("a", 500) + "\nb\n.",
			"the pickle calls '" + strings.Repeat("a", 40) + "…',"},
		"an endless name":       {"c" + strings.Repeat("a", 1<<17) + "\nb\n.", "a name is too long"},
		"called by a list":      {"]]\x93.", "wanted two texts"},
		"a text is called":      {"U\x01x)R.", "byte 4: a string of 1 byte is called with a tuple of 0"},
		"arguments in no tuple": {"cnumpy\ndtype\n]R.", "numpy.dtype is called with a list of 0"},
		"a class is called": {"cnumpy\nndarray\n)R.",
			"numpy.ndarray is called with a tuple of 0, which is not how NumPy writes its arrays"},
		"array of a list": {"cnumpy.core.multiarray\n_reconstruct\n(]K\x00\x85U\x01btR.",
			"which is not how NumPy writes its arrays"},
		"no order": {"cnumpy.core.numeric\n_frombuffer\n(U\x01x" + u1 + "tR.",
			"which is not how NumPy writes its arrays"},
		"BUILD on a dictionary": {"}(NNNNNtb.", "byte 8: the pickle sets the state of a dictionary of 0,"},
		"BUILD on a class":      {"cnumpy\nndarray\n(NNNNNtb.", "the pickle sets the state of numpy.ndarray,"},
		"an object":             {"cnumpy\nndarray\n)\x81.", "byte 16: the pickle has the instruction 0x81,"},
		"protocol 0": {"(dp1\nS'data'\n.",
			"byte 1: the pickle has the instruction 0x64, which is not read: data sets are"},
		"protocol 1":            {"\x80\x01N.", "byte 0: the pickle has protocol 1, and 2 to 5 are read"},
		"nothing":               {"", "byte 0: the file is cut off here"},
		"no STOP":               {"N", "byte 1: the file is cut off here"},
		"more after the end":    {"N.N", "the pickle ends after byte 2, but the file has 3 bytes"},
		"no value":              {".", "leaves 0 values and 0 open marks"},
		"an open mark":          {"(N.", "1 open marks"},
		"below a mark":          {"]NN(\x86.", "found 0 of 2 values"},
		"no mark":               {"]e.", "a mark is needed"},
		"append to a tuple":     {")Na.", "appended to a tuple of 0, wanted a list"},
		"an entry of a list":    {"]U\x01aNs.", "added to a list of 0, wanted a dictionary"},
		"a key of a list":       {"}]Ns.", "the key of a dictionary is a list of 0"},
		"a key twice":           {"}(U\x01aNU\x01aNu.", "has the key 'a' twice"},
		"a key without a value": {"}(U\x01au.", "a key without a value"},
		"a long key": {"}T" + le4(257) + strings.Repeat("k", 257) + "Ns.",
			"is a string of 257 bytes, wanted a text of at most 256"},
		"a memo never made":     {"h\x00.", "memo 0 is used and was never made"},
		"memo far away":         {"Nr" + le4(1<<31) + ".", "memo 2147483648 comes after 0 others"},
		"memo of nothing":       {"q\x00.", "found 0 of 1 value;"},
		"bytes beyond the file": {"B\xff\xff\xff\x7fab", "a value has 2,147,483,647 bytes, but 2 are left"},
		"8 bytes of length":     {"\x8e" + le8(1<<63) + "ab", "a value has 9,223,372,036,854,775,808 bytes, but 2 are left"},
		"a frame":               {"\x80\x04\x95" + le8(1<<40) + "N.", "a frame has 1,099,511,627,776 bytes, but 2 are left"},
		"a long integer":        {"\x8a\x09123456789.", "an integer has 9 bytes, and 8 is the limit"},
		"negative shape": {arrayOf("J\xff\xff\xff\xff\x85", u1, "U\x01x"),
			"the shape of an array has the integer -1, wanted 0 to 2147483647"},
		"a shape too large": {arrayOf("K\x02K\x03\x86", u1, "U\x05abcde"),
			"an array of uint8 [2,3] is a string of 5 bytes, which does not fit its shape"},
		"a shape too small": {arrayOf("K\x02K\x02\x86", u1, "U\x05abcde"), "does not fit its shape"},
		"a shape that overflows": {arrayOf("J\x00\x00\x00\x40J\x00\x00\x00\x40J\x00\x00\x00\x40\x87", u1, "U\x00"),
			"does not fit its shape"},
		"2^64 elements": {arrayOf("(J\x00\x00\x01\x00J\x00\x00\x01\x00J\x00\x00\x01\x00J\x00\x00\x01\x00t", u1,
			"U\x00"), "does not fit its shape"},
		"an axis of 2^40": {arrayOf("\x8a\x06\x00\x00\x00\x00\x00\x01K\x00\x86", u1, "U\x00"),
			"wanted 0 to 2147483647"},
		"9 axes": {arrayOf("("+strings.Repeat("K\x01", 9)+"t", u1, "U\x01x"),
			"wanted a tuple of at most 8 integers"},
		"a shape of texts": {arrayOf("U\x01a\x85", u1, "U\x01x"),
			"the shape of an array has a string of 1 byte, wanted"},
		"a type of None":   {arrayOf("K\x01\x85", "N", "U\x01x"), "the type of an array is None"},
		"contents of None": {arrayOf("K\x01\x85", u1, "N"), "an array of uint8 [1] is None, which does not fit"},
		"a list of objects": {arrayOf("K\x01\x85", strings.Replace(u1, "u1", "O8", 1), "]Na"),
			"the pickle has an array of type 'O8', which is not read"},
		"another byte order": {arrayOf("K\x01\x85", strings.Replace(u1, "|", ">", 1), "U\x01x"),
			"the byte order of a type of NumPy is '>'"},
		"an array's state": {reconstructed + "}b.", "is given the state a dictionary of 0, wanted a tuple"},
		"order 2": {reconstructed + "(K\x01K\x01\x85" + u1 + "K\x02U\x01xtb.",
			"an order that is the integer 2"},
	} {
		_, err := read(source([]byte(c.pickle)))
		wantError(t, name, err, c.want)
	}
}

// TestGoodArraysNextToTheRefusedOnes: the parts of the cases above make an array, so it is the part changed that is
// refused.
func TestGoodArraysNextToTheRefusedOnes(t *testing.T) {
	for _, b := range []string{
		arrayOf("K\x05\x85", u1, "U\x05abcde"),
		arrayOf("K\x00J\x00\x00\x00\x40J\x00\x00\x00\x40\x87", u1, "U\x00"),
		arrayOf(")", u1, "U\x01x"),
		"cnumpy.core.numeric\n_frombuffer\n(U\x01x" + u1 + "K\x01\x85U\x01CtR.",
	} {
		if _, err := read(source([]byte(b))); err != nil {
			t.Errorf("%q: %v", b, err)
		}
	}
}

// TestMemoryHasALimit: however long a pickle is, what its instructions make takes little memory, and so do its texts.
func TestMemoryHasALimit(t *testing.T) {
	const instructions = "the pickle has more than 524,288 instructions, which is the limit"
	for name, c := range map[string]struct{ again, want string }{
		"tuples": {")", instructions}, "lists": {"]", instructions}, "marks": {"(", instructions},
		"remembered": {"\x94", instructions},
		"protocols":  {"\x80\x04", instructions}, "dictionaries": {"}U\x01aNs", instructions},
		"nested tuples": {"\x85", instructions},
		"long texts": {"T" + le4(1<<19) + strings.Repeat("x", 1<<19),
			"the texts of the pickle have more than 16,777,216 bytes, which is the limit"},
	} {
		b := []byte("\x80\x04N" + strings.Repeat(c.again, 32<<20/len(c.again)))
		const most = 120 << 20
		if n := fuzztest.Allocated(most, func() {
			_, err := read(source(b))
			wantError(t, name, err, c.want)
		}); n > most {
			t.Errorf("%s: %d bytes are allocated for %d of the file", name, n, len(b))
		}
	}
}

// TestArraysOfIntegers: elements of every width and sign.
func TestArraysOfIntegers(t *testing.T) {
	for typ, c := range map[string]struct {
		contents string
		want     int64
	}{"u1": {"\xfe", 254}, "i1": {"\x7e", 126}, "i2": {"\x2a\x01", 298}, "u4": {"\x2a\x01\x00\x00", 298},
		"i8": {le8(1 << 20), 1 << 20}} {
		root, err := read(source([]byte(arrayOf("K\x01\x85", strings.Replace(u1, "u1", typ, 1),
			"U"+string(rune(len(c.contents)))+c.contents))))
		if err != nil {
			t.Fatal(err)
		}
		if got := root.ints(1 << 30); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %v, want %d", typ, got, c.want)
		}
	}
}

// TestArraysHaveSigns: the highest bit of an element is its sign where the type has one.
func TestArraysHaveSigns(t *testing.T) {
	root, err := read(source([]byte(arrayOf("K\x01\x85", strings.Replace(u1, "u1", "i1", 1), "U\x01\xfe"))))
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer caught(&err)
		root.ints(1 << 30)
	}()
	if err == nil || !strings.Contains(err.Error(), "found -2") {
		t.Errorf("error %v, wanted one with found -2", err)
	}
}

// TestEveryTruncationIsAnError: a file that is cut off anywhere is refused.
func TestEveryTruncationIsAnError(t *testing.T) {
	names, err := filepath.Glob("testdata/*.pkl")
	if err != nil || len(names) != 7 {
		t.Fatalf("%d files (%v)", len(names), err)
	}
	for _, name := range names {
		b := file(t, filepath.Base(name))
		if _, err := read(source(b)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for n := 0; n < len(b); n += 1 + n/99 { // most of a long file is pixels
			if _, err := read(source(b[:n])); err == nil {
				t.Errorf("%s: its first %d bytes are accepted", name, n)
			}
			r, _ := source(b[:n]) // the file is shorter than its size says
			if _, err := read(r, int64(len(b))); err == nil {
				t.Errorf("%s: %d bytes of %d are accepted", name, n, len(b))
			}
		}
	}
}

// mostFor bounds what reading b may allocate in all, also what is free again. A list takes the most, for 1 byte of the
// file: its struct, and its places on the stack and in the list above it, which are copied while those grow; 220 bytes.
func mostFor(b []byte) uint64 { return uint64(1<<18 + 300*len(b)) }

// TestBombs: small files that stand for much are refused or stay small.
func TestBombs(t *testing.T) {
	const n = 100_000
	shared := "](X" + le4(1<<16) + strings.Repeat("x", 1<<16) + "q\x00" // a text that is used again and again
	for name, s := range map[string]string{
		"memos":                strings.Repeat("]\x94", n),
		"lists":                "](" + strings.Repeat("]", n) + "e.",
		"dictionaries":         "](" + strings.Repeat("}", n) + "e.",
		"tuples":               "](" + strings.Repeat("N\x85", n) + "e.",
		"nested tuples":        "N" + strings.Repeat("\x85", n) + ".",
		"marks":                strings.Repeat("(", n),
		"integers":             "](" + strings.Repeat("K\x01", n) + "e.",
		"integers become more": "](" + strings.Repeat("K\x01", n) + "Ne.",
		"each doubles":         "]" + strings.Repeat("q\x00h\x00h\x00\x86", n) + ".",
		"a text as a key":      shared + strings.Repeat("}h\x00Ns", n) + "e.",
	} {
		b := []byte(s)
		most := mostFor(b)
		if grown := fuzztest.Allocated(most, func() { read(source(b)) }); grown > most {
			t.Errorf("%s: %d bytes are allocated for %d of the file", name, grown, len(b))
		}
	}
	b := []byte("}U\x0blabel_names" + shared + strings.Repeat("h\x00", 9) + "es.")
	most := mostFor(b)
	if grown := fuzztest.Allocated(most, func() {
		_, err := ReadCIFARNames(bytes.NewReader(b), int64(len(b)), 10)
		wantError(t, "a list of a text again and again", err,
			"found a string of 65,536 bytes, wanted a text of at most 256 bytes")
	}); grown > most {
		t.Errorf("a list of a text again and again: %d bytes for %d of the file", grown, len(b))
	}
}
