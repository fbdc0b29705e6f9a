package data

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"ocl/internal/count"
	"ocl/internal/spelling"
)

// ownRow is one of a person's own images, as any reading has it.
type ownRow struct {
	line  int    // of the list that names it; 0 where none does
	path  string // below the root of the reading, or absolute in a list
	label string // as it was written
	task  string
	split string // "train", "test" or "val"; "" where nobody says
}

type ownRows []ownRow

// check checks what can be checked of a single row.
func (r *ownRow) check() error {
	switch {
	case r.path == "":
		return errors.New("the path is empty. Fill it in, or remove the row")
	case r.label == "":
		return errors.New("the label is empty. Fill it in, or remove the row")
	case !slices.Contains([]string{"", "train", "test", "val"}, r.split):
		return fmt.Errorf("%.40q is no split. Use train, test or val", r.split)
	}
	for _, f := range []struct{ column, text string }{{"label", r.label}, {"task", r.task}} {
		if !utf8.ValidString(f.text) {
			return fmt.Errorf("the %s %.40q is not UTF-8. Save the list as CSV UTF-8", f.column, f.text)
		}
		if shown(f.text) != f.text || utf8.RuneCountInString(f.text) > 200 {
			return fmt.Errorf("the %s %.40q is too long or cannot be printed. Use a name of at most 200 letters", f.column,
				f.text)
		}
	}
	return nil
}

// fill puts the rows into a listing: classes, halves and tasks. With numbers, labels that are all whole numbers are in
// their order.
func (rows ownRows) fill(l *listing, spec Spec, numbers bool) error {
	rows, drawn, err := rows.halves(l)
	if err != nil {
		return err
	}
	l.set.Notes = append(l.set.Notes, rows.unify()...)
	labels, names := rows.classes(numbers)
	tasks, err := rows.tasks(l)
	if err != nil {
		return err
	}
	l.set.Classes, l.set.ClassNames = len(names), names
	l.set.Notes = append(l.set.Notes, rows.renamed(labels, names)...)
	l.set.Notes = append(l.set.Notes, sameNumbers(names)...)
	trained := make([]bool, len(names))
	for i, r := range rows {
		e := entry{test: r.split == "test", label: labels[i]}
		if tasks != nil {
			e.task = tasks[i]
		}
		trained[e.label] = trained[e.label] || !e.test
		l.add([]string{filepath.ToSlash(r.path)}, e)
		if r.line > 0 {
			l.pictures.lines = append(l.pictures.lines, r.line)
		}
	}
	var unknown []string
	for i, r := range rows {
		switch {
		case trained[labels[i]]:
		case r.line > 0:
			return fmt.Errorf("line %d: the class %s has no image for training. Add some, or remove its rows", r.line, r.label)
		case !slices.Contains(unknown, shown(r.label)):
			unknown = append(unknown, shown(r.label))
		}
	}
	if unknown != nil {
		return fmt.Errorf("classes of the test half have no training images: %s. Add training images, or leave these out",
			count.Some(unknown))
	}
	if least, _ := leastClasses(spec.OneClass || spec.Whole); len(names) < least {
		return fmt.Errorf("there is one class, %s, but at least two are needed. Add images of other classes", names[0])
	}
	if drawn {
		return l.divide(spec)
	}
	return nil
}

// halves sets the split of each row to train or test. Rows of val become test rows if there are none of test, and are
// left out otherwise. drawn is true if no row has a split, so that test rows must be drawn from each class.
func (rows ownRows) halves(l *listing) (kept ownRows, drawn bool, err error) {
	n := map[string]int{}
	for _, r := range rows {
		n[r.split]++
	}
	if n[""] == len(rows) {
		return rows, true, nil
	}
	for _, r := range rows {
		switch {
		case r.split == "":
			return nil, false, fmt.Errorf("line %d: the split is empty, but other rows have one. Use train, test or val in every row, or in none",
				r.line)
		case r.split == "val" && n["test"] > 0:
			continue
		case r.split == "val":
			r.split = "test"
		}
		kept = append(kept, r)
	}
	if n["val"] > 0 && n["test"] > 0 {
		l.set.Notes = append(l.set.Notes, fmt.Sprintf("%s of the split val left out, as there are rows of test",
			count.Of(n["val"], "row")))
	}
	if n["test"]+n["val"] == 0 && !l.whole {
		return nil, false, errors.New("every row has the split train. Add rows with test, or remove the column split, so that a fifth of each class is for testing")
	}
	if n["train"] == 0 {
		return nil, false, errors.New("no row has the split train. Use train for the rows of training images")
	}
	return kept, false, nil
}

