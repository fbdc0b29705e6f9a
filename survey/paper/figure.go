package paper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/learn/method"
	"ocl/run/metric"
	"ocl/survey"
	"ocl/view/chart"
	"ocl/view/known"
	"ocl/view/report"
)

// figure is a figure of the survey: some panels under one title.
type figure struct {
	Label  string
	Title  string // what is to be seen
	Text   string // what was measured
	Panels []*panel
}

// panel is a chart of a figure, or the reason why there is none.
type panel struct {
	ID      string // names its files and its place on the page
	Name    string // such as the data set
	Alt     string // the panel in words
	Missing string // why nothing is drawn; "" is drawn
	chart   chart.Chart
	series  []chart.Series // of a line chart, for the legend of the figure
	data    [][]string     // lines of the figure's CSV file

	svg, pdf []byte // its files
}

// figureBuilder is a figure as data: a panel for each of some streams at each of some sizes of the memory, and for each
// of some measures.
type figureBuilder struct {
	label      string
	title      string
	text       string
	streams    []string
	memories   []int
	quantities []quantity
	build      func(*paper, figureBuilder) []*panel
}

// Labels of the figures.
const (
	figCurves, figBars, figErrors          = "fig:nc_5k", "fig:nc_bar", "fig:trick_motivation"
	figTricks, figTricksMini, figDomains   = "fig:trick_cifar", "fig:trick_mini", "fig:ni_bar"
	figCIFAR, figMini, figCORe50           = "fig:cifar_full_mem", "fig:mini_full_mem", "fig:core_full_mem"
	figNoise, figOcclusion, figCORe50NI    = "fig:noise_allmem", "fig:occlusion_allmem", "fig:coreni_allmem"
	figAnytime, figTimeAccuracy, figMemory = "beyond:anytime", "beyond:time", "beyond:memory"
	figAgreement                           = "beyond:agreement"
)

const (
	curveTitle = "Average accuracy after each task, "
	barTitle   = "What each method reaches and costs"
	trickTitle = "Average accuracy with each trick on "
	curveText  = "Average accuracy after each task on the tasks learned so far, in per cent: means, with 95 % intervals as bands. Runs that were tested after the last task only " +
		"(`--eval final`) have no curve. "
)

// figureBuilders are the figures in the order of the paper.
var figureBuilders = []figureBuilder{
	{figCurves, curveTitle + "new classes", curveText + "Memory of 5,000.", newClasses, []int{5000}, nil, (*paper).curves},
	{figBars, barTitle, "Methods without tricks, memory of 5,000. Run times can be compared only among jobs with timing: true in a study; others are marked “not timed”, as they may have shared the machine.",
		newClasses, []int{5000},
		[]quantity{accuracy, forgetting, runTime}, (*paper).bars},
	{figErrors, "Error ratios, logits and the head on CIFAR-100, for new and for old classes",
		"CIFAR-100 in 20 tasks with a memory of 5,000, protocol standard, after each task. Filled markers are of new classes, hollow ones of old classes; of the " +
			"error ratios er(o,n) has filled markers.", cifar, []int{5000}, nil, (*paper).errorCurves},
	{figTricks, trickTitle + "CIFAR-100", "Average accuracy at the end with each trick on CIFAR-100, as in the table of its tricks.",
		nil, nil, nil, (*paper).trickBars},
	{figDomains, barTitle, "Methods without tricks, memory of 5,000. CORe50-NI has one test set for all tasks, so it has no forward and backward transfer.",
		newDomains, []int{5000},
		[]quantity{accuracy, forgetting, runTime, forward, backward}, (*paper).bars},
	{figCIFAR, curveTitle + survey.CIFAR100, curveText, []string{survey.CIFAR100}, memories, nil, (*paper).curves},
	{figMini, curveTitle + survey.MiniImageNet, curveText, []string{survey.MiniImageNet}, memories, nil, (*paper).curves},
	{figCORe50, curveTitle + survey.CORe50NC, curveText, []string{survey.CORe50NC}, memories, nil, (*paper).curves},
	{figTricksMini, trickTitle + "Mini-ImageNet",
		"Average accuracy at the end with each trick on Mini-ImageNet, as in the table of its tricks.", nil, nil, nil,
		(*paper).trickBars},
	{figNoise, curveTitle + survey.Noise, curveText, []string{survey.Noise}, memories, nil, (*paper).curves},
	{figOcclusion, curveTitle + survey.Occlusion, curveText, []string{survey.Occlusion}, memories, nil, (*paper).curves},
	{figCORe50NI, curveTitle + survey.CORe50NI, curveText, []string{survey.CORe50NI}, memories, nil, (*paper).curves},
}

