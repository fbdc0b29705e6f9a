package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/view/chart"
)

const (
	columnChars = 60  // about so many characters fit a column of a paper, in the size of footnotes
	pageHeight  = 600 // points: a figure that is higher does not fit a page with its caption
	floatRows   = 40  // so many lines of a table fit a page; the others go into a further one
	floatsATime = 8   // LaTeX keeps few floats that it has no place for
)

// latex writes what a paper needs: each figure as PDF for one and for two columns, each figure and table as a float of
// LaTeX, and a document of all of them. dirs are those of the report.
func (st *study) latex(w *Folder, p *page, figures []*figure, dirs []string) {
	made := st.madeBy(dirs)
	var names []string
	for _, f := range figures {
		if w.Err == nil {
			w.Write("tables/"+f.ID+".tex", f.latex(w, made))
			names = append(names, f.ID)
		}
	}
	for _, t := range p.tables() {
		if t != p.Runs && t != p.Origin && len(t.Rows) > 0 {
			var notes []string
			if t == p.Results {
				notes = p.Footnotes
			}
			w.Write("tables/"+t.ID+".tex", t.latex(notes, made))
			names = append(names, t.ID)
		}
	}
	var b strings.Builder
	b.WriteString("% Written by ocl report. Compile it in its folder: pdflatex paper.tex\n\\documentclass[twocolumn]{article}\n" +
		"\\usepackage[letterpaper,margin=0.75in,columnsep=0.25in]{geometry}\n\\usepackage{booktabs}\n\\usepackage{graphicx}\n\\begin{document}\n")
	for i, name := range names {
		fmt.Fprintf(&b, "\\input{tables/%s.tex}\n", name)
		if i%floatsATime == floatsATime-1 {
			b.WriteString("\\clearpage\n")
		}
	}
	b.WriteString("\\end{document}\n")
	w.Write("paper.tex", []byte(b.String()))
}

// madeBy ends each caption: the seeds, and the command that makes the results, or that of the report if it is of
// several experiments.
func (st *study) madeBy(dirs []string) string {
	var sets [][]string
	var all []string
	for _, g := range st.rows {
		var seeds []string
		for _, r := range g.counted() {
			seed := strconv.FormatUint(r.seed, 10)
			seeds = append(seeds, seed)
			if !slices.Contains(all, seed) {
				all = append(all, seed)
			}
		}
		slices.Sort(seeds)
		sets = append(sets, slices.Compact(seeds))
	}
	text := upper(seedList(all))
	if slices.ContainsFunc(sets, func(s []string) bool { return !slices.Equal(s, sets[0]) }) {
		text += ", not all of them in each row"
	}
	command := "ocl report --latex"
	for _, dir := range dirs {
		command += " " + quote(dir)
	}
	if list := st.experiments(); len(list) == 1 &&
		!slices.ContainsFunc(st.runs, func(r *run) bool { return r.folder == "" || r.Foreign != nil }) {
		command = list[0].Command
	}
	return escape.TeX(text+". Command: ") + `\texttt{` + strings.ReplaceAll(escape.TeX(command), "/", `/\allowbreak{}`) +
		"}."
}

// latex writes the figure for one and for two columns, and returns its float.
func (f *figure) latex(w *Folder, made string) []byte {
	shown := f
	caption := escape.TeX(f.Title + ". " + cmp.Or(f.Print, f.Caption))
	if f.Ranked != nil {
		if shown = f.parts()[0]; shown != f {
			caption += fmt.Sprintf(" These are the first %d of %s.", len(shown.Ranked.Rows), count.Of(len(f.Ranked.Rows), "row"))
		}
	}
	size, float, file := "", "figure", "1col"
	one, two := chart.Draw(shown.chart(), chart.OneColumn), chart.Draw(shown.chart(), chart.TwoColumns)
	w.Write("figures/"+f.ID+"-1col.pdf", one.PDF(f.Title, f.Alt+" "+f.Caption))
	w.Write("figures/"+f.ID+"-2col.pdf", two.PDF(f.Title, f.Alt+" "+f.Caption))
	if one.PointsHigh() > pageHeight {
		float, file = "figure*", "2col"
		if two.PointsHigh() > pageHeight {
			size = `[height=0.8\textheight]`
		}
	}
	return fmt.Appendf(nil,
		"%% One column: figure and figures/%[1]s-1col.pdf. Both columns: figure* and figures/%[1]s-2col.pdf.\n\\begin{%[2]s}[tp]\n\\centering\n"+
			"\\includegraphics%[3]s{figures/%[1]s-%[4]s.pdf}\n\\caption{%[5]s %[6]s}\n\\label{fig:%[1]s}\n\\end{%[2]s}\n", f.ID,
		float, size, file, caption, made)
}

