package report

import (
	"fmt"
	"math"

	"ocl/internal/count"
	"ocl/run/metric"
)

// tested returns the number of test images behind the last row of a run's accuracies, and the number of their classes.
// Both are 0 if nothing was evaluated, and images is 0 if the result does not say how many there are.
func (r *run) tested() (images, classes int) {
	last := r.lastRow()
	if last < 0 {
		return 0, 0
	}
	of := map[int]bool{}
	for j, t := range r.Stream.Tasks {
		for _, k := range t.Classes {
			of[k] = true
		}
		if !math.IsNaN(at(r.Accuracy, last, j)) {
			images += t.Test
		}
	}
	if classes = len(of); r.Parent != nil { // it may take an image for one of its parent's classes too
		classes = r.Stream.Classes
	}
	return images, classes
}

// chance names the rows whose average accuracy does not show that they do better than guessing ([metric.Luck]), and
// says what may help; "" if there are none. All runs of a row have the same test images, so their mean counts as one
// run.
func (s *setting) chance() string {
	var names []string
	help := false
	images, classes, luck := 0, 0, 0.0
	for _, g := range s.rows {
		if g.foreign() || len(g.finished) == 0 {
			continue
		}
		n, k := g.finished[0].tested()
		if n == 0 || k < 2 {
			continue
		}
		most := float64(metric.Luck(n, k)) / float64(n)
		// accuracies of halves of images are rounded; luck of 100 % says nothing
		if mean := g.finalAccuracy().Mean; most < 1 && mean <= most+1e-9 {
			names = append(names, fmt.Sprintf("%s (%s %%)", g.Label, count.Percent(mean)))
			images, classes, luck, help = n, k, most, help || g.bound != LowerBound
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := fmt.Sprintf("No better than guessing one of %s: %s. Guessing gets %s %%, and up to %s %% by luck with %s.",
		count.Of(classes, "class"),
		count.Some(names), count.Percent(1/float64(classes)), count.Percent(luck), count.Of(images, "test image"))
	if help {
		text += s.remedy()
	}
	return text
}

// remedy says what may help against results that are chance. It begins with a space.
func (s *setting) remedy() string {
	text := " Take more images of each class. For a method with steps and a memory, also try a smaller rate (--lr) or class means (--classifiers ncm)."
	if !s.first.Stream.Embeddings {
		text = " A pretrained network helps most (--backbone, see docs/format/backbone.md)." + text
	}
	if s.first.Stream.Name == "folder" {
		text += " `ocl advise DIR` tries some settings on your images."
	}
	return text
}