// spelt is a name of a class in one case.
type spelt struct {
	name   string // in the spelling of Unicode that names are kept in
	first  string // as it was written first
	two    bool   // it is written in the other spelling of Unicode too
	images int    // for training
}

// unify gives labels that differ only in case, or in their spelling of Unicode, one name: that of most training images,
// or of the first of them where two have equally many. Notes say so.
func (rows ownRows) unify() (notes []string) {
	alike := map[string][]*spelt{} // by the key of the name, in the order of the rows
	of := map[string]*spelt{}      // by what is written
	for _, r := range rows {
		w := of[r.label]
		if w == nil {
			key, name := spelling.Key(r.label), spelling.Of(r.label)
			i := slices.IndexFunc(alike[key], func(w *spelt) bool { return w.name == name })
			if i < 0 {
				i = len(alike[key])
				alike[key] = append(alike[key], &spelt{name: name, first: r.label})
			}
			w = alike[key][i]
			w.two = w.two || w.first != r.label
			of[r.label] = w
		}
		if r.split != "test" {
			w.images++
		}
	}
	chosen := map[string]string{} // by what is written
	for label, w := range of {
		chosen[label] = mostWritten(alike[spelling.Key(w.name)]).name
	}
	said := map[string]bool{}
	for i, r := range rows {
		name := chosen[r.label]
		if rows[i].label = name; !said[name] {
			said[name] = true
			notes = append(notes, unified(alike[spelling.Key(name)])...)
		}
	}
	if more := len(notes) - 5; more > 0 {
		notes = append(notes[:5], fmt.Sprintf("there are %s like these", count.Of(more, "more note")))
	}
	return notes
}

// mostWritten is the spelling of most training images, the first of those that have equally many.
func mostWritten(all []*spelt) *spelt {
	return slices.MaxFunc(all, func(a, b *spelt) int { return cmp.Compare(a.images, b.images) })
}

// unified are notes on the spellings of one class.
func unified(all []*spelt) (notes []string) {
	best := mostWritten(all)
	names, images, tied := make([]string, len(all)), 0, false
	for i, w := range all {
		if w.two {
			notes = append(notes, fmt.Sprintf("the class %s is written in two spellings of Unicode, which look alike", w.name))
		}
		names[i] = w.name
		images += w.images
		tied = tied || w != best && w.images == best.images
	}
	if len(all) > 1 {
		why := fmt.Sprintf("as %d of its %s are", best.images, count.Of(images, "training image"))
		if tied {
			why = "as the first of its images is"
		}
		notes = append(notes, fmt.Sprintf("%s are one class, as names are compared without case. It is called %s, %s",
			count.And(names), best.name, why))
	}
	return notes
}

// classes numbers the labels: whole numbers in their order where numbers says so, otherwise names in theirs.
func (rows ownRows) classes(number bool) (labels []int32, names []string) {
	texts := make([]string, len(rows))
	for i, r := range rows {
		texts[i] = r.label
	}
	numbers, whole := wholeNumbers(texts)
	if !whole || !number {
		return ranked(texts)
	}
	labels, sorted := ranked(numbers) // 7 and 07 are one
	for _, v := range sorted {
		names = append(names, strconv.FormatInt(v, 10))
	}
	return labels, names
}

// renamed says which labels are not the names of their classes, as 07 is not that of class 7.
func (rows ownRows) renamed(labels []int32, names []string) []string {
	var list []string
	seen := map[string]bool{}
	for i, r := range rows {
		if name := names[labels[i]]; name != r.label && !seen[r.label] {
			seen[r.label] = true
			list = append(list, r.label+" is the class "+name)
		}
	}
	if list == nil {
		return nil
	}
	return []string{"all labels are whole numbers, so " + count.Some(list)}
}

