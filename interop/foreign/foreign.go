// Package foreign reads accuracies that other programs have measured, as tables of numbers in CSV, and makes results of
// them that reports can show beside those of ocl. ocl cannot check these numbers, so such a result is marked as
// foreign. Start at [Read] and [Result].
package foreign

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/internal/limit"
	"ocl/run/result"
)

// Read reads the accuracies of one run with T tasks. Each line is a row, with commas between its numbers, which are
// fractions in [0,1]: row i has the accuracies after task i, column j those on the test set of task j. Above the
// diagonal a value may be absent, empty or nan; the result then has nil. A row may end at the diagonal. If all tasks
// share one test set (common), each row has one number, and the matrix is T×1. Lines that begin with # count as
// comments. name is that of the file, for errors, which say the line, the column, what is wanted and what to do.
func Read(name string, r io.Reader, common bool) ([][]*float64, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit.Foreign+1))
	if err != nil {
		return nil, fmt.Errorf("import: %s: %w. Copy the file from another disk", name, err)
	}
	if len(text) > limit.Foreign {
		return nil, fmt.Errorf("import: %s: it has more than %s bytes, too many for a table of accuracies. Give a table with a row for each task",
			name, count.Number(limit.Foreign))
	}
	t := table{name: name, common: common}
	if err := t.split(string(text)); err != nil {
		return nil, err
	}
	if err := t.checkNumbers(); err != nil {
		return nil, err
	}
	if err := t.checkShape(); err != nil {
		return nil, err
	}
	out := make([][]*float64, len(t.rows))
	for i, row := range t.rows {
		out[i] = make([]*float64, t.columns())
		for j := range out[i] {
			if out[i][j], err = t.value(row, i, j); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// table is a table of texts.
type table struct {
	name   string
	common bool
	rows   []row
}

// row is a line of the file that has numbers.
type row struct {
	line  int // counted from 1
	cells []string
}

// fault returns an error with its line and column, both counted from 1.
func (t *table) fault(line, column int, format string, a ...any) error {
	return fmt.Errorf("import: %s, line %d, column %d: %s", t.name, line, column, fmt.Sprintf(format, a...))
}

// split cuts the text into lines and cells. Spreadsheets write a byte order mark and quotation marks.
func (t *table) split(text string) error {
	text = strings.TrimPrefix(text, "\ufeff")
	empty, n := 0, 0 // the first empty line since the last row
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case line == "":
			if empty == 0 {
				empty = n
			}
			continue
		case empty > 0 && len(t.rows) > 0:
			return t.fault(empty, 1, "the line is empty, but the accuracies after task %d are wanted. Add the row, or remove the line",
				len(t.rows)+1)
		case len(t.rows) == limit.ForeignTasks:
			return t.fault(n, 1, "there are more than %s rows, but at most that many tasks are read. Give a table with a row for each task",
				count.Number(limit.ForeignTasks))
		case strings.Count(line, ",") >= limit.ForeignTasks:
			return t.fault(n, limit.ForeignTasks+1, "there are more than %s columns, but at most that many tasks are read. Give a table with a column for each task",
				count.Number(limit.ForeignTasks))
		}
		empty = 0
		cells := strings.Split(line, ",")
		for i, c := range cells {
			c = strings.TrimSpace(c)
			if len(c) > 1 && c[0] == '"' && c[len(c)-1] == '"' {
				c = strings.TrimSpace(c[1 : len(c)-1])
			}
			cells[i] = c
		}
		t.rows = append(t.rows, row{n, cells})
	}
	if len(t.rows) == 0 {
		return fmt.Errorf("import: %s: it has no numbers, but a row for each task is wanted. Write the accuracies after each task in a line, with commas between them",
			t.name)
	}
	return nil
}

// columns returns the number of test sets.
func (t *table) columns() int {
	if t.common {
		return 1
	}
	return len(t.rows)
}

// checkNumbers refuses cells that are not numbers. It runs before checkShape, because a header line would make the
// shape wrong too, and this error says more.
func (t *table) checkNumbers() error {
	for _, r := range t.rows {
		for j, text := range r.cells {
			_, err := strconv.ParseFloat(text, 64)
			switch {
			case err == nil || absent(text) || errors.Is(err, strconv.ErrRange):
			case len(r.cells) == 1 && strings.ContainsAny(text, "; \t"):
				return t.fault(r.line, 1, "found %s, but numbers with commas between them are wanted. Save the table as CSV with commas, and with points in the numbers",
					shown(text))
			default:
				return t.fault(r.line, j+1, "found %s, but a number from 0 to 1 is wanted. The table has numbers alone: remove the names of its rows and columns",
					shown(text))
			}
		}
	}
	return nil
}