// beyondBuilders are the figures that the survey does not have.
var beyondBuilders = []figureBuilder{
	{figAgreement, "Each cell beside the published value",
		"Average accuracy of each cell that was run against the published one, without Offline, which would take half of the figure. Lines are 95 % intervals; " +
			"a mean of fewer than three runs has none. On the dashed line both are equal. Cells that differ have their names.",
		nil, nil, nil, (*paper).agreement},
	{figAnytime, "Accuracy within tasks", "Accuracy on the tasks seen so far against learner steps, at the evaluations in the middle of tasks (`eval_every`). Memory of 5,000.",
		everywhere, []int{5000}, nil, (*paper).anytime},
	{figTimeAccuracy, "Time against accuracy",
		"Each method at each size of its memory: seconds of one run against average accuracy at the end, means over the runs. Offline is left out. Runs beside other runs of ocl are left out; what else the machine did is not known.",
		everywhere, memories, nil, (*paper).timeAccuracy},
	{figMemory, "What the memory holds after each task",
		"Share of the stored samples that came with each task, after each task, in per cent. Memory of 5,000, mean over the runs.",
		[]string{survey.CIFAR100, survey.Noise}, []int{5000}, nil, (*paper).memoryHeat},
}

// ID names the figure's files and its place on the page.
func (f *figure) ID() string { return id(f.Label) }

// lookOf is how the method of a row of the survey is drawn. It is the zero look for a method that ocl does not have.
func lookOf(row string) chart.Look {
	info, err := method.Lookup(MethodName(row))
	if err != nil {
		return chart.Look{}
	}
	return report.LookOf(known.Method(info))
}

// tableOf is the table of methods that a stream belongs to.
func tableOf(stream string) string {
	if slices.Contains(newDomains, stream) {
		return survey.DomainIncremental
	}
	return survey.ClassIncremental
}

// rowsOf are the methods of that table, in its order.
func rowsOf(stream string) []string {
	var rows []string
	for _, v := range survey.Read(tableOf(stream)) {
		if !slices.Contains(rows, v.Row) {
			rows = append(rows, v.Row)
		}
	}
	return rows
}

// plainSpec is the spec of a method without tricks at a memory, which is 0 where it has none; ok is false for a method
// that ocl does not have.
func plainSpec(name, stream string, memory int) (Spec, bool) {
	spec, ok := specOf(survey.ClassIncremental, survey.Value{Row: name, Column: stream, Memory: memory})
	if info, err := method.Lookup(spec.Method); ok && err == nil && !info.UsesMemory {
		spec.Memory = 0
	}
	return spec, ok
}

// panelOf starts a panel.
func panelOf(label string, names ...string) *panel {
	var kept []string
	for _, n := range names {
		if n != "" {
			kept = append(kept, n)
		}
	}
	name := strings.Join(kept, ", ")
	return &panel{ID: id(label) + "-" + slug(name), Name: name}
}

// slug is a name for files and anchors.
func slug(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == ' ' || r == '-' || r == '=':
			return '-'
		}
		return -1
	}, strings.ReplaceAll(name, " = ", "")), "-")
}

// memoryName is a size of the memory as a heading.
func memoryName(sizes []int, m int) string {
	if len(sizes) < 2 {
		return ""
	}
	return "M = " + count.Short(m)
}

// draw draws the files of the figure's panels.
func (f *figure) draw() {
	onAllCores(f.Panels, func(_ int, pl *panel) {
		if pl.Missing == "" {
			title, said := f.Title+" ("+pl.Name+")", pl.Alt+" "+f.Text
			pl.svg = chart.Draw(pl.chart, chart.File(title)).SVG(title, said)
			// The figures of the document stand beside each other, with their names above them.
			pl.pdf = chart.Draw(pl.chart, chart.OneColumn).PDF(title, said)
		}
	})
}

