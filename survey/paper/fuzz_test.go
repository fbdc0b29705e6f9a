package paper

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"ocl/config"
	"ocl/internal/fuzztest"
	"ocl/run/experiment"
	"ocl/run/result"
	"ocl/view/report"
)

// FuzzRead reads a result with changes in it beside one without, and makes the survey's tables of them: nothing panics,
// no message has raw bytes of the file, and memory is in proportion to it.
func FuzzRead(f *testing.F) {
	var bases [][]byte
	for _, eval := range []string{config.EvalFinal, config.EvalSeen} {
		text, err := result.Encode(fake(er, 1, eval))
		if err != nil {
			f.Fatal(err)
		}
		bases = append(bases, text)
	}
	beside := fake(er, 2, config.EvalFinal)
	f.Add([]byte{})
	f.Add([]byte{1, 3, 0, 0, 9, 1, 4, 20, 6, 7})
	f.Add([]byte{0, 40, 0, 0, 9, 80, 0, 3, 20, 0, 4, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := fuzztest.Of(b)
		text := fuzztest.JSON(bases[c.Below(len(bases))], c)
		if r, err := result.Parse(text); err == nil { // as if it were intact
			r.Key = experiment.Key(r)
			if text, err = result.Encode(r); err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		writeText(t, dir, "a/result.json", text)
		write(t, dir, "b/result.json", beside)
		var s *Study
		var err error
		most := uint64(16<<20 + 1000*len(text))
		if n := fuzztest.Allocated(most, func() { s, err = Read(t.Context(), []string{dir}) }); n > most {
			t.Fatalf("%d bytes were allocated for a file of %d", n, len(text))
		}
		if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
			t.Fatalf("a message with a control character: %q", err)
		}
		if s == nil || err != nil && !errors.Is(err, report.ErrLeftOut) {
			t.Fatalf("the other result is not used: %v", err)
		}
		p := &paper{Study: s}
		for _, b := range builders[:2] {
			x := b.build(p, b.label)
			x.csv()
			x.markdown()
			x.latex()
		}
	})
}