// latex is the table as floats of LaTeX, for a document with the packages booktabs and graphicx. What all lines have in
// common is said in the caption.
func (t *table) latex(notes []string, made string) []byte {
	var columns []int
	var unmeasured []string
	wide, form := 0, ""
	intervals := false
	var heads []string
	for i, h := range t.Head {
		if h.Hidden || t.Same(i) {
			continue
		}
		if !slices.ContainsFunc(t.Rows, func(line []cell) bool { return line[i].Text != "not measured" }) {
			unmeasured = append(unmeasured, h.Text)
			continue
		}
		longest := 8
		for _, line := range t.Rows {
			longest = max(longest, utf8.RuneCountInString(line[i].Text))
			intervals = intervals || strings.Contains(line[i].Text, "±")
		}
		head, align := folded(h.Text, longest), "l"
		if h.Num {
			align = "r"
		}
		if len(head) > 1 {
			heads = append(heads, `\shortstack[`+align+`]{`+strings.Join(head, `\\`)+`}`)
		} else {
			heads = append(heads, head[0])
		}
		columns, wide, form = append(columns, i), wide+longest+2, form+align
	}
	shown := t.Shown()
	said := []string{cmp.Or(t.Title, map[string]string{"results": "Results",
		"signals": "Supervisory signals that each method used"}[t.ID], t.ID) + "."}
	if len(shown) < len(t.Rows) {
		said = append(said, fmt.Sprintf("The first %d of %s.", len(shown), count.Of(len(t.Rows), "row")))
	}
	if shared := t.Shared(); shared != "" {
		said = append(said, shared)
	}
	if len(unmeasured) > 0 {
		said = append(said, "Not measured: "+count.And(unmeasured)+".")
	}
	if intervals {
		said = append(said, "Means over the runs with half widths of 95 % Student-t intervals.")
	}
	float, width := "table", `\columnwidth`
	if wide > columnChars {
		float, width = "table*", `\textwidth`
	}
	var b strings.Builder
	for from := 0; from < len(shown); from += floatRows {
		caption, label := escape.TeX(strings.Join(said, " "))+" "+made, t.ID
		if from > 0 {
			if from%(floatRows*floatsATime) == 0 {
				b.WriteString("\\clearpage\n")
			}
			caption, label = escape.TeX(said[0]+" Continued."), fmt.Sprint(t.ID, "-", from/floatRows+1)
		}
		fmt.Fprintf(&b, "\\begin{%s}[tp]\n\\centering\\footnotesize\\setlength{\\tabcolsep}{4pt}\n\\caption{%s}\n\\label{tab:%s}\n\\smallskip\n\\sbox0{%%\n\\begin{tabular}{%s}\n\\toprule\n%s \\\\\n\\midrule\n",
			float, caption, label, form, strings.Join(heads, " & "))
		for _, line := range shown[from:min(from+floatRows, len(shown))] {
			var cells []string
			for _, i := range columns {
				cells = append(cells, escape.TeX(line[i].Text))
			}
			b.WriteString(strings.Join(cells, " & ") + " \\\\\n")
		}
		// A table that is too wide for the page is made smaller.
		fmt.Fprintf(&b, "\\bottomrule\n\\end{tabular}}\n\\ifdim\\wd0>%[1]s\\resizebox{%[1]s}{!}{\\usebox0}\\else\\usebox0\\fi\n",
			width)
		for _, n := range notes {
			if from+floatRows >= len(shown) {
				b.WriteString("\\par\\smallskip " + escape.TeX(n) + "\n")
			}
		}
		fmt.Fprintf(&b, "\\end{%s}\n", float)
	}
	return []byte(b.String())
}

// folded breaks a heading into lines of LaTeX that are about as long as what stands below it.
func folded(text string, room int) (lines []string) {
	for _, line := range wrap(text, room) {
		lines = append(lines, escape.TeX(line))
	}
	return lines
}
