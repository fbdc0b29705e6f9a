package report

import (
	"strings"
	"testing"
)

// TestUntestedClasses: a class that was learned and has no accuracy is named, at most five are, and a class that a run has
// not come to is none of them.
func TestUntestedClasses(t *testing.T) {
	f := fake{method: "er", title: "ER", memory: 10, seed: 1, tasks: 4, perTask: 2, level: 0.5, decay: 0.5}
	note := func(f fake, classes ...int) string {
		r := f.make()
		for _, row := range r.PerClass {
			for _, c := range classes {
				row[c] = nil
			}
		}
		p, _, _ := newPage(studyOf([]*run{newRun(r, "")}, nil))
		return strings.Join(p.Notes, "\n")
	}
	stopped := f
	stopped.state, stopped.through = "interrupted", 1
	for _, c := range [][2]string{
		{note(f), ""},
		{note(stopped), ""},
		{note(f, 0, 1, 2, 3, 4, 5, 6, 7), ""}, // nothing by class
		{note(f, 1), "Glyphs in 4 tasks, standard protocol: glyph B has no readable test images, so its accuracy is unknown."},
		{note(f, 1, 2), "Glyphs in 4 tasks, standard protocol: 2 classes have no readable test images, so their accuracy is unknown: glyph B, glyph C."},
		{note(f, 0, 1, 2, 3, 4, 5), "Glyphs in 4 tasks, standard protocol: 6 classes have no readable test images, so their accuracy is unknown: " +
			"glyph A, glyph B, glyph C, glyph D, glyph E and 1 more."},
	} {
		if c[0] != c[1] {
			t.Errorf("got  %q\nwant %q", c[0], c[1])
		}
	}
}
