package data

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ocl/internal/cause"
	"ocl/internal/count"
)

var csvInfo = Info{
	Name: "csv", Title: "your own image files, listed in a CSV file",
	Summary: "Your own image files in any folders, with labels, halves and tasks of your choice from a CSV file.",
	Shape:   "3×64×64 (any side from 8 to 512 with data.size)", Size: ownSize, NeedsDir: true,
	Endings: []string{".csv"},
	Layout: "--data-dir is the .csv file, whose first line names its columns, in any order:\n" +
		"path: an image file (JPEG, PNG, GIF, WebP, BMP), relative to the folder of the .csv file\n" +
		"label: the class, a name or a whole number\n" +
		"task (may be absent): a name, or a number from 0 or 1 on; test rows without one are for all tasks\n" +
		"split (may be absent): train, test or val; otherwise a fifth of each class is for testing\n" +
		"Of each image the shorter side is scaled to data.size, and the middle is cut out.",
	Source: "your own", Licence: "yours", Citation: "none",
	Example: "ocl run --data csv --data-dir photos.csv",
	MinSize: ownMinSize, MaxSize: ownMaxSize,
	list: listCSV,
}

// Bounds of a list: larger ones are mistakes.
const (
	maxCSVBytes = 1 << 30
	maxCSVField = 4096 // bytes, the longest path of Linux
)

// listCSV reads the list that spec.Dir names.
func listCSV(ctx context.Context, spec Spec) (*listing, error) {
	const use = "Use --data-dir FILE.csv, a list with the columns path and label"
	info, err := given("file", spec.Dir, use)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		return nil, fmt.Errorf("%s: this is a folder. %s; for class folders use --data folder", shown(spec.Dir), use)
	case info.Size() > maxCSVBytes:
		return nil, fmt.Errorf("%s: the file has %s, but at most %s are read. Check that it is a list of images", shown(spec.Dir), count.Of(info.Size(), "byte"), count.Number(maxCSVBytes))
	}
	file, err := os.Open(spec.Dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w. Check its permissions", shown(spec.Dir), cause.Of(err))
	}
	defer file.Close()
	rows, err := readCSV(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(spec.Dir), err)
	}
	l := newListing("csv", spec)
	l.pictures.root, l.pictures.list = filepath.Dir(spec.Dir), spec.Dir
	if err := rows.fill(l, spec); err != nil {
		return nil, fmt.Errorf("%s: %w", shown(spec.Dir), err)
	}
	return l, nil
}

// csvRow is an image of a list.
type csvRow struct {
	line                     int
	path, label, task, split string
}

type csvRows []csvRow

// csvColumns are the columns that a list may have, and where they are stored.
var csvColumns = map[string]func(*csvRow) *string{
	"path":  func(r *csvRow) *string { return &r.path },
	"label": func(r *csvRow) *string { return &r.label },
	"task":  func(r *csvRow) *string { return &r.task },
	"split": func(r *csvRow) *string { return &r.split },
}

// readCSV reads a list and checks each row by itself.
func readCSV(ctx context.Context, r io.Reader) (csvRows, error) {
	in := bufio.NewReader(r)
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(len(mark))
	}
	lines := csv.NewReader(in)
	lines.TrimLeadingSpace, lines.ReuseRecord = true, true
	head, err := lines.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty. The first line names the columns, such as path,label")
	}
	if err != nil {
		return nil, csvFault(err)
	}
	columns, err := csvHead(head)
	if err != nil {
		return nil, err
	}
	var rows csvRows
	seen := map[string]int{}
	for {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, csvFault(err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		row := csvRow{}
		row.line, _ = lines.FieldPos(0)
		for i, field := range fields {
			if len(field) > maxCSVField {
				return nil, fmt.Errorf("line %d: a field has %s, but at most %s are read. Check the quotes", row.line, count.Of(len(field), "byte"), count.Number(maxCSVField))
			}
			*columns[i](&row) = strings.TrimSpace(field)
		}
		if err := row.check(); err != nil {
			return nil, err
		}
		place := filepath.Clean(filepath.FromSlash(row.path))
		if before, twice := seen[place]; twice {
			return nil, fmt.Errorf("line %d: %s is listed on line %d already. List each image once", row.line, shown(row.path), before)
		}
		seen[place] = row.line
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, errors.New("there is no row after the names of the columns. Add a row for each image")
	}
	return rows, nil
}