var plainNumber = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?$`)

// sameNumbers are notes on classes whose names are one number, such as 1, 01 and 1.0.
func sameNumbers(names []string) (notes []string) {
	before := map[float64]string{}
	for _, name := range names {
		v, err := strconv.ParseFloat(name, 64)
		if err != nil || !plainNumber.MatchString(name) {
			continue
		}
		if first, there := before[v]; there {
			notes = append(notes, fmt.Sprintf("the classes %s and %s are two, and their names are one number. Write them alike if they are one",
				first, name))
			continue
		}
		before[v] = name
	}
	return notes[:min(len(notes), 5)]
}

// wholeNumbers are the numbers that texts stand for, if all of them are whole numbers.
func wholeNumbers(texts []string) (numbers []int64, whole bool) {
	for _, text := range texts {
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, v)
	}
	return numbers, true
}

// ranked are different values in their order, and the place of each value among them.
func ranked[T cmp.Ordered](values []T) (ranks []int32, sorted []T) {
	sorted = slices.Compact(slices.Sorted(slices.Values(values)))
	ranks = make([]int32, len(values))
	for i, v := range values {
		k, _ := slices.BinarySearch(sorted, v)
		ranks[i] = int32(k)
	}
	return ranks, sorted
}

// tasks numbers the tasks of the rows from 0: whole numbers without gaps from 0 or 1 in their order, otherwise names in
// the order of their first training rows. It is nil where no row has a task. Test rows all have one, or all belong to
// all tasks; where the halves are still to be drawn, all rows have one.
func (rows ownRows) tasks(l *listing) ([]int32, error) {
	first := slices.IndexFunc(rows, func(r ownRow) bool { return r.task != "" })
	if first < 0 {
		return nil, nil
	}
	index, err := rows.taskOrder(l)
	if err != nil {
		return nil, err
	}
	tasks := make([]int32, len(rows))
	tested := ownRow{} // the first test row
	for i, r := range rows {
		test := r.split == "test"
		if test && tested.line == 0 {
			tested = r
		}
		k, known := index[r.task]
		switch {
		case test && (r.task == "") != (tested.task == ""):
			return nil, fmt.Errorf("line %d: of the test rows some have a task and some have none, as on line %d. Give all of them a task, or none",
				r.line, tested.line)
		case r.task == "" && test:
			k = allTasks
		case r.task == "":
			return nil, fmt.Errorf("line %d: the task is empty, but line %d has one. Give every training row a task", r.line,
				rows[first].line)
		case !known:
			return nil, fmt.Errorf("line %d: task %s has no image for training. Add some, or remove its rows", r.line,
				shown(r.task))
		}
		tasks[i] = k
	}
	return tasks, nil
}

// taskOrder numbers the tasks that training rows have, from 0, and tells the set of them.
func (rows ownRows) taskOrder(l *listing) (map[string]int32, error) {
	index := map[string]int32{} // in the order of their first rows, as names are
	var names []string
	for _, r := range rows {
		if _, known := index[r.task]; !known && r.task != "" && r.split != "test" {
			index[r.task] = int32(len(names))
			names = append(names, r.task)
		}
	}
	l.set.Tasks, l.set.TaskNames = len(names), names
	numbers, whole := wholeNumbers(names)
	if !whole || len(names) == 0 {
		return index, nil
	}
	ranks, sorted := ranked(numbers)
	if sorted[0] != 0 && sorted[0] != 1 {
		return nil, fmt.Errorf("the first task with training images is %d, but tasks are counted from 0 or 1. Count them anew, or give them names",
			sorted[0])
	}
	for i, v := range sorted {
		if want := sorted[0] + int64(i); v != want {
			return nil, fmt.Errorf("task %d has no image for training, but task %d has. Count the tasks anew without gaps, or give them names",
				want, v)
		}
	}
	for i, name := range names {
		index[name] = ranks[i]
	}
	l.set.Tasks, l.set.TaskNames = len(sorted), nil
	return index, nil
}
