package report

import (
	"slices"
	"strings"
	"testing"
)

// TestTasksKeepTheirNumbers: where a stream lacks some of its tasks, figures, their tables and the facts count the
// others as the console and the notes do.
func TestTasksKeepTheirNumbers(t *testing.T) {
	res := fake{method: "er", title: "ER", memory: 100, seed: 1, tasks: 4, perTask: 2, level: 0.9, decay: 0.8,
		protocol: "standard", errors: true}.make()
	for i, index := range []int{1, 3, 4, 6} {
		res.Stream.Tasks[i].Index = index
	}
	s := studyOf([]*run{newRun(res, "")}, nil).settings[0]
	for f, want := range map[*figure][]int{s.forgettingFigure(): {2, 4, 5}, s.predictionsFigure(): {2, 4, 5, 7}} {
		if got := f.Lines.Series[0].X; !slices.Equal(got, want) || f.Lines.XMin != want[0] ||
			f.Lines.XMax != want[len(want)-1] {
			t.Errorf("%s: tasks %v from %d to %d, want %v", f.ID, got, f.Lines.XMin, f.Lines.XMax, want)
		}
		if got := f.Data.Rows[1][3].Raw; got != "4" {
			t.Errorf("%s: the second task is %s in the table, want 4", f.ID, got)
		}
	}
	if text := s.facts()[1].Value; !strings.HasPrefix(text, "4 tasks (2, 4 to 5, 7 of the stream) with") {
		t.Errorf("facts: %s", text)
	}
	res.Stream.Tasks[0].Name, res.Stream.Tasks[3].Name = "spring", "<autumn>"
	if f := studyOf([]*run{newRun(res, "")}, nil).settings[0].facts()[2]; f.Name != "Names of tasks" ||
		f.Value != "2 spring, 7 <autumn>" {
		t.Errorf("facts: %+v", f)
	}
}