// csvFault turns an error of package csv into a message of this program.
func csvFault(err error) error {
	var p *csv.ParseError
	if !errors.As(err, &p) {
		return fmt.Errorf("%w. Check the file", cause.Of(err))
	}
	switch {
	case errors.Is(p.Err, csv.ErrFieldCount):
		return fmt.Errorf("line %d: the number of fields is not that of the first line. Put fields with commas into quotes", p.Line)
	case errors.Is(p.Err, csv.ErrQuote), errors.Is(p.Err, csv.ErrBareQuote):
		return fmt.Errorf("line %d, column %d: a quote stands within a field or is not closed. Write the whole field in quotes, and a quote in it twice", p.Line, p.Column)
	}
	return fmt.Errorf("line %d: %w. Check the line", p.Line, p.Err)
}

// csvHead finds the columns by the names in the first line.
func csvHead(head []string) ([]func(*csvRow) *string, error) {
	const want = "Use path,label and, if you like, task and split"
	columns := make([]func(*csvRow) *string, len(head))
	named := map[string]bool{}
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(name))
		column, known := csvColumns[name]
		if !known {
			return nil, fmt.Errorf("line 1: %.60q is no name of a column. %s, separated by commas", head[i], want)
		}
		if named[name] {
			return nil, fmt.Errorf("line 1: the column %s is there twice. %s", name, want)
		}
		columns[i], named[name] = column, true
	}
	for _, name := range []string{"path", "label"} {
		if !named[name] {
			return nil, fmt.Errorf("line 1: there is no column %s. %s", name, want)
		}
	}
	return columns, nil
}

// check checks what can be checked of a single row.
func (r *csvRow) check() error {
	for _, f := range []struct{ column, text string }{{"path", r.path}, {"label", r.label}} {
		if f.text == "" {
			return fmt.Errorf("line %d: the %s is empty. Fill it in, or remove the row", r.line, f.column)
		}
	}
	for _, f := range []struct{ column, text string }{{"label", r.label}, {"task", r.task}} {
		if shown(f.text) != f.text || utf8.RuneCountInString(f.text) > 200 {
			return fmt.Errorf("line %d: the %s %.40q is too long or cannot be printed. Use a name of at most 200 letters", r.line, f.column, f.text)
		}
	}
	switch split := strings.ToLower(r.split); split {
	case "", "train", "test", "val":
		r.split = split
	default:
		return fmt.Errorf("line %d: %.40q is no split. Use train, test or val", r.line, r.split)
	}
	return nil
}

// fill puts the rows into a listing: classes, halves and tasks.
func (rows csvRows) fill(l *listing, spec Spec) error {
	rows, drawn, err := rows.halves(l)
	if err != nil {
		return err
	}
	labels, names := rows.classes()
	tasks, err := rows.tasks(l)
	if err != nil {
		return err
	}
	l.set.Classes, l.set.ClassNames = len(names), names
	trained := make([]bool, len(names))
	for i, r := range rows {
		e := entry{test: r.split == "test", label: labels[i]}
		if tasks != nil {
			e.task = tasks[i]
		}
		trained[e.label] = trained[e.label] || !e.test
		l.add([]string{filepath.ToSlash(r.path)}, e)
		l.pictures.lines = append(l.pictures.lines, r.line)
	}
	for i, r := range rows {
		if !trained[labels[i]] {
			return fmt.Errorf("line %d: the class %s has no image for training. Add some, or remove its rows", r.line, r.label)
		}
	}
	if least, _ := spec.leastClasses(); len(names) < least {
		return fmt.Errorf("there is one class, %s, but at least two are needed. Add rows of other classes", names[0])
	}
	if drawn {
		return l.divide(spec.Seed)
	}
	return nil
}

// halves sets the split of each row to train or test. Rows of val become test rows if there are none of test, and are left out
// otherwise. drawn is true if no row has a split, so that test rows must be drawn from each class.
func (rows csvRows) halves(l *listing) (kept csvRows, drawn bool, err error) {
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
			return nil, false, fmt.Errorf("line %d: the split is empty, but other rows have one. Use train, test or val in every row, or in none", r.line)
		case r.split == "val" && n["test"] > 0:
			continue
		case r.split == "val":
			r.split = "test"
		}
		kept = append(kept, r)
	}
	if n["val"] > 0 && n["test"] > 0 {
		l.set.Notes = append(l.set.Notes, fmt.Sprintf("%s of the split val left out, as there are rows of test", count.Of(n["val"], "row")))
	}
	if n["test"]+n["val"] == 0 {
		return nil, false, errors.New("every row has the split train. Add rows with test, or remove the column split, so that a fifth of each class is for testing")
	}
	if n["train"] == 0 {
		return nil, false, errors.New("no row has the split train. Use train for the rows of training images")
	}
	return kept, false, nil
}

