package core50

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pickled writes the first runs of LUP.pkl or labels.pkl with the values of each list, after change has seen them.
func pickled(runs int, of func(List) []int64, change func(l List, values []int64) []int64) []byte {
	b := []byte("\x80\x02}(")
	for _, scenario := range []string{NC, NI} {
		b = append(b, "U\x02"+strings.ToLower(scenario)+"]("...)
		for run := range runs {
			b = append(b, "]("...)
			for task := range tasksOf(scenario) + 1 {
				l := List{scenario, run, task}
				if task == tasksOf(scenario) {
					l.Task = TestTask
				}
				b = append(b, "]("...)
				for _, v := range change(l, of(l)) {
					b = binary.LittleEndian.AppendUint32(append(b, 'J'), uint32(v))
				}
				b = append(b, 'e')
			}
			b = append(b, 'e')
		}
		b = append(b, 'e')
	}
	return append(b, "u."...)
}

// asPublished changes nothing.
func asPublished(_ List, values []int64) []int64 { return values }

// pickledPaths is paths.pkl with the given change of its paths.
func pickledPaths(change func([]string) []string) []byte {
	var paths []string
	for _, c := range All() {
		for f := c.First(); f < Frames; f++ {
			paths = append(paths, c.Folder()+"/"+c.Name(f))
		}
	}
	b := []byte("\x80\x02](")
	for _, p := range change(paths) {
		b = append(append(b, 'U', byte(len(p))), p...)
	}
	return append(b, "e."...)
}

// TestPickles: the published contents are accepted, and each fault is named with its place.
func TestPickles(t *testing.T) {
	paths := func(change func([]string) []string) error {
		b := pickledPaths(change)
		return checkPaths(bytes.NewReader(b), int64(len(b)))
	}
	if err := paths(func(p []string) []string { return p }); err != nil {
		t.Error(err)
	}
	wantError(t, "a path less", paths(func(p []string) []string { return p[:len(p)-1] }), "the list ends after 164,865 paths, wanted 164,866")
	wantError(t, "a path more", paths(func(p []string) []string { return append(p, "x") }), `path 164866 is "x", wanted the end`)
	wantError(t, "another path", paths(func(p []string) []string { p[3] = "../x"; return p }), `path 3 is "../x", wanted "s1/o1/C_01_01_003.png"`)

	runs := func(n int, of func(List) []int64, change func(List, []int64) []int64) error {
		b := pickled(n, of, change)
		return checkRuns(t.Context(), bytes.NewReader(b), int64(len(b)), of)
	}
	in := func(l List, change func([]int64) []int64) func(List, []int64) []int64 {
		return func(at List, v []int64) []int64 {
			if at == l {
				return change(v)
			}
			return v
		}
	}
	for name, of := range map[string]func(List) []int64{lupFile: List.places, labelsFile: List.labelsOfPlaces} {
		if testing.Short() {
			break // three million integers
		}
		if err := runs(Runs, of, asPublished); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	first := List{NC, 0, 0}
	wantError(t, "a value less", runs(1, List.places, in(first, func(v []int64) []int64 { return v[:len(v)-1] })), "nc, run 0, batch 0: it has 23,979 entries, wanted 23,980")
	wantError(t, "another label", runs(1, List.labelsOfPlaces, in(first, func(v []int64) []int64 { v[7] = 9; return v })), "nc, run 0, batch 0: entry 7 is 9, wanted 0")
	wantError(t, "out of range", runs(1, List.places, in(first, func(v []int64) []int64 { v[7] = Total; return v })), "found 164866, wanted 0 to 164865")
	wantError(t, "one run", runs(1, List.places, asPublished), "['nc']: found a list of 1, wanted number 1 in it")
}

// TestPickleFiles: all three files are wanted, and each is named in errors about it.
func TestPickleFiles(t *testing.T) {
	wantError(t, "LUP.pkl alone", checked(t, place(t, lupFile, nil)), "paths.pkl: no such file")
	folder := place(t, pathsFile, []byte("cos\nsystem\n."))
	wantError(t, "a call", checked(t, folder), "paths.pkl: ")
	if err := os.WriteFile(filepath.Join(folder, pathsFile), pickledPaths(func(p []string) []string { return p }), 0o644); err != nil {
		t.Fatal(err)
	}
	wantError(t, "no LUP.pkl", checked(t, folder), "LUP.pkl: no such file")
}

// TestRealPickles compares the pickles that testdata/make.py or CORe50's authors have written with the tables, where
// OCL_DATA has them.
func TestRealPickles(t *testing.T) {
	for _, name := range []string{"core50-pickles", "core50"} {
		folder := filepath.Join(os.Getenv("OCL_DATA"), name)
		if _, err := os.Stat(filepath.Join(folder, lupFile)); os.Getenv("OCL_DATA") == "" || err != nil {
			continue
		}
		if err := checkPickles(t.Context(), folder); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
		return
	}
	t.Skip("OCL_DATA has no core50-pickles/LUP.pkl, so no pickles of Python are compared; testdata/make.py writes them")
}
