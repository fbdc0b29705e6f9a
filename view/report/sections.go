package report

import (
	"fmt"
	"slices"

	"ocl/internal/count"
)

// section is a part of the page that shows figures of each setting.
type section struct {
	ID    string // its anchor is ID-section
	Nav   string // its name in the list of sections
	Title string
	of    func(*setting) []block               // what it shows of a setting
	lead  func(*study) (text string, t *table) // what stands above, nil for nothing
}

// block is one thing in a section: exactly one of its fields is set, and Why beside Aside.
type block struct {
	Figure   *figure // drawn on the page; lines or bars
	Aside    *figure // of which the page has title and links
	Why      string  // why it has no more, before its title
	Gallery  *gallery
	Picture  *picture
	Pairs    *triangle
	Confused *confused
	Table    *table
	Note     string
}

// sections are in the order of the page. One that shows nothing of any setting is left out. A new figure is its
// function, its place here and its row of docs/report.md.
var sections = []section{
	{"anytime", "Anytime", "Accuracy during training", func(s *setting) []block {
		blocks := drawn((*setting).anytimeFigure)(s)
		if f := s.gapsFigure(); f != nil && len(s.rows) > maxGapRows {
			blocks = append(blocks, block{Aside: f, Why: "Of so many rows in files alone"})
		} else if f != nil {
			blocks = append(blocks, block{Figure: f})
		}
		return blocks
	}, nil},
	{"loss", "Loss", "Training loss", drawn((*setting).lossFigure), nil},
	{"comparison", "Comparison", "Rows compared in pairs", func(s *setting) []block {
		if t := s.triangle(); t != nil {
			return []block{{Pairs: t}}
		}
		return nil
	}, (*study).comparisonLead},
	{"forgetting", "Forgetting", "Forgetting per task", func(s *setting) []block {
		switch {
		case s.tasks() > 1:
			return []block{{Figure: s.forgettingFigure()}}
		case s.first.Parent != nil:
			return []block{{Note: upper(s.Name) +
				": there is only one task. What it makes the learner forget of the classes of its parent is not measured here; `ocl eval` measures it."}}
		}
		return []block{{Note: upper(s.Name) + ": there is only one task, so nothing can be forgotten."}}
	}, nil},
	{"matrix", "Matrices", "Accuracy matrices",
		galleries(fmt.Sprintf("nothing was evaluated, or there are more than %d tasks", maxHeatTasks), (*row).matrixFigure),
		nil},
	{"classes", "Classes", "Accuracy per class",
		func(s *setting) []block {
			blocks := galleries(fmt.Sprintf("not measured by class, or there are more than %s classes",
				count.Number(maxHeatClasses)), (*row).classFigure)(s)
			if t := s.classTable(); t != nil {
				blocks = append(blocks, block{Table: t})
			}
			return blocks
		}, nil},
	{"errors", "Errors", "Old and new classes confused", (*setting).errors, (*study).errorsLead},
	{"confused", "Confused", "Classes confused most", (*setting).confusedBlock, nil},
	{"reliability", "Reliability", "Probabilities, and what is unknown", (*setting).reliability, nil},
	{"memory", "Memory", "What the memory holds",
		galleries("no memory, or its contents by task were not recorded", (*row).memoryFigure), nil},
	{"experts", "Experts", "Experts of a mixture", (*setting).experts, nil},
	{"time", "Time", "Run time and cost", func(s *setting) []block {
		blocks := drawn((*setting).timeFigure)(s)
		if t := s.costTable(); t != nil {
			blocks = append(blocks, block{Table: t})
		}
		return blocks
	}, nil},
}

// drawn makes a section of a figure of each setting; a nil one is left out.
func drawn(build func(*setting) *figure) func(*setting) []block {
	return func(s *setting) []block {
		if f := build(s); f != nil {
			return []block{{Figure: f}}
		}
		return nil
	}
}

// galleries makes a section of a figure for each row; why says for what reason a row may have none.
func galleries(why string, build func(*row) *figure) func(*setting) []block {
	return func(s *setting) []block { return []block{s.gallery(s.part(maxHeats), why, build)} }
}

// gallery is a figure for each row; Missing says for which rows there is none, and Rest are those that are only tables.
type gallery struct {
	Figures []*figure
	Rest    []*figure
	Missing string
	Deck    *deck // nil where each map is on the page
}

// Shown are the figures that the page prints.
func (g gallery) Shown() []*figure {
	if g.Deck != nil && len(g.Figures)+len(g.Rest) > maxPrinted {
		return g.Figures[:1]
	}
	return g.Figures
}

// Others returns the figures that the gallery does not print.
func (g gallery) Others() []*figure {
	return slices.Concat(g.Figures[len(g.Shown()):], g.Rest)
}

// InDeck says that the page's script shows the others too.
func (g gallery) InDeck() bool {
	return g.Deck != nil && len(g.Deck.Maps) == len(g.Figures)+len(g.Rest)
}

// Large says that the heat maps are too wide to stand side by side.
func (g gallery) Large() bool {
	return len(g.Figures) > 0 && g.Figures[0].Heat != nil && len(g.Figures[0].Heat.Cols) > 12 && !g.Figures[0].Heat.Image
}

// part returns the number of figures for each setting, if the page has room for most; at least 1.
func (s *setting) part(most int) int { return max(1, most/max(1, s.among)) }

// gallery builds a figure for each row; so many at most, in the order of the tables, are drawn.
func (s *setting) gallery(most int, why string, build func(*row) *figure) block {
	out := new(gallery)
	var missing []string
	for _, g := range s.rows {
		switch f := build(g); {
		case f == nil:
			missing = append(missing, g.full())
		case len(out.Figures) < most || s.all:
			out.Figures = append(out.Figures, f)
		default:
			out.Rest = append(out.Rest, f)
		}
	}
	if len(missing) > 0 {
		out.Missing = count.And(missing) + ": " + why + "."
	}
	out.Deck = newDeck(out.Figures, out.Rest, s.among, s.all)
	return block{Gallery: out}
}

// pageSection is a section as the page has it.
type pageSection struct {
	section
	Text   string
	Table  *table // nil for none
	Blocks []block
}

// sections returns the sections of the page that have content.
func (st *study) sections() []pageSection {
	var out []pageSection
	for _, s := range sections {
		p := pageSection{section: s}
		if s.lead != nil {
			p.Text, p.Table = s.lead(st)
		}
		for _, setting := range st.settings {
			p.Blocks = append(p.Blocks, s.of(setting)...)
		}
		if len(p.Blocks) > 0 || p.Table != nil {
			out = append(out, p)
		}
	}
	return out
}

// Pairs are the triangles of comparisons, which stand above the table of the section.
func (p pageSection) Pairs() (all []*triangle) {
	for _, b := range p.Blocks {
		if b.Pairs != nil {
			all = append(all, b.Pairs)
		}
	}
	return all
}

// figures returns the figures to draw, and the figures of which the page has only the table.
func (p *pageSection) figures() (drawn, rest []*figure) {
	for _, b := range p.Blocks {
		switch {
		case b.Figure != nil:
			drawn = append(drawn, b.Figure)
		case b.Aside != nil:
			drawn = append(drawn, b.Aside)
		case b.Gallery != nil:
			drawn, rest = append(drawn, b.Gallery.Figures...), append(rest, b.Gallery.Rest...)
		}
	}
	return drawn, rest
}