// classes numbers the labels: whole numbers in their order, otherwise names in theirs.
func (rows csvRows) classes() (labels []int32, names []string) {
	numbers := make(map[string]int64)
	whole := true
	for _, r := range rows {
		v, err := strconv.ParseInt(r.label, 10, 64)
		whole = whole && err == nil
		numbers[r.label] = v
	}
	index := map[string]int32{}
	if whole {
		values := make([]int64, 0, len(numbers))
		for _, v := range numbers {
			values = append(values, v)
		}
		slices.Sort(values)
		values = slices.Compact(values) // 7 and 07 are one
		for _, v := range values {
			names = append(names, strconv.FormatInt(v, 10))
		}
		for text, v := range numbers {
			k, _ := slices.BinarySearch(values, v)
			index[text] = int32(k)
		}
	} else {
		for text := range numbers {
			names = append(names, text)
		}
		slices.Sort(names)
		for k, text := range names {
			index[text] = int32(k)
		}
	}
	labels = make([]int32, len(rows))
	for i, r := range rows {
		labels[i] = index[r.label]
	}
	return labels, names
}

// tasks numbers the tasks of the rows from 0: whole numbers without gaps from 0 or 1 in their order, otherwise names in the
// order of their first training rows. It is nil where no row has a task. Test rows all have one, or all belong to all tasks;
// where the halves are still to be drawn, all rows have one.
func (rows csvRows) tasks(l *listing) ([]int32, error) {
	first := csvRow{} // with a task
	for _, r := range rows {
		if r.task != "" {
			first = r
			break
		}
	}
	if first.line == 0 {
		return nil, nil
	}
	index, names, err := rows.taskOrder()
	if err != nil {
		return nil, err
	}
	tasks := make([]int32, len(rows))
	tested := csvRow{} // the first test row
	for i, r := range rows {
		test := r.split == "test"
		switch {
		case test && tested.line == 0:
			tested = r
		case test && (r.task == "") != (tested.task == ""):
			return nil, fmt.Errorf("line %d: of the test rows some have a task and some have none, as on line %d. Give all of them a task, or none", r.line, tested.line)
		}
		k, known := index[r.task]
		switch {
		case r.task == "" && test:
			k = allTasks
		case r.task == "":
			return nil, fmt.Errorf("line %d: the task is empty, but line %d has one. Give every training row a task", r.line, first.line)
		case !known:
			return nil, fmt.Errorf("line %d: task %s has no image for training. Add some, or remove its rows", r.line, shown(r.task))
		}
		tasks[i] = k
	}
	l.set.Tasks, l.set.TaskNames = len(slices.Compact(slices.Sorted(maps.Values(index)))), names
	return tasks, nil
}

// taskOrder numbers the tasks that training rows have, from 0. names are those of tasks that are no numbers, in their order.
func (rows csvRows) taskOrder() (index map[string]int32, names []string, err error) {
	index = map[string]int32{} // in the order of their first rows, as names are
	numbers, whole := []int64{}, true
	for _, r := range rows {
		if _, known := index[r.task]; known || r.task == "" || r.split == "test" {
			continue
		}
		index[r.task] = int32(len(names))
		names = append(names, r.task)
		v, err := strconv.ParseInt(r.task, 10, 64)
		numbers, whole = append(numbers, v), whole && err == nil
	}
	if !whole || len(names) == 0 {
		return index, names, nil
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(numbers)))
	if sorted[0] != 0 && sorted[0] != 1 {
		return nil, nil, fmt.Errorf("the first task with training images is %d, but tasks are counted from 0 or 1. Count them anew, or give them names", sorted[0])
	}
	for i, v := range sorted {
		if want := sorted[0] + int64(i); v != want {
			return nil, nil, fmt.Errorf("task %d has no image for training, but task %d has. Count the tasks anew without gaps, or give them names", want, v)
		}
	}
	for i, name := range names {
		index[name] = int32(numbers[i] - sorted[0])
	}
	return index, nil, nil
}
