package paper

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ocl/metric"
	"ocl/survey"
)

// TestMethodPagesHaveTheCells: where the page of a method or of a trick says what ocl reaches, it is what the cell of the committed results has.
func TestMethodPagesHaveTheCells(t *testing.T) {
	s := committed(t)
	for _, w := range []struct {
		page, label, row, column string
		memory                   int
	}{
		{"finetune", survey.ClassIncremental, "Finetune", survey.CIFAR100, 0}, {"er", survey.ClassIncremental, "ER", survey.CIFAR100, 5000},
		{"mir", survey.ClassIncremental, "MIR", survey.CIFAR100, 5000}, {"agem", survey.ClassIncremental, "A-GEM", survey.CIFAR100, 5000},
		{"icarl", survey.ClassIncremental, "iCaRL", survey.CIFAR100, 5000}, {"gdumb", survey.ClassIncremental, "GDumb", survey.CIFAR100, 5000},
		{"trick_ncm", survey.TricksCIFAR100, "NCM", "ER", 5000}, {"trick_rv", survey.TricksCIFAR100, "RV", "ER", 5000}, {"trick_ss", survey.TricksCIFAR100, "SS", "ER", 5000},
	} {
		text, err := os.ReadFile("../../method/page/" + w.page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		cells := cellsOf(t, s, w.label)
		i := slices.IndexFunc(cells, func(c *Cell) bool { return c.Row == w.row && c.Column == w.column && c.Memory == w.memory })
		if i < 0 || len(cells[i].Values) < 2 {
			t.Errorf("%s has no cell %s %s %d with several runs", w.label, w.row, w.column, w.memory)
			continue
		}
		mean, half := metric.Interval(cells[i].Values)
		if want := fmt.Sprintf("%.1f ± %.1f", mean, half); !strings.Contains(strings.ReplaceAll(string(text), "\n", " "), want) {
			t.Errorf("method/page/%s.md has no %q, which is what ocl reaches in %s", w.page, want, w.label)
		}
	}
}
