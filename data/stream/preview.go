package stream

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ocl/data"
)

// PreviewOptions say which images a preview shows.
type PreviewOptions struct {
	Samples int  // images of each task, at least 1
	Test    bool // of the test sets, and not of the training images
	Same    bool // in a stream of the kind shift: the same images in every task, so that only the disturbance differs
}

// Preview returns a row for each task, or for each test set: the first images in the order in which they come, as bytes
// before they are normalised, and what makes the task what it is, such as "task 3: noise 0.8". Training data stay
// unused.
func (s *Tasks) Preview(o PreviewOptions) ([]data.Row, error) {
	h := &s.train
	if o.Test {
		h = &s.test
	}
	rows := make([]data.Row, len(h.lists))
	for t, list := range h.lists {
		if o.Same && s.opts.Kind == shifted.Name {
			list = h.lists[0]
		}
		images, err := s.first(h, list, t, o.Samples)
		if err != nil {
			return nil, fmt.Errorf("stream: preview: %w", err)
		}
		rows[t] = data.Row{Label: s.label(t), Images: images}
		if len(h.lists) < len(s.original) {
			rows[t].Label = "all tasks"
		}
	}
	return rows, nil
}

// first returns the first n images of a list as the task shows them, before they are normalised.
func (s *Tasks) first(h *half, list []int32, task, n int) ([][]uint8, error) {
	few := list[:min(n, len(list))]
	if s.opts.Kind != shifted.Name {
		return s.set.Take(*h.from, few)
	}
	around := few
	if s.opts.Shift.CrossImage {
		around = list // a blur across images also needs the images after the last of the n
	}
	out, err := s.disturbed(h, around, s.original[task])
	return out[:min(len(few), len(out))], err
}

// labelWords is the largest number of domains or classes that a label lists.
const labelWords = 3

// label returns a text for a task: its number, its name if it has one, and its strengths, its domains or the first of
// its classes.
func (s *Tasks) label(task int) string {
	original := s.original[task]
	var words []string
	switch s.opts.Kind {
	case shifted.Name:
		for _, step := range s.opts.Shift.steps(original) {
			words = append(words, step.Kind+" "+strconv.FormatFloat(step.Strength, 'g', -1, 64))
		}
	case domains.Name:
		for d, name := range s.set.Domains {
			if slices.ContainsFunc(s.train.lists[task], func(i int32) bool { return s.set.Train.Domain[i] == int32(d) }) {
				words = append(words, name)
			}
		}
	default:
		var classes []int
		for _, k := range s.info.Tasks[task].Classes {
			classes = append(classes, int(k))
		}
		words = append(words, s.classNames(classes))
	}
	if len(words) > labelWords {
		words = append(words[:labelWords], "…")
	}
	return s.words(original) + ": " + strings.Join(words, ", ")
}