// absent says that a cell has no number.
func absent(text string) bool { return text == "" || strings.EqualFold(text, "nan") }

// checkShape refuses a table that has not as many columns as rows. A row may end at the diagonal.
func (t *table) checkShape() error {
	want := t.columns()
	for i, r := range t.rows {
		n := len(r.cells)
		switch {
		case n == want || n == i+1 && n < want:
		case t.common:
			return t.fault(r.line, 2, "found %s, but one is wanted, as all tasks share one test set. Leave out --common-test, or give one number in each line",
				count.Of(n, "column"))
		case n > want:
			return t.fault(r.line, want+1,
				"found %s in %s, but as many columns as rows are wanted, one for each task. Add the missing rows, or remove the columns",
				count.Of(n, "column"), count.Of(want, "row"))
		default:
			if want > 1 && n == 1 && len(t.rows[want-1].cells) == 1 {
				return t.fault(r.line, 2,
					"found 1 column in %s, but as many columns as rows are wanted. Add the missing columns, or give --common-test if all tasks share one test set",
					count.Of(want, "row"))
			}
			return t.fault(r.line, n+1,
				"found %s in %s, but as many columns as rows are wanted, or in this row %d. Add the missing columns, or remove the rows",
				count.Of(n, "column"), count.Of(want, "row"), i+1)
		}
	}
	return nil
}

// value returns the accuracy in a cell. It is nil if the cell is empty, which is allowed only for a task not learned
// yet.
func (t *table) value(r row, i, j int) (*float64, error) {
	text := ""
	if j < len(r.cells) {
		text = r.cells[j]
	}
	if absent(text) {
		if j > i {
			return nil, nil //nolint:nilnil // nil is how results write what was not measured
		}
		return nil, t.fault(r.line, j+1, "there is no number, but after task %d the accuracy on task %d is wanted. "+
			"Rows are after tasks, columns on tasks: transpose the table if it is the other way round", i+1, j+1)
	}
	v, _ := strconv.ParseFloat(text, 64) // it is a number, or infinite
	switch {
	case v > 1 && v <= 100:
		return nil, t.fault(r.line, j+1, "found %s, but a number from 0 to 1 is wanted. Divide per cent by 100", shown(text))
	case !(v >= 0 && v <= 1):
		return nil, t.fault(r.line, j+1, "found %s, but a number from 0 to 1 is wanted. Write accuracies as fractions",
			shown(text))
	}
	v += 0 // so that -0 is 0
	return &v, nil
}

// shown quotes a text of the file, and shortens what is long.
func shown(s string) string {
	const most = 40
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}

// About is what the user states about accuracies, because their file has only numbers.
type About struct {
	Method, Title string // Title heads its row in tables; "" is Method
	Citation      string
	Source        result.Foreign
	Data          string // data set
	Scenario      string // as in result.Stream
	Protocol      string // "" is unknown
	CommonTest    bool
	Provenance    result.Provenance // of the import
}

// Result makes a foreign result of accuracies that [Read] has read, with the metrics that follow from them. The error
// says what of about cannot be written.
func Result(accuracy [][]*float64, about About) (*result.Result, error) {
	title := about.Title
	if title == "" {
		title = about.Method
	}
	r := &result.Result{
		Format: result.Format, Version: result.Version, Foreign: &about.Source,
		Method: result.Method{Name: about.Method, Title: title, Tricks: []string{}, Options: map[string]any{},
			Signals: []string{}, Citation: about.Citation},
		Provenance: about.Provenance,
		Stream: result.Stream{Name: about.Data, Scenario: about.Scenario, Protocol: about.Protocol,
			CommonTest: about.CommonTest},
		Accuracy: accuracy,
		Metrics:  result.MetricsOf(accuracy, about.CommonTest, nil),
		Outcome:  result.Outcome{State: result.Finished},
	}
	for i := range accuracy {
		r.Stream.Tasks = append(r.Stream.Tasks, result.Task{Index: i, Classes: []int{}})
	}
	if err := result.Check(r); err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	return r, nil
}
