package data

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/internal/spelling"
)

var csvInfo = Info{
	Name: "csv", Title: "your own image files, listed in a CSV file",
	Summary: "Your own image files in any folders, with labels, halves and tasks of your choice from a CSV file.",
	Shape:   "3×64×64 (any side from 8 to 512 with data.size)", Colour: true, Size: ownSize, NeedsDir: true,
	Endings: []string{".csv"},
	Layout: "--data-dir is the .csv file, whose first line names its columns, in any order:\n" +
		"path or filename: an image file (JPEG, PNG, GIF, WebP, BMP, TIFF), relative to the folder of the .csv file\n" +
		"label: the class, a name or a whole number\n" +
		"task (may be absent): a name, or a number from 0 or 1 on; test rows without one are for all tasks\n" +
		"split (may be absent): train, test or val; otherwise a fifth of each class is for testing\n" +
		"Of each image the shorter side is scaled to data.size, and the middle is cut out.",
	Source: "your own", Licence: "yours", Citation: "none",
	Example: "ocl run --data csv --data-dir photos.csv",
	MinSize: ownMinSize, MaxSize: ownMaxSize,
	list: listCSV,
}

// listCSV reads the list that spec.Dir names.
func listCSV(ctx context.Context, spec Spec) (*listing, error) {
	const use = "Use --data-dir FILE.csv, a list with the columns path and label"
	info, err := given("file", spec.Dir, use)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s: this is a folder. %s; for class folders use --data folder", shown(spec.Dir), use)
	}
	file, _, err := input.Open(spec.Dir, input.Want{Most: limit.ImageList})
	if err != nil {
		return nil, fmt.Errorf("%s: %w. Give a list of images that can be read", shown(spec.Dir), cause.Of(err))
	}
	defer file.Close()
	err = fewRows(ctx, file, limit.SetImages)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	var rows csvRows
	if err == nil {
		rows, err = readCSV(ctx, file, limit.SetImages)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(spec.Dir), err)
	}
	l := newListing("csv", spec)
	l.pictures.root, l.pictures.list = filepath.Dir(spec.Dir), spec.Dir
	if err := rows.fill(l, spec); err != nil {
		return nil, fmt.Errorf("%s: %w", shown(spec.Dir), err)
	}
	l.pictures.respell()
	return l, nil
}

// csvRow is an image of a list.
type csvRow struct {
	line                     int
	path, label, task, split string
}

type csvRows []csvRow

var errRow = fmt.Errorf("a row has more than %s bytes", count.Number(limit.ImageListRow))

// fewRows refuses a list of more than so many rows. It only counts them, as the rows up to the limit take half a minute
// to check.
func fewRows(ctx context.Context, r io.Reader, most int) error {
	part := make([]byte, 1<<16)
	rows, quoted, empty := -1, false, true // without the names of the columns
	for ctx.Err() == nil {
		n, err := r.Read(part)
		for _, b := range part[:n] {
			switch {
			case b == '"':
				quoted, empty = !quoted, false
			case b == '\n' && !quoted:
				if !empty {
					rows++
				}
				empty = true
			case b != '\r':
				empty = false
			}
		}
		if rows > most {
			return tooManyRows(most)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w. Check the file", cause.Of(err))
		}
	}
	return ctx.Err()
}

func tooManyRows(most int) error {
	return fmt.Errorf("there are more than %s, which is the limit. Use a part of them", count.Of(most, "row"))
}

// readCSV reads a list of at most so many rows, and checks each row by itself.
func readCSV(ctx context.Context, r io.Reader, most int) (csvRows, error) {
	in := bufio.NewReader(r)
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(len(mark))
	}
	separator, err := csvBegin(in)
	if err != nil {
		return nil, err
	}
	row := &bounded{in, limit.ImageListRow, errRow} // package csv keeps whole rows in memory
	lines := csv.NewReader(row)
	lines.Comma = separator
	lines.TrimLeadingSpace, lines.ReuseRecord = true, true
	head, err := lines.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty. The first line names the columns, such as path,label")
	}
	if err != nil {
		return nil, csvFault(err, 1)
	}
	columns, err := csvHead(head)
	if err != nil {
		return nil, err
	}
	var rows csvRows
	seen := map[string]int{}
	line := 1
	for ctx.Err() == nil {
		row.left = limit.ImageListRow
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, csvFault(err, line+1)
		}
		if len(rows) == most {
			return nil, tooManyRows(most)
		}
		line, _ = lines.FieldPos(0)
		if i := slices.IndexFunc(fields, func(f string) bool { return len(f) > limit.ImageListField }); i >= 0 {
			return nil, fmt.Errorf("line %d: a field has %s, but at most %s are read. Check the quotes", line,
				count.Of(len(fields[i]), "byte"), count.Number(limit.ImageListField))
		}
		field := func(name string) string {
			if i, is := columns[name]; is {
				return strings.TrimSpace(fields[i])
			}
			return ""
		}
		image := csvRow{line, field("path"), spelling.Of(field("label")), spelling.Of(field("task")),
			strings.ToLower(field("split"))}
		if err := image.check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		place := filepath.Clean(filepath.FromSlash(image.path))
		if before, twice := seen[place]; twice {
			return nil, fmt.Errorf("line %d: %s is listed on line %d already. List each image once", line, shown(image.path),
				before)
		}
		seen[place] = line
		rows = append(rows, image)
	}
	if len(rows) == 0 && ctx.Err() == nil {
		return nil, errors.New("there is no row after the names of the columns. Add a row for each image")
	}
	return rows, ctx.Err()
}

