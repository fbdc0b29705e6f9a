package report

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ocl/internal/count"
	"ocl/internal/escape"
)

// table is one table of the report, ready for HTML, CSV and Markdown.
type table struct {
	ID    string // names tables/ID.csv and tables/ID.md
	Title string
	Head  []column
	Rows  [][]cell
	Few   [][]cell // what the page shows of a table that is too long for it; nil is all
	Front string   // what stands before the text of each folder, "" if not the same before all
}

// Shown are the rows on the page.
func (t *table) Shown() [][]cell {
	if t.Few != nil {
		return t.Few
	}
	return t.Rows
}

// sayable are columns that the page leaves out where all lines have the same in them; it says it once below the table.
var sayable = []string{"stream", "protocol", "memory", "runs", "outcome"}

// Same says whether all lines have the same in a column that can be said once.
func (t *table) Same(i int) bool {
	if len(t.Rows) < 2 || !slices.Contains(sayable, t.Head[i].Name) {
		return false
	}
	return !slices.ContainsFunc(t.Rows, func(line []cell) bool { return line[i].Text != t.Rows[0][i].Text })
}

// Shared says what all lines have in common, "" for nothing.
func (t *table) Shared() string {
	var said []string
	for i, h := range t.Head {
		if !h.Hidden && t.Same(i) {
			if text := t.Rows[0][i].Text; strings.HasPrefix(h.Text, "run") && strings.Contains(text, "run") {
				said = append(said, text) // "1 run"
			} else {
				said = append(said, h.Text+" "+text)
			}
		}
	}
	var all []string
	if len(said) > 0 {
		all = append(all, "In every row: "+strings.Join(said, ", ")+".")
	}
	if t.Front != "" {
		all = append(all, "All folders are in "+t.Front+".")
	}
	return strings.Join(all, " ")
}

// column is a heading; numbers stand to the right.
type column struct {
	Text string // for people: "average accuracy, %"
	Name string // in CSV: "average_accuracy"
	Num  bool
	// Hidden columns are for machines: they are in CSV only.
	Hidden bool
}

// textCol and numCol are columns of words and of numbers.
func textCol(text, name string) column { return column{Text: text, Name: name} }
func numCol(text, name string) column  { return column{Text: text, Name: name, Num: true} }

// cell has a text for people and a raw value for machines; in CSV an empty raw value says that there is none.
type cell struct {
	Text string
	Raw  string
	Mark string // CSS class of a style's swatch before the text; "" means none
	row  *row   // that the line of a table is about, in one of its cells
}

// OnPage is the raw value by which the page sorts: of a number with a fraction six digits, and of a folder not what all
// have in front. A page of many runs has many of them, and the CSV file has all whole.
func (t *table) OnPage(c cell) string {
	if t.Front != "" && c.Raw == t.Front+c.Text {
		return c.Text
	}
	if v, err := strconv.ParseFloat(c.Raw, 64); err == nil && strings.Contains(c.Raw, ".") {
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return c.Raw
}

// textCell says the same to people and machines.
func textCell(s string) cell { return cell{Text: s, Raw: s} }

// numCell prints v for people as text and for machines in full; what is not a number has no raw value.
func numCell(text string, v float64) cell { return cell{Text: text, Raw: count.Exact(v)} }

// csvBytes writes the raw values, fractions as fractions.
func (t *table) csvBytes() []byte {
	var heads []string
	for _, h := range t.Head {
		heads = append(heads, h.Name)
	}
	records := [][]string{heads}
	for _, row := range t.Rows {
		var record []string
		for _, c := range row {
			record = append(record, c.Raw)
		}
		records = append(records, record)
	}
	return CSV(records)
}

// CSV writes records, RFC 4180, with their cells as [escape.CSV] has them.
func CSV(records [][]string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, r := range records {
		_ = w.Write(escape.CSV(r)) // a bytes.Buffer takes every write
	}
	w.Flush()
	return b.Bytes()
}

// markdown writes the table for people.
func (t *table) markdown() []byte {
	var heads []string
	var numbers []bool
	rows := make([][]string, len(t.Rows))
	for i, h := range t.Head {
		if h.Hidden {
			continue
		}
		heads, numbers = append(heads, escape.Markdown(h.Text)), append(numbers, h.Num)
		for k, row := range t.Rows {
			rows[k] = append(rows[k], escape.Markdown(row[i].Text))
		}
	}
	title := ""
	if t.Title != "" {
		title = "**" + escape.Markdown(t.Title) + "**\n\n"
	}
	return []byte(title + Markdown(heads, numbers, rows))
}

// Markdown writes a table with its columns padded, so that the source reads as well as the page. Numbers stand to the
// right. Cells are Markdown: text of others is as [escape.Markdown] has it.
func Markdown(heads []string, numbers []bool, rows [][]string) string {
	width := make([]int, len(heads))
	rule := make([]string, len(heads))
	for i := range heads {
		width[i] = max(utf8.RuneCountInString(heads[i]), 3)
		for _, row := range rows {
			width[i] = max(width[i], utf8.RuneCountInString(row[i]))
		}
		if rule[i] = strings.Repeat("-", width[i]); numbers[i] {
			rule[i] = rule[i][1:] + ":"
		}
	}
	var b strings.Builder
	for _, row := range slices.Concat([][]string{heads, rule}, rows) {
		b.WriteByte('|')
		for i, text := range row {
			pad := padRight
			if numbers[i] {
				pad = padLeft
			}
			b.WriteString(" " + pad(text, width[i]) + " |")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
