package pickle

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"ocl/internal/fuzztest"
)

// Parts of pickles: the type uint8, and an array that BUILD must fill.
const (
	u1            = "cnumpy\ndtype\n(U\x02u1\x89\x88tR(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
	reconstructed = "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR"
)

func le4(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }
func le8(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }

// allocated is what Read of a good pickle allocates.
func allocated(t *testing.T, b []byte) uint64 {
	t.Helper()
	return fuzztest.Allocated(0, func() {
		if _, err := Read(source(b)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestWhatPythonWouldRunIsRefusedByName: whatever calls something, makes an object or refers to something outside the file
// is refused, and the message says what.
func TestWhatPythonWouldRunIsRefusedByName(t *testing.T) {
	for name, c := range map[string]struct{ pickle, want string }{
		"REDUCE os.system":       {"cos\nsystem\n(S'id'\ntR.", "byte 0: the pickle calls os.system, which is not read: data sets are"},
		"REDUCE eval":            {"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.", "byte 2: the pickle calls builtins.eval, which is not read"},
		"REDUCE eval, Python 2":  {"c__builtin__\neval\n(S'1'\ntR.", "the pickle calls __builtin__.eval,"},
		"STACK_GLOBAL":           {"\x80\x04\x8c\x05posix\x8c\x06system\x93.", "byte 17: the pickle calls posix.system,"},
		"a name below numpy":     {"cnumpy\nfromfile\n(U\x01xtR.", "the pickle calls numpy.fromfile,"},
		"a dotted name":          {"\x80\x04\x8c\x05numpy\x8c\x10core.os.system.x\x93.", "the pickle calls numpy.core.os.system.x,"},
		"codecs.decode":          {"c_codecs\ndecode\n(tR.", "the pickle calls _codecs.decode,"},
		"control characters":     {"c\x1b[2J\n\x07\n.", `the pickle calls "\x1b[2J.\a",`},
		"a long name":            {"c" + strings.Repeat("a", 500) + "\nb\n.", "the pickle calls '" + strings.Repeat("a", 40) + "…',"},
		"INST":                   {"(S'id'\nios\nsystem\n.", "byte 7: the pickle calls os.system,"},
		"INST ndarray":           {"(inumpy\nndarray\n.", "the pickle has an object of numpy.ndarray (INST),"},
		"OBJ":                    {"(cnumpy\nndarray\no.", "the pickle has an object of a class (OBJ),"},
		"NEWOBJ":                 {"cnumpy\nndarray\n)\x81.", "the pickle has an object of a class (NEWOBJ),"},
		"NEWOBJ_EX":              {"cnumpy\nndarray\n)}\x92.", "the pickle has an object of a class (NEWOBJ_EX),"},
		"BUILD on a dictionary":  {"}}b.", "byte 2: the pickle sets the state of a dictionary of 0,"},
		"BUILD on a class":       {"cnumpy\nndarray\n}b.", "the pickle sets the state of numpy.ndarray,"},
		"EXT1":                   {"\x82\x01.", "byte 0: the pickle has a class from a registry of the program that wrote it (EXT1),"},
		"EXT2":                   {"\x83\x01\x01.", "(EXT2)"},
		"EXT4":                   {"\x84\x01\x01\x01\x01.", "(EXT4)"},
		"PERSID":                 {"Pid\n.", "the pickle has a reference to something outside the file (PERSID),"},
		"BINPERSID":              {"K\x01Q.", "(BINPERSID)"},
		"NEXT_BUFFER":            {"\x97.", "the pickle has an array that is stored outside the file (NEXT_BUFFER),"},
		"READONLY_BUFFER":        {"\x98.", "(READONLY_BUFFER)"},
		"FLOAT":                  {"F0.5\n.", "a number with a fraction (FLOAT)"},
		"BINFLOAT":               {"G" + le8(0) + ".", "(BINFLOAT)"},
		"EMPTY_SET":              {"\x8f.", "a set (EMPTY_SET)"},
		"ADDITEMS":               {"(\x90.", "(ADDITEMS)"},
		"FROZENSET":              {"(\x91.", "(FROZENSET)"},
		"POP":                    {"N0.", "(POP)"},
		"POP_MARK":               {"(1.", "(POP_MARK)"},
		"DUP":                    {"N2.", "(DUP)"},
		"no instruction":         {"<html>", "byte 0: 0x3c is no instruction of a pickle"},
		"protocol 6":             {"\x80\x06N.", "byte 0: the pickle has protocol 6, and 0 to 5 are read"},
		"a text is called":       {"U\x01x)R.", "byte 4: a string of 1 byte is called with a tuple of 0"},
		"arguments in no tuple":  {"cnumpy\ndtype\n]R.", "numpy.dtype is called with a list of 0"},
		"a class is called":      {"cnumpy\nndarray\n)R.", "numpy.ndarray is called with a tuple of 0, which is not how NumPy writes its arrays"},
		"array of a list":        {"cnumpy.core.multiarray\n_reconstruct\n(]K\x00\x85U\x01btR.", "which is not how NumPy writes its arrays"},
		"bytes of a text":        {"c__builtin__\nbytes\n(U\x01xtR.", "__builtin__.bytes is called with a tuple of 1"},
		"encode to utf-8":        {"c_codecs\nencode\n(X\x01\x00\x00\x00xU\x05utf-8tR.", "otherwise than with a text and 'latin1'"},
		"encode of a character":  {"c_codecs\nencode\n(X\x03\x00\x00\x00\xe2\x86\x92U\x06latin1tR.", "U+2192, wanted at most U+00FF"},
		"called by a list":       {"]]\x93.", "wanted two texts"},
		"a list that holds":      {"]q\x00h\x00a.", "a list of 1 holds itself, which is not read"},
		"a dictionary that does": {"}q\x00U\x01ah\x00s.", "a dictionary of 1 holds itself"},
		"a tuple that does":      {"]q\x00h\x00\x85a.", "a list of 1 holds itself"},
		"deep":                   {strings.Repeat("]", 100) + strings.Repeat("a", 99) + ".", "nested deeper than 32"},
	} {
		_, err := Read(source([]byte(c.pickle)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want it to say %q", name, err, c.want)
		}
	}
}

// TestDamageIsSaid: each check of a reader that no written file fails.
func TestDamageIsSaid(t *testing.T) {
	for name, c := range map[string]struct{ pickle, want string }{
		"nothing":                {"", "byte 0: the file is cut off here"},
		"no STOP":                {"N", "byte 1: the file is cut off here"},
		"more after the end":     {"N.N", "the pickle ends after byte 2, but the file has 3 bytes"},
		"no value":               {".", "leaves 0 values and 0 open marks"},
		"two values":             {"NN.", "leaves 2 values"},
		"an open mark":           {"(N.", "1 open marks"},
		"an empty stack":         {"\x86.", "found 0 of 2 values"},
		"below a mark":           {"]NN(\x86.", "found 0 of 2 values"},
		"no mark":                {"]e.", "a mark is needed"},
		"append to a tuple":      {")Na.", "appended to a tuple of 0, wanted a list"},
		"append to a text":       {"U\x01xNa.", "appended to a string of 1 byte, wanted a list"},
		"an entry of a list":     {"]K\x01Ns.", "added to a list of 0, wanted a dictionary"},
		"a key of a list":        {"}]Ns.", "the key of a dictionary is a list of 0"},
		"a key twice":            {"}(U\x01aNU\x01aNu.", "has the key 'a' twice"},
		"a key without a value":  {"}(U\x01au.", "a key without a value"},
		"a long key":             {"}T" + le4(257) + strings.Repeat("k", 257) + "Ns.", "has 257 bytes, wanted at most 256"},
		"a memo never made":      {"h\x00.", "memo 0 is used and was never made"},
		"memo far away":          {"Nr" + le4(1<<31) + ".", "memo 2147483648 comes after 0 others"},
		"memo of nothing":        {"q\x00.", "found 0 of 1 value;"},
		"memo of no number":      {"Np-1\n.", "the number of a memo"},
		"bytes beyond the file":  {"B\xff\xff\xff\x7fab", "a value has 2,147,483,647 bytes, but 2 are left"},
		"8 bytes of length":      {"\x8e" + le8(1<<63) + "ab", "a value has 9,223,372,036,854,775,808 bytes, but 2 are left"},
		"a str below 0":          {"T\xff\xff\xff\xffab", "a value has 4,294,967,295 bytes"},
		"a frame":                {"\x80\x04\x95" + le8(1<<40) + "N.", "a frame has 1,099,511,627,776 bytes, but 2 are left"},
		"a long integer":         {"\x8b\xff\xff\xff\xff", "an integer has 4,294,967,295 bytes, and 8 is the limit"},
		"9 bytes":                {"\x8a\x09123456789.", "an integer has 9 bytes"},
		"no decimal":             {"I1x\n.", "'1x' is no integer"},
		"a long decimal":         {"L9223372036854775808L\n.", "is no integer of 64 bits"},
		"no UTF-8":               {"X\x01\x00\x00\x00\xff.", "a text is no UTF-8"},
		"half a character":       {"V\\ud800\n.", "the escape \\u'd800', which is no character"},
		"too large a character":  {"V\\U00110000\n.", "which is no character"},
		"an escape cut":          {"V\\u12\n.", "the escape \\u'12'"},
		"no quotes":              {"Sabc\n.", "a string has no quotes"},
		"one quote":              {"S'\n.", "a string has no quotes"},
		"an unknown escape":      {"S'\\q'\n.", "the escape 'q', which Python does not write"},
		"half an escape":         {"S'\\x1'\n.", "\\x without two digits"},
		"a string ends early":    {"S'\\'\n.", "ends within an escape"},
		"encoded again":          {"c_codecs\nencode\nq\x00(X\x20\x00\x00\x00" + strings.Repeat("x", 32) + "U\x06latin1tq\x01R" + strings.Repeat("h\x00h\x01R", 9) + "t.", "more bytes are encoded than the file has"},
		"negative shape":         {array("J\xff\xff\xff\xff\x85", u1, "U\x01x"), "the shape [-1] of an array has -1, wanted 0 to 2147483647"},
		"a shape too large":      {array("K\x02K\x03\x86", u1, "U\x05abcde"), "an array of uint8 [2,3] has 5 bytes, which do not fit its shape"},
		"a shape too small":      {array("K\x02K\x02\x86", u1, "U\x05abcde"), "which do not fit its shape"},
		"a shape that overflows": {array("J\x00\x00\x00\x40J\x00\x00\x00\x40J\x00\x00\x00\x40\x87", u1, "U\x00"), "which do not fit its shape"},
		"2^64 elements":          {array("(J\x00\x00\x01\x00J\x00\x00\x01\x00J\x00\x00\x01\x00J\x00\x00\x01\x00t", u1, "U\x00"), "which do not fit its shape"},
		"an axis of 2^40":        {array("\x8a\x06\x00\x00\x00\x00\x00\x01K\x00\x86", u1, "U\x00"), "wanted 0 to 2147483647"},
		"9 axes":                 {array("("+strings.Repeat("K\x01", 9)+"t", u1, "U\x01x"), "wanted a tuple of at most 8 integers"},
		"a shape of texts":       {array("U\x01a\x85", u1, "U\x01x"), "the shape of an array is a tuple of 1, wanted"},
		"a type of None":         {array("K\x01\x85", "N", "U\x01x"), "the type of an array is None"},
		"contents of None":       {array("K\x01\x85", u1, "N"), "the contents of an array are None, wanted bytes"},
		"a list of objects":      {array("K\x01\x85", strings.Replace(u1, "u1", "O8", 1), "]Na"), "the pickle has an array of type 'O8', which is not read"},
		"texts":                  {array("K\x01\x85", strings.Replace(u1, "u1", "S1", 1), "U\x01x"), "an array of type 'S1'"},
		"records":                {array("K\x01\x85", strings.Replace(u1, "|NNN", "|N)}", 1), "U\x01x"), "the pickle has an array of records"},
		"no byte order":          {array("K\x01\x85", strings.Replace(u1, "u1", "u4", 1), "U\x04abcd"), "has no byte order"},
		"another byte order":     {array("K\x01\x85", strings.Replace(u1, "|", "=", 1), "U\x01x"), "the byte order of a type of NumPy is '='"},
		"axes in another order":  {"cnumpy.core.numeric\n_frombuffer\n(U\x01x" + u1 + "K\x01\x85U\x01KK\x00\x85tR.", "in the order 'K', and 'C' and 'F' are read"},
		"no order":               {"cnumpy.core.numeric\n_frombuffer\n(U\x01x" + u1 + "tR.", "with 2 arguments, wanted 4"},
		"an array's state":       {reconstructed + "}b.", "is given the state a dictionary of 0, wanted a tuple"},
		"version 2":              {reconstructed + "(K\x02K\x01\x85" + u1 + "\x89U\x01xtb.", "wanted version 1 of 5 parts"},
		"order 2":                {reconstructed + "(K\x01K\x01\x85" + u1 + "K\x02U\x01xtb.", "the order of an array is the integer 2"},
		"a number with fraction": {"cnumpy.core.multiarray\nscalar\n(" + strings.Replace(strings.Replace(u1, "u1", "f4", 1), "|", "<", 1) + "U\x040000tR.", "found an array of float32 [], wanted integers"},
		"above 2^63":             {"cnumpy.core.multiarray\nscalar\n(" + strings.Replace(strings.Replace(u1, "u1", "u8", 1), "|", "<", 1) + "U\x08\xff\xff\xff\xff\xff\xff\xff\xfftR.", "found 18446744073709551615 in an array"},
	} {
		_, err := Read(source([]byte(c.pickle)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want it to say %q", name, err, c.want)
		}
	}
}

// array is a pickle of an array with a shape, type and contents.
func array(shape, dtype, contents string) string {
	return reconstructed + "(K\x01" + shape + dtype + "\x89" + contents + "tb."
}

// TestGoodArraysNextToTheRefusedOnes: the parts of the cases above make an array, so it is the part changed that is refused.
func TestGoodArraysNextToTheRefusedOnes(t *testing.T) {
	for _, b := range []string{
		array("K\x05\x85", u1, "U\x05abcde"),
		array("K\x00J\x00\x00\x00\x40J\x00\x00\x00\x40\x87", u1, "U\x00"),
		array(")", u1, "U\x01x"),
		"cnumpy.core.numeric\n_frombuffer\n(U\x01x" + u1 + "K\x01\x85U\x01CtR.",
	} {
		if _, err := Read(source([]byte(b))); err != nil {
			t.Errorf("%q: %v", b, err)
		}
	}
}

// TestEveryTruncationIsAnError: a file that is cut off anywhere is refused.
func TestEveryTruncationIsAnError(t *testing.T) {
	names, err := filepath.Glob("testdata/*.pkl")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d files (%v)", len(names), err)
	}
	for _, name := range names {
		b := file(t, filepath.Base(name))
		if _, err := Read(source(b)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for n := range b {
			if _, err := Read(source(b[:n])); err == nil {
				t.Errorf("%s: its first %d bytes are accepted", name, n)
			}
			r, _ := source(b[:n]) // the file is shorter than its size says
			if _, err := Read(r, int64(len(b))); err == nil {
				t.Errorf("%s: %d bytes of %d are accepted", name, n, len(b))
			}
		}
	}
}

// mostFor bounds what reading b may allocate in all, also what is free again. A list takes the most, for 1 byte of the file:
// its struct, and its places on the stack and in the list above it, which are copied while those grow; 220 bytes.
func mostFor(b []byte) uint64 { return uint64(1<<18 + 300*len(b)) }

// TestBombs: small files that stand for much are refused or stay small.
func TestBombs(t *testing.T) {
	const n = 100_000
	shared := "(X" + le4(1<<16) + strings.Repeat("x", 1<<16) + "q\x00" // a text that is used again and again
	for name, s := range map[string]string{
		"memos":                strings.Repeat("]\x94", n),
		"lists":                "(" + strings.Repeat("]", n) + "l.",
		"dictionaries":         "(" + strings.Repeat("}", n) + "l.",
		"tuples":               "(" + strings.Repeat("N\x85", n) + "l.",
		"nested tuples":        "N" + strings.Repeat("\x85", n) + ".",
		"marks":                strings.Repeat("(", n),
		"integers":             "(" + strings.Repeat("K\x01", n) + "l.",
		"integers become more": "(" + strings.Repeat("K\x01", n) + "Nl.",
		"each doubles":         "(]" + strings.Repeat("q\x00(h\x00h\x00l", n) + "l.",
		"a text as a key":      shared + strings.Repeat("}h\x00Ns", n) + "l.",
		"a text encoded":       shared + strings.Repeat("c_codecs\nencode\n(h\x00U\x06latin1tR", n) + "l.",
	} {
		b := []byte(s)
		most := mostFor(b)
		if grown := fuzztest.Allocated(most, func() { Read(source(b)) }); grown > most {
			t.Errorf("%s: %d bytes are allocated for %d of the file", name, grown, len(b))
		}
	}
	b := []byte(shared + strings.Repeat("h\x00", n) + "l.")
	most := mostFor(b)
	if grown := fuzztest.Allocated(most, func() {
		root, err := Read(source(b))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := root.Texts(); err == nil || !strings.Contains(err.Error(), "the pickle: found texts that are longer than the file") {
			t.Errorf("a list of a text again and again: %v", err)
		}
	}); grown > most {
		t.Errorf("a list of a text again and again: %d bytes for %d of the file", grown, len(b))
	}
}
