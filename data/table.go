package data

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/limit"
	"ocl/internal/nearest"
	"ocl/internal/spelling"
)

// table is a file that lists images: the names of its columns, and rows.
type table struct {
	columns []string
	// next is a row, a field for each column, and its line from 1 on. What it returns holds until the next call. io.EOF
	// comes after the last one.
	next func() (fields []string, line int, err error)
}

// Usual names of columns, in lower case. The first of each is the one that docs/data.md names.
var (
	pathColumns  = []string{"path", "filename", "file_name", "file", "filepath", "filepaths", "image", "image_path", "img"}
	labelColumns = []string{"label", "labels", "class", "class_name", "category"}
	splitColumns = []string{"split", "subset", "data set"}
)

// usedColumns are the places of columns among those of a table; -1 is none.
type usedColumns struct{ path, label, task, split int }

// find finds the columns by their names; that of the class is called column, or as usual.
func (t *table) find(column string) (usedColumns, error) {
	names := make([]string, len(t.columns))
	for i, name := range t.columns {
		names[i] = strings.ToLower(strings.TrimSpace(name))
	}
	// one is the column with the first of these names, or the only one of the others.
	one := func(usual []string) (int, error) {
		at := -1
		for i, name := range names {
			switch {
			case !slices.Contains(usual, name):
			case at >= 0 && names[at] == name:
				return -1, fmt.Errorf("line 1: the column %s is there twice. Rename one of them", name)
			case name == usual[0], at < 0:
				at = i
			case names[at] != usual[0]:
				return -1, fmt.Errorf("line 1: the columns %s and %s may both be meant. Call the right one %s", names[at], name,
					usual[0])
			}
		}
		return at, nil
	}
	var c usedColumns
	var errs [4]error
	c.path, errs[0] = one(pathColumns)
	c.label, errs[1] = one(labelColumns)
	c.task, errs[2] = one([]string{"task"})
	c.split, errs[3] = one(splitColumns)
	if c.path < 0 && errs[0] == nil { // of Hugging Face
		c.path = slices.IndexFunc(names, func(name string) bool { return strings.HasSuffix(name, "_file_name") })
	}
	if column != "" {
		errs[1] = nil
		if c.label = slices.Index(names, strings.ToLower(column)); c.label < 0 {
			return c, fmt.Errorf("line 1: there is no column %.40q. The columns are %s", column, t.named())
		}
	}
	if err := cmp.Or(errs[:]...); err != nil {
		return c, err
	}
	if c.path < 0 {
		return c, fmt.Errorf("line 1: no column has the files of the images. The columns are %s. Use path,label and, if you like, task and split",
			t.named())
	}
	var rest []string
	for i, name := range names {
		if i == c.path || i == c.label || i == c.task || i == c.split || name == "" {
			continue
		}
		rest = append(rest, name)
		near := nearest.Word(name, []string{"path", "label", "task", "split"})
		if missing := map[string]int{"path": c.path, "label": c.label, "task": c.task, "split": c.split}; near != "" &&
			missing[near] < 0 {
			return c, fmt.Errorf("line 1: %.60q is no name of a column. Write %s if it is that; otherwise call it something else",
				name, near)
		}
	}
	if c.label < 0 {
		u := &unsure{why: "line 1: there is no column label"}
		for _, name := range rest {
			u.readings = append(u.readings, ReadList+":"+name)
		}
		return c, u
	}
	return c, nil
}

// named are the names of the columns for a message.
func (t *table) named() string {
	names := make([]string, len(t.columns))
	for i, name := range t.columns {
		if name = strings.TrimSpace(name); len(name) > 60 {
			name = name[:60] + "…"
		}
		names[i] = shown(name)
	}
	return count.First(20, names)
}

// listsImages says whether columns for files and for classes have their usual names.
func (t *table) listsImages() bool {
	c, err := t.find("")
	return err == nil && c.path >= 0 && c.label >= 0
}

// splitOf is what a list may call the halves.
func splitOf(text string) string {
	switch is := halfOf(text); is {
	case "eval":
		return "test"
	case "dev":
		return "val"
	case "":
		return strings.ToLower(text)
	default:
		return is
	}
}

