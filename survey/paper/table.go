package paper

import (
	"fmt"
	"strings"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/metric"
	"ocl/view/report"
)

// table is a table of the page, for every format.
type table struct {
	Label  string // of the survey
	Title  string // what is to be seen
	Text   string // what was measured
	Groups []group
	Head   []column
	Rows   []row
	Notes  []string
	Data   [][]string // of the CSV file, the heads first; nil is the texts of the table
	Cells  []*Cell    // those that were measured, for their commands
}

// group is a heading above those of some columns.
type group struct {
	Text string
	Span int
}

// column is a heading.
type column struct {
	Text  string
	Full  string // with what the group says, for narrow pages
	Words bool   // text stands to the left, numbers to the right
}

// heads are columns of words, and then columns of numbers.
func heads(words []string, numbers ...string) (columns []column) {
	for _, name := range words {
		columns = append(columns, column{name, name, true})
	}
	for _, name := range numbers {
		columns = append(columns, column{name, name, false})
	}
	return columns
}

// row is a line; a rule stands above it where a new kind of rows begins.
type row struct {
	Cells      []cell
	Rule       bool
	Unmeasured bool // nothing of it was run
}

// cell is a text with smaller ones below it: the number of runs, the published value.
type cell struct {
	Text    string
	Small   []string
	Value   float64 // what sorts it
	Number  bool    // Value is set
	Best    bool
	Missing bool
	Same    int // so many cells from here on say the same, as nothing depends on their columns; 0 is this one alone
}

// words is a cell of text.
func words(text string) cell { return cell{Text: text} }

// missing is a cell without a measurement.
func missing(why string) cell { return cell{Text: why, Missing: true} }

const notRun = "not run"

// id names the files of a table or figure and its place on the page: "table:nc" is table-nc.
func id(label string) string {
	return strings.NewReplacer(": ", "-", ":", "-", "_", "-").Replace(label)
}

// ID names the table's files and its place on the page.
func (t *table) ID() string { return id(t.Label) }

// csv is the data of the table.
func (t *table) csv() []byte {
	records := t.Data
	if records == nil {
		var head []string
		for _, h := range t.Head {
			head = append(head, h.Full)
		}
		records = append(records, head)
		for _, r := range t.Rows {
			var line []string
			for _, c := range r.Cells {
				line = append(line, strings.Join(append([]string{c.Text}, c.Small...), "; "))
			}
			records = append(records, line)
		}
	}
	return report.CSV(records)
}

// markdown is the table for people.
func (t *table) markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** (%s)\n\n", escape.Markdown(t.Title), t.Label)
	if t.Text != "" {
		b.WriteString(t.Text + "\n\n")
	}
	var heads []string
	var numbers []bool
	for _, h := range t.Head {
		heads, numbers = append(heads, escape.Markdown(h.Full)), append(numbers, !h.Words)
	}
	var rows [][]string
	for _, r := range t.Rows {
		var texts []string
		for i, c := range r.Cells {
			text, small := escape.Markdown(c.Text), escape.Markdown(strings.Join(c.Small, "; "))
			if c.Best {
				text = "**" + text + "**"
			}
			if small != "" && t.Head[i].Words {
				text += "; " + small
			} else if small != "" {
				text += " (" + small + ")"
			}
			texts = append(texts, text)
		}
		rows = append(rows, texts)
	}
	b.WriteString(report.Markdown(heads, numbers, rows))
	for _, n := range t.Notes {
		b.WriteString("\n" + markdownProse(n) + "\n")
	}
	return []byte(b.String())
}

// markdownProse is a text with commands between backquotes, as [prose] is.
func markdownProse(s string) string {
	parts := strings.Split(s, "`")
	for i, part := range parts {
		if i%2 == 0 || i == len(parts)-1 { // a last backquote may have no partner
			parts[i] = escape.Markdown(part)
		}
	}
	return strings.Join(parts, "`")
}