// write writes the files of the figure.
func (f *figure) write(to *report.Folder) {
	f.draw()
	for _, p := range f.Panels {
		if p.Missing == "" {
			to.Write("figures/"+p.ID+".svg", p.svg)
			to.Write("figures/"+p.ID+".pdf", p.pdf)
		}
	}
	to.Write("tables/"+f.ID()+".csv", f.csv())
	to.Write("tables/"+f.ID()+".md", f.markdown())
	to.Write("tables/"+f.ID()+".tex", f.latex())
}

// csv is a line for each point of the figure.
func (f *figure) csv() []byte {
	records := [][]string{{"panel", "series", "quantity", "x", "mean", "half_width_95", "runs", "published",
		"published_half_width"}}
	for _, p := range f.Panels {
		records = append(records, p.data...)
	}
	return report.CSV(records)
}

// point is a line of the CSV file.
func (p *panel) point(series, quantity, x string, e metric.Estimate, published, half float64) {
	p.data = append(p.data, []string{p.Name, series, quantity, x, count.Exact(e.Mean), count.Exact(e.Half),
		strconv.Itoa(e.N), count.Exact(published), count.Exact(half)})
}

// markdown is the figure for people: its panels as links to the images, in words.
func (f *figure) markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** (%s)\n\n%s\n", f.Title, f.Label, f.Text)
	for _, p := range f.Panels {
		if p.Missing != "" {
			fmt.Fprintf(&b, "\n%s: %s\n", p.Name, p.Missing)
			continue
		}
		fmt.Fprintf(&b, "\n![%s](../figures/%s.svg)\n\n%s\n", p.Name, p.ID, p.Alt)
	}
	return []byte(b.String())
}

// panelsAPage is how many panels stand on a page of the document: two beside each other.
const panelsAPage = 4

// latex is the figure as floats of LaTeX, with the panels that are drawn.
func (f *figure) latex() []byte {
	var drawn []*panel
	var missing []string
	for _, p := range f.Panels {
		if p.Missing == "" {
			drawn = append(drawn, p)
		} else {
			missing = append(missing, p.Name)
		}
	}
	text := texProse(f.Text)
	if len(missing) > 0 {
		text += escape.TeX(" Not drawn: " + strings.Join(missing, "; ") + ".")
	}
	var b strings.Builder
	for from := 0; from == 0 || from < len(drawn); from += panelsAPage {
		b.WriteString("\\begin{figure}[p]\n\\centering\\scriptsize\n")
		for _, p := range drawn[from:min(from+panelsAPage, len(drawn))] {
			fmt.Fprintf(&b, "\\begin{minipage}[t]{3.25in}\n%s\\\\\n\\includegraphics{figures/%s.pdf}\n\\end{minipage}\n",
				escape.TeX(p.Name), p.ID)
		}
		caption := fmt.Sprintf("\\caption{%s. %s}\n\\label{%s}\n", escape.TeX(f.Title), text, f.Label)
		if from > 0 {
			caption = fmt.Sprintf("\\caption{%s. Continued.}\n", escape.TeX(f.Title))
		}
		b.WriteString(caption + "\\end{figure}\n")
	}
	return []byte(b.String())
}

// document is a LaTeX document of all tables and figures.
func (p *paper) document() []byte {
	var b strings.Builder
	b.WriteString("% Written by ocl report paper. Compile it in its folder: pdflatex paper.tex\n\\documentclass{article}\n\\usepackage[a4paper,margin=15mm]{geometry}\n" +
		"\\usepackage{booktabs}\n\\usepackage{graphicx}\n\\begin{document}\n")
	for _, t := range p.Tables {
		fmt.Fprintf(&b, "\\input{tables/%s.tex}\n\\clearpage\n", t.ID())
	}
	for _, f := range slices.Concat(p.Figures, p.Beyond) {
		fmt.Fprintf(&b, "\\input{tables/%s.tex}\n\\clearpage\n", f.ID())
	}
	b.WriteString("\\end{document}\n")
	return []byte(b.String())
}