// csvBegin tells the separator from the first line: a comma, or a semicolon or a tab, as spreadsheets write it where a
// comma is in numbers. Other ways to write text than UTF-8 are errors.
func csvBegin(in *bufio.Reader) (separator rune, err error) {
	begin, _ := in.Peek(512)
	const save = "Save the list as CSV UTF-8"
	if mark := begin[:min(2, len(begin))]; string(mark) == "\xff\xfe" || string(mark) == "\xfe\xff" {
		return 0, errors.New("the file is UTF-16. " + save)
	}
	first, _, whole := bytes.Cut(begin, []byte("\n"))
	if bytes.ContainsRune(bytes.TrimSuffix(first, []byte("\r")), '\r') && (whole || len(begin) < 512) {
		return 0, errors.New("line 1: its end is a carriage return alone, which is no end of a line. " + save)
	}
	for _, other := range ";\t" {
		if !bytes.ContainsRune(first, ',') && bytes.ContainsRune(first, other) {
			return other, nil
		}
	}
	return ',', nil
}

// csvFault turns an error of package csv into a message of this program. line is where a row without a line begins.
func csvFault(err error, line int) error {
	var p *csv.ParseError
	if errors.Is(err, errRow) {
		return fmt.Errorf("line %d: %w, which is the limit. Close the quotes, or check that the file is a list of images",
			line, err)
	}
	if !errors.As(err, &p) {
		return fmt.Errorf("%w. Check the file", cause.Of(err))
	}
	switch {
	case errors.Is(p.Err, csv.ErrFieldCount):
		return fmt.Errorf("line %d: the number of fields is not that of the first line. Put fields with commas into quotes",
			p.Line)
	case errors.Is(p.Err, csv.ErrQuote), errors.Is(p.Err, csv.ErrBareQuote):
		return fmt.Errorf("line %d, column %d: a quote stands within a field or is not closed. Write the whole field in quotes, and a quote in it twice",
			p.Line, p.Column)
	}
	return fmt.Errorf("line %d: %w. Check the line", p.Line, p.Err)
}

// csvHead finds the columns by the names in the first line.
func csvHead(head []string) (columns map[string]int, err error) {
	const want = "Use path,label and, if you like, task and split"
	columns = map[string]int{}
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "filename" {
			name = "path"
		}
		if !slices.Contains([]string{"path", "label", "task", "split"}, name) {
			return nil, fmt.Errorf("line 1: %.60q is no name of a column. %s, separated by commas", head[i], want)
		}
		if _, twice := columns[name]; twice {
			return nil, fmt.Errorf("line 1: the column %s is there twice. %s", name, want)
		}
		columns[name] = i
	}
	for _, name := range []string{"path", "label"} {
		if _, is := columns[name]; !is {
			return nil, fmt.Errorf("line 1: there is no column %s. %s", name, want)
		}
	}
	return columns, nil
}

// check checks what can be checked of a single row.
func (r *csvRow) check() error {
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
		return l.divide(spec)
	}
	return nil
}

// halves sets the split of each row to train or test. Rows of val become test rows if there are none of test, and are
// left out otherwise. drawn is true if no row has a split, so that test rows must be drawn from each class.
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
	texts := make([]string, len(rows))
	for i, r := range rows {
		texts[i] = r.label
	}
	numbers, whole := wholeNumbers(texts)
	if !whole {
		return ranked(texts)
	}
	labels, sorted := ranked(numbers) // 7 and 07 are one
	for _, v := range sorted {
		names = append(names, strconv.FormatInt(v, 10))
	}
	return labels, names
}

// renamed says which labels are not the names of their classes, as 07 is not that of class 7.
func (rows csvRows) renamed(labels []int32, names []string) []string {
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
func (rows csvRows) tasks(l *listing) ([]int32, error) {
	first := slices.IndexFunc(rows, func(r csvRow) bool { return r.task != "" })
	if first < 0 {
		return nil, nil
	}
	index, err := rows.taskOrder(l)
	if err != nil {
		return nil, err
	}
	tasks := make([]int32, len(rows))
	tested := csvRow{} // the first test row
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
func (rows csvRows) taskOrder(l *listing) (map[string]int32, error) {
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
