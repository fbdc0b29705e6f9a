package report

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table is one table of the report, ready for HTML, CSV and Markdown.
type table struct {
	ID    string // names tables/ID.csv and tables/ID.md
	Title string
	Head  []column
	Rows  [][]cell
	Few   [][]cell // what the page shows of a table that is too long for it; nil is all
}

// Shown are the rows on the page.
func (t *table) Shown() [][]cell {
	if t.Few != nil {
		return t.Few
	}
	return t.Rows
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
	Mark string // CSS class of a style's swatch before the text; "" is none
}

// textCell says the same to people and machines.
func textCell(s string) cell { return cell{Text: s, Raw: s} }

// numCell prints v for people as text and for machines in full; what is not a number has no raw value.
func numCell(text string, v float64) cell {
	if v != v {
		return cell{Text: text}
	}
	return cell{Text: text, Raw: strconv.FormatFloat(v, 'g', -1, 64)}
}

// csvBytes writes the raw values, RFC 4180, fractions as fractions.
func (t *table) csvBytes() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rec := make([]string, 0, len(t.Head))
	for _, h := range t.Head {
		rec = append(rec, h.Name)
	}
	// A bytes.Buffer takes every write, so csv.Writer has no error to report.
	_ = w.Write(rec)
	for _, row := range t.Rows {
		rec = rec[:0]
		for _, c := range row {
			rec = append(rec, c.Raw)
		}
		_ = w.Write(rec)
	}
	w.Flush()
	return b.Bytes()
}

// markdown writes the table for people, columns padded so that the source reads as well as the page.
func (t *table) markdown() []byte {
	var show []int
	width := map[int]int{}
	clean := strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ").Replace
	for i, h := range t.Head {
		if h.Hidden {
			continue
		}
		show = append(show, i)
		width[i] = max(utf8.RuneCountInString(clean(h.Text)), 3)
		for _, row := range t.Rows {
			width[i] = max(width[i], utf8.RuneCountInString(clean(row[i].Text)))
		}
	}
	var b bytes.Buffer
	line := func(text func(i int) string) {
		b.WriteByte('|')
		for _, i := range show {
			pad, s := padRight, clean(text(i))
			if t.Head[i].Num {
				pad = padLeft
			}
			b.WriteString(" " + pad(s, width[i]) + " |")
		}
		b.WriteByte('\n')
	}
	if t.Title != "" {
		b.WriteString("**" + t.Title + "**\n\n")
	}
	line(func(i int) string { return t.Head[i].Text })
	line(func(i int) string {
		if t.Head[i].Num {
			return strings.Repeat("-", width[i]-1) + ":"
		}
		return strings.Repeat("-", width[i])
	})
	for _, row := range t.Rows {
		line(func(i int) string { return row[i].Text })
	}
	return b.Bytes()
}
