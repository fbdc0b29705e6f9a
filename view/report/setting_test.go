package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/config"
	"ocl/run/result"
)

// sized is a run on other data: so many training and test images in each class.
func sized(f fake, train, test int, digest string) *result.Result {
	r := f.make()
	for i, t := range r.Stream.Tasks {
		r.Stream.Tasks[i].Train, r.Stream.Tasks[i].Test = train*len(t.Classes), test*len(t.Classes)
	}
	r.Provenance.DataDigest = "sha256:" + digest
	return r
}

// TestSettingsAreOfOneStream: rows on other data or in another class order stand apart, and the names say in what they
// differ.
func TestSettingsAreOfOneStream(t *testing.T) {
	f := fake{method: "er", title: "ER", memory: 10, seed: 1, tasks: 2, perTask: 2, level: 0.5, decay: 0.5}
	given := sized(f, 5, 4, "a")
	given.Config.Stream.ClassOrder = config.Order{Name: config.OrderGiven}
	uneven := sized(f, 5, 4, "a")
	uneven.Stream.Tasks[0].Train++
	uneven.Provenance.DataDigest = "sha256:b"
	large := sized(f, 5, 4, "c")
	large.Stream.Shape = [3]int{3, 64, 64}
	for name, c := range map[string]struct {
		other *result.Result
		want  [2]string // details
		slug  string    // of the second
	}{
		"the same": {other: sized(f, 5, 4, "a")},
		"images": {sized(f, 8, 25, "b"), [2]string{"5 training and 4 test images per class",
			"8 training and 25 test images per class"}, "glyphs-2-standard-train8-test25"},
		"uneven classes": {uneven, [2]string{"5 training and 4 test images per class", "21 training and 16 test images"},
			"glyphs-2-standard-train21-test16-in-all"},
		"size": {large, [2]string{"32 × 32 pixels in 3 channels", "64 × 64 pixels in 3 channels"},
			"glyphs-2-standard-3x64x64"},
		"order":             {given, [2]string{"class order random", "class order given"}, "glyphs-2-standard-order-given"},
		"only their digest": {sized(f, 5, 4, "b"), [2]string{"data sha256:a", "data sha256:b"}, "glyphs-2-standard-sha256-b"},
	} {
		st := studyOf([]*run{newRun(sized(f, 5, 4, "a"), "x"), newRun(c.other, "y")}, nil)
		if c.slug == "" {
			if len(st.settings) != 1 || st.settings[0].detail != "" {
				t.Errorf("%s: %d settings, the first with %q", name, len(st.settings), st.settings[0].detail)
			}
			continue
		}
		if len(st.settings) != 2 {
			t.Errorf("%s: %d settings, want 2", name, len(st.settings))
			continue
		}
		if d := cmp.Diff(c.want, [2]string{st.settings[0].detail, st.settings[1].detail}); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if got := st.settings[1].slug; got != c.slug {
			t.Errorf("%s: files are called %s, want %s", name, got, c.slug)
		}
	}
}

// TestAnswersCompareOneStream: each answer is about one stream, the last note says that streams are not compared, and
// no table has two rows that read alike.
func TestAnswersCompareOneStream(t *testing.T) {
	ft := fake{method: "finetune", title: "Finetune", memory: -1, seed: 1, tasks: 2, perTask: 2, level: 0.2, decay: 0.2}
	er := fake{method: "er", title: "ER", memory: 10, seed: 1, tasks: 2, perTask: 2, level: 0.6, decay: 0.9}
	var runs []*run
	for _, r := range []*result.Result{sized(ft, 5, 4, "a"), sized(er, 5, 4, "a"), sized(er, 8, 25, "b")} {
		runs = append(runs, newRun(r, ""))
	}
	p, _, _ := newPage(studyOf(runs, nil))
	if len(p.First) != 2 {
		t.Fatalf("%d answers, want 2", len(p.First))
	}
	for i, want := range []struct{ shared, caption string }{
		{"Glyphs in 2 tasks, standard protocol, 5 training and 4 test images per class, memory 10. Accuracy",
			"On glyphs in 2 tasks, standard protocol, 5 training and 4 test images per class, ER with 10 stored samples has the highest average accuracy: "},
		{"Glyphs in 2 tasks, standard protocol, 8 training and 25 test images per class, memory 10. Accuracy",
			"On glyphs in 2 tasks, standard protocol, 8 training and 25 test images per class, ER with 10 stored samples has an average accuracy of "},
	} {
		if f := p.First[i]; !strings.HasPrefix(f.Shared, want.shared) || !strings.HasPrefix(f.Ranking.Caption, want.caption) {
			t.Errorf("got  %s: %s\nwant … %s: %s …", f.Shared, f.Ranking.Caption, want.shared, want.caption)
		}
	}
	want := "Compare only rows of the same stream: the 2 streams of this report differ in data, tasks or protocol."
	if p.Notes[len(p.Notes)-1] != want {
		t.Errorf("the notes are %q, want %q last", p.Notes, want)
	}
	if p.Title != "ER and Finetune on glyphs in 2 tasks, standard protocol" {
		t.Errorf("title %q", p.Title)
	}
	for _, table := range []*table{p.Results, p.Metrics} {
		seen := map[string]bool{}
		for _, row := range table.Rows {
			key := row[0].Text + row[1].Text + row[2].Text + row[3].Text
			if seen[key] {
				t.Errorf("table %s has two rows %s", table.ID, key)
			}
			seen[key] = true
		}
	}
	labels := map[string]bool{}
	for _, s := range studyOf(runs, nil).summaries() {
		labels[s.Label] = true
	}
	if len(labels) != 3 {
		t.Errorf("labels %v, want three", labels)
	}
}
