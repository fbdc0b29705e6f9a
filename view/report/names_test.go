package report

import (
	"slices"
	"strings"
	"testing"
)

// TestClassesHaveNames: where the data name their classes, the figures and the table of classes do, and files keep the
// numbers beside them.
func TestClassesHaveNames(t *testing.T) {
	named := fake{method: "er", title: "ER", memory: 500, seed: 1, tasks: 2, perTask: 2, errors: true, level: 0.5,
		decay: 0.5}.make()
	plain := fake{method: "er", title: "ER", memory: 500, seed: 1, tasks: 2, perTask: 2, errors: true, level: 0.5,
		decay: 0.5}.make()
	plain.Stream.ClassNames = nil
	of := func(r *run) *setting { return studyOf([]*run{r}, nil).settings[0] }
	s := of(newRun(named, ""))
	g, order := s.rows[0], named.Stream.Order()
	if f := g.classFigure(); !slices.Equal(f.Heat.Rows, []string{"0 glyph A", "1 glyph B", "2 glyph C", "3 glyph D"}) ||
		len(f.Heat.V[0]) != 1 {
		t.Errorf("the accuracy on each class has the lines %q of %d cells", f.Heat.Rows, len(f.Heat.V[0]))
	}
	f := g.classConfusion()
	if want := s.numberAndName(order[0]); f.Heat.Rows[0] != want ||
		!strings.HasSuffix(f.Heat.Say(0, 1), "taken for "+s.className(order[1])) ||
		f.Heat.Names[0] != s.className(order[0])+", right" {
		t.Errorf("the confusion begins with %q, and its cells are %q; want %s", f.Heat.Rows[0], f.Heat.Names, want)
	}
	if !strings.Contains(f.Caption, " Most often it takes glyph ") {
		t.Errorf("the caption of the confusion names no classes: %s", f.Caption)
	}
	if csv := string(f.table().csvBytes()); strings.Contains(csv, "glyph") {
		t.Errorf("the file of the confusion has names for numbers:\n%s", csv)
	}
	if caption, want := s.takenFigure().Caption,
		" The new classes: "+s.className(order[2])+", "+s.className(order[3])+"."; !strings.Contains(caption, want) {
		t.Errorf("the caption is %q; want it to have %q", caption, want)
	}
	table := s.classTable()
	if table == nil || len(table.Rows) != 4 || table.Rows[2][0].Text != "glyph C" || table.Head[2].Text != "ER" {
		t.Errorf("the table of classes is %+v", table)
	}
	plain.Stream.ClassNames = []string{"0", "1", "2", "3"} // as those of digits: they say no more than the numbers
	s = of(newRun(plain, ""))
	if f := s.rows[0].classFigure(); s.classTable() != nil || f.Heat.Rows[0] != "0" || len(f.Heat.V[0]) != 4 {
		t.Errorf("classes without names have the table %v and the lines %q", s.classTable(), f.Heat.Rows)
	}
	if f := s.rows[0].classConfusion(); slices.ContainsFunc(f.Heat.Rows,
		func(name string) bool { return strings.Contains(name, " ") }) || strings.Contains(f.Caption, "Most often") {
		t.Errorf("the confusion of classes without names says %q and %s", f.Heat.Rows, f.Caption)
	}
}
