package paper

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"ocl/learn/method"
	"ocl/run/metric"
	"ocl/survey"
)

// reaches is where the expectation of a method or a trick says what ocl reaches.
var reaches = regexp.MustCompile(`reaches about ([0-9.]+) %`)

// TestExpectationsAreTheCells: what the entry of a method or a trick says that ocl reaches lies within the interval of
// the committed results. Entries have round figures without intervals, so that a further seed does not make them wrong.
func TestExpectationsAreTheCells(t *testing.T) {
	s := committed(t)
	for _, w := range []struct {
		name, label, row, column string
		memory                   int
	}{
		{"finetune", survey.ClassIncremental, "Finetune", survey.CIFAR100, 0},
		{"er", survey.ClassIncremental, "ER", survey.CIFAR100, 5000},
		{"mir", survey.ClassIncremental, "MIR", survey.CIFAR100, 5000},
		{"agem", survey.ClassIncremental, "A-GEM", survey.CIFAR100, 5000},
		{"icarl", survey.ClassIncremental, "iCaRL", survey.CIFAR100, 5000},
		{"gdumb", survey.ClassIncremental, "GDumb", survey.CIFAR100, 5000},
		{"ncm", survey.TricksCIFAR100, "NCM", "ER", 5000}, {"rv", survey.TricksCIFAR100, "RV", "ER", 5000},
		{"ss", survey.TricksCIFAR100, "SS", "ER", 5000},
	} {
		text := ""
		if w.label == survey.TricksCIFAR100 {
			trick, err := method.LookupTrick(w.name)
			if err != nil {
				t.Fatal(err)
			}
			text = trick.Expect
		} else {
			info, err := method.Lookup(w.name)
			if err != nil {
				t.Fatal(err)
			}
			text = info.Expect
		}
		cells := s.Cells(w.label)
		i := slices.IndexFunc(cells, func(c *Cell) bool {
			return c.Row == w.row && c.Column == w.column &&
				c.Memory == w.memory
		})
		if i < 0 || len(cells[i].Values) < 2 {
			t.Errorf("%s has no cell %s %s %d with several runs", w.label, w.row, w.column, w.memory)
			continue
		}
		mean, half := metric.Interval(cells[i].Values)
		said := reaches.FindStringSubmatch(text)
		if said == nil {
			t.Errorf("%s does not say `reaches about N %%`", w.name)
			continue
		}
		if figure, err := strconv.ParseFloat(said[1], 64); err != nil || math.Abs(figure-mean) > half {
			t.Errorf("%s says that ocl reaches %s %%, which is outside %.1f ± %.1f, its cell of %s", w.name, said[1], mean, half,
				w.label)
		}
	}
}