// read reads the rows, at most so many, and checks each by itself. left are the columns that are not used.
func (t *table) read(ctx context.Context, column string, most int) (rows ownRows, left []string, err error) {
	c, err := t.find(column)
	if err != nil {
		return nil, nil, err
	}
	for i, name := range t.columns {
		if i != c.path && i != c.label && i != c.task && i != c.split {
			left = append(left, shown(strings.TrimSpace(name)))
		}
	}
	seen := map[string]int{}
	for ctx.Err() == nil {
		fields, line, err := t.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if len(rows) == most {
			return nil, nil, tooManyRows(most)
		}
		for _, i := range []int{c.path, c.label, c.task, c.split} {
			if i >= 0 && len(fields[i]) > limit.ImageListField {
				return nil, nil, fmt.Errorf("line %d: a field has %s, but at most %s are read. Check the quotes", line,
					count.Of(len(fields[i]), "byte"), count.Number(limit.ImageListField))
			}
		}
		field := func(i int) string {
			if i < 0 {
				return ""
			}
			return strings.TrimSpace(fields[i])
		}
		image := ownRow{line, field(c.path), field(c.label), spelling.Of(field(c.task)), splitOf(field(c.split))}
		if text := []byte(image.label); len(text) > 0 && (text[0] == '[' || text[0] == '{') && json.Valid(text) {
			return nil, nil, fmt.Errorf("line %d: the label is %.60q, a list or an object, but an image has one class. Write one name",
				line, image.label)
		}
		if err := image.check(); err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", line, err)
		}
		place := filepath.Clean(filepath.FromSlash(image.path))
		if before, twice := seen[place]; twice {
			return nil, nil, fmt.Errorf("line %d: %s is listed on line %d already. List each image once", line,
				shown(image.path), before)
		}
		seen[place] = line
		rows = append(rows, image)
	}
	if len(rows) == 0 && ctx.Err() == nil {
		return nil, nil, errors.New("there is no row after the names of the columns. Add a row for each image")
	}
	return rows, left, ctx.Err()
}

// tableOfJSONLines reads a list that has an object on each line, as Hugging Face writes it. The keys of the first one
// are the columns.
func tableOfJSONLines(r io.Reader) (*table, error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, limit.ImageListRow)
	line := 0
	object := func() (map[string]json.RawMessage, error) {
		for in.Scan() {
			line++
			text := bytes.TrimSpace(bytes.TrimPrefix(in.Bytes(), []byte("\ufeff")))
			if len(text) == 0 {
				continue
			}
			var o map[string]json.RawMessage
			if err := json.Unmarshal(text, &o); err != nil || o == nil {
				return nil, fmt.Errorf("line %d: this is no JSON object: %.40q. Write one on each line, such as {\"file_name\": \"1.jpg\", \"label\": \"cat\"}",
					line, text)
			}
			return o, nil
		}
		switch err := in.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return nil, fmt.Errorf("line %d: %w, which is the limit. Write an object on each line", line+1, errRow)
		case err != nil:
			return nil, fmt.Errorf("%w. Check the file", cause.Of(err))
		}
		return nil, io.EOF
	}
	first, err := object()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty. Write an object on each line, such as {\"file_name\": \"1.jpg\", \"label\": \"cat\"}")
	}
	if err != nil {
		return nil, err
	}
	t := &table{columns: slices.Sorted(maps.Keys(first))}
	fields := make([]string, len(t.columns))
	t.next = func() ([]string, int, error) {
		o := first
		if first = nil; o == nil {
			var err error
			if o, err = object(); err != nil {
				return nil, line, err
			}
		}
		for i, name := range t.columns {
			fields[i] = scalar(o[name])
		}
		return fields, line, nil
	}
	return t, nil
}

// scalar is a JSON value as a field of a table: a text, a number or a word as it is, nothing for null, and a list or an
// object as its JSON, which is no name of a class.
func scalar(value json.RawMessage) string {
	var text string
	switch {
	case len(value) == 0 || string(value) == "null":
		return ""
	case json.Unmarshal(value, &text) == nil:
		return text
	}
	return string(value)
}