// latex is the table as a float of LaTeX, for a document with the packages booktabs and graphicx.
func (t *table) latex() []byte {
	var b strings.Builder
	form := ""
	for _, h := range t.Head {
		if h.Words {
			form += "l"
		} else {
			form += "c"
		}
	}
	fmt.Fprintf(&b, "\\begin{table}[p]\n\\centering\\scriptsize\n\\caption{%s. %s}\n\\label{%s}\n\\smallskip\n\\sbox0{%%\n\\begin{tabular}{%s}\n\\toprule\n",
		escape.TeX(t.Title), texProse(t.Text), t.Label, form)
	if len(t.Groups) > 0 {
		var parts []string
		for _, g := range t.Groups {
			parts = append(parts, fmt.Sprintf(`\multicolumn{%d}{c}{%s}`, g.Span, escape.TeX(g.Text)))
		}
		b.WriteString(strings.Join(parts, " & ") + " \\\\\n")
	}
	var heads []string
	for _, h := range t.Head {
		heads = append(heads, escape.TeX(h.Text))
	}
	b.WriteString(strings.Join(heads, " & ") + " \\\\\n\\midrule\n")
	for _, r := range t.Rows {
		if r.Rule {
			b.WriteString("\\midrule\n")
		}
		var parts []string
		for i := 0; i < len(r.Cells); i += max(1, r.Cells[i].Same) {
			c := r.Cells[i]
			text := c.latex(t.Head[i].Words)
			if c.Same > 1 {
				text = fmt.Sprintf(`\multicolumn{%d}{c}{%s}`, c.Same, text)
			}
			parts = append(parts, text)
		}
		b.WriteString(strings.Join(parts, " & ") + " \\\\\n")
	}
	// A table that is too wide for the page is made smaller.
	b.WriteString("\\bottomrule\n\\end{tabular}}\n\\ifdim\\wd0>\\textwidth\\resizebox{\\textwidth}{!}{\\usebox0}\\else\\usebox0\\fi\n")
	for _, n := range t.Notes {
		b.WriteString("\\par\\smallskip " + texProse(n) + "\n")
	}
	b.WriteString("\\end{table}\n")
	return []byte(b.String())
}

// latex is the cell; long texts are broken into lines.
func (c cell) latex(wrap bool) string {
	text := escape.TeX(c.Text)
	switch {
	case c.Best:
		text = `\textbf{` + text + `}`
	case c.Missing:
		text = `\textit{` + text + `}`
	}
	if wrap && len(c.Text) > 40 {
		text = `\parbox[t]{6cm}{\raggedright ` + text + `}`
	}
	if len(c.Small) == 0 {
		return text
	}
	lines := []string{text}
	for _, s := range c.Small {
		if wrap && len(s) > 40 {
			lines = append(lines, `{\tiny\parbox[t]{6cm}{\raggedright `+escape.TeX(s)+`}}`)
			continue
		}
		lines = append(lines, `{\tiny `+escape.TeX(s)+`}`)
	}
	return `\shortstack{` + strings.Join(lines, `\\`) + `}`
}

// texProse is a text with commands between backquotes, as [prose] is.
func texProse(s string) string {
	parts := strings.Split(s, "`")
	for i, part := range parts {
		if parts[i] = escape.TeX(part); i%2 == 1 {
			parts[i] = `\texttt{` + parts[i] + `}`
		}
	}
	return strings.Join(parts, "")
}

// plusMinus is an estimate in words, as format writes its numbers.
func plusMinus(e metric.Estimate, format func(float64) string) string {
	if e.N == 0 {
		return notRun
	}
	return count.PlusMinus(e.Mean, e.Half, format)
}

func oneDecimal(v float64) string { return count.Fixed(v, 1) }

// runsText is the number of runs, and what became of those that do not count.
func runsText(n, diverged int) string {
	text := count.Of(n, "run")
	if diverged > 0 {
		text += fmt.Sprintf(", %d diverged", diverged)
	}
	return text
}
