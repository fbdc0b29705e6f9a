package report

import (
	"encoding/json"
	"html/template"
	"slices"
	"strings"

	"ocl/internal/escape"
	"ocl/view/chart"
)

// A page prints so many heat maps of a kind below each other; of more it prints the first one. With JavaScript it shows
// one in any case, and a slider goes through them.
const maxPrinted = 4

// The cells that a deck may hold, so that the page stays small: those of the rows, and then those of the single runs.
// Each takes two bytes.
const (
	maxDeckCells   = 30_000
	maxSingleCells = 30_000
)

// deck is a pile of heat maps of one shape, of rows and of their single runs, of which the page shows one at a time.
type deck struct {
	Rows, Cols []string
	RowLabel   string
	ColLabel   string
	Names      []string `json:",omitempty"` // of the cells, where they have names
	Before     string   // what the captions of all maps begin with
	After      string   // and end with
	Maps       []deckMap
	Note       string `json:",omitempty"` // on what is left out
}

// deckMap is the heat map of a row.
type deckMap struct {
	ID, Name, Title string
	Caption         string // between what all begin and end with
	Files           bool   // there are files of the figure, and not only its table
	Cells           string
	Runs            []deckRun `json:",omitempty"`
}

// deckRun is the heat map of a single run.
type deckRun struct {
	Seed  uint64 `json:",string"`
	Cells string
}

// packed are the cells of a heat map in a deck: line by line, with a space behind each line, and without the empty
// cells at the end of a line.
func packed(v [][]float64) string {
	var b strings.Builder
	for _, line := range v {
		b.WriteString(chart.PackShares(line) + " ")
	}
	return strings.TrimRight(b.String(), " ")
}

// newDeck makes a deck of the figures of a gallery; nil where there is nothing to choose from, or where they have not
// one shape.
func newDeck(figures []*figure, rest []*figure, among int, all bool) *deck {
	list := slices.Concat(figures, rest)
	if len(list) == 0 || list[0].Heat == nil {
		return nil
	}
	first := list[0].Heat
	d := &deck{Rows: first.Rows, Cols: first.Cols, RowLabel: first.RowLabel, ColLabel: first.ColLabel, Names: first.Names}
	size, singles := len(first.Rows)*len(first.Cols), 0
	for i, f := range list {
		h := f.Heat
		if h.Image || !slices.Equal(h.Rows, first.Rows) || !slices.Equal(h.Cols, first.Cols) {
			return nil
		}
		if i > 0 && (i+1)*size > maxDeckCells/max(1, among) && !all {
			break
		}
		d.Maps = append(d.Maps, deckMap{ID: f.ID, Name: f.Whose, Title: f.Title, Caption: f.Caption, Files: i < len(figures),
			Cells: packed(h.V)})
		singles += size * len(h.Runs)
	}
	if singles > maxSingleCells/max(1, among) && !all {
		d.Note = "Maps of single runs are left out, as the page would be too large. A report of fewer rows has them."
	} else {
		for i := range d.Maps {
			for _, r := range list[i].Heat.Runs {
				d.Maps[i].Runs = append(d.Maps[i].Runs, deckRun{r.seed, packed(r.v)})
			}
		}
	}
	if len(d.Maps) == 1 && len(d.Maps[0].Runs) == 0 {
		return nil
	}
	d.share()
	return d
}

// share takes what all captions begin and end with out of them.
func (d *deck) share() {
	before, after := []rune(d.Maps[0].Caption), []rune(d.Maps[0].Caption)
	shortest := len(before)
	for _, m := range d.Maps {
		text := []rune(m.Caption)
		shortest = min(shortest, len(text))
		for !slices.Equal(before, text[:min(len(before), len(text))]) {
			before = before[:len(before)-1]
		}
		for !slices.Equal(after, text[max(len(text)-len(after), 0):]) {
			after = after[1:]
		}
	}
	after = after[max(len(before)+len(after)-shortest, 0):] // they must not overlap
	d.Before, d.After = string(before), string(after)
	for i, m := range d.Maps {
		text := []rune(m.Caption)
		d.Maps[i].Caption = string(text[len(before) : len(text)-len(after)])
	}
}

// JSON is the deck as the page's script reads it. The template would write texts as a script does, and [Folder.Write]
// what does not show as Go does, both with escapes that JSON does not have.
func (d *deck) JSON() template.JS {
	text, err := json.Marshal(d)
	if err != nil {
		panic("report: numbers and texts in memory cannot be written: " + err.Error())
	}
	return template.JS(escape.JSON(text)) // without <, > and &
}

// seedMap is the heat map of one of several runs.
type seedMap struct {
	seed uint64
	v    [][]float64
}

// seedMaps are the heat maps of runs, if there are several.
func seedMaps(runs []*run, of func(*run) [][]float64) (maps []seedMap) {
	if len(runs) < 2 {
		return nil
	}
	for _, r := range runs {
		maps = append(maps, seedMap{r.seed, of(r)})
	}
	return maps
}
