package learner

import (
	"fmt"

	"ocl"
	"ocl/checkpoint"
)

// Recent counts the labels of the rows that the last Steps steps have learned, the present one included: incoming and
// replayed ones, of all passes that have begun.
type Recent struct {
	Steps int // at least 1

	counts []int         // by class
	labels [][]ocl.Label // of each step, the present one last
}

// begin begins a step.
func (r *Recent) begin() {
	if len(r.labels) < r.Steps {
		r.labels = append(r.labels, nil)
		return
	}
	first := r.labels[0]
	for _, y := range first {
		r.counts[y]--
	}
	copy(r.labels, r.labels[1:])
	r.labels[len(r.labels)-1] = first[:0]
}

// add counts the rows of a pass.
func (r *Recent) add(y []ocl.Label) {
	last := len(r.labels) - 1
	if last < 0 {
		return // of a caller that has no steps
	}
	r.labels[last] = append(r.labels[last], y...)
	for _, y := range y {
		for int(y) >= len(r.counts) {
			r.counts = append(r.counts, 0)
		}
		r.counts[y]++
	}
}

// rename gives the rows of a class another label; nil takes them out.
func (r *Recent) rename(from ocl.Label, into *ocl.Label) {
	labels := r.labels
	r.labels, r.counts = nil, nil
	for _, list := range labels {
		r.labels = append(r.labels, nil)
		for _, y := range list {
			switch {
			case y != from:
				r.add([]ocl.Label{y})
			case into != nil:
				r.add([]ocl.Label{*into})
			}
		}
	}
}

// parts is the state: the labels of the steps that still count, with the length of each.
func (r *Recent) parts(classes int) checkpoint.Parts {
	var all, lengths []int32
	for _, list := range r.labels {
		lengths = append(lengths, int32(len(list)))
		for _, y := range list {
			all = append(all, int32(y))
		}
	}
	return checkpoint.Parts{
		checkpoint.List("labels", &all),
		checkpoint.List("lengths", &lengths),
		checkpoint.Then(func() error {
			if len(lengths) > r.Steps {
				return fmt.Errorf("learner: the labels of %d steps were saved, and %d are kept. Use the configuration that they were saved with",
					len(lengths), r.Steps)
			}
			r.labels, r.counts = nil, nil
			for _, n := range lengths {
				if n < 0 || int(n) > len(all) {
					return fmt.Errorf("learner: a step with %d of %d saved labels. Use an undamaged checkpoint", n, len(all))
				}
				r.labels = append(r.labels, nil)
				for _, y := range all[:n] {
					if y < 0 || int(y) >= classes {
						return fmt.Errorf("learner: the label %d was saved, and there are %d classes. Use an undamaged checkpoint", y,
							classes)
					}
					r.add([]ocl.Label{ocl.Label(y)})
				}
				all = all[n:]
			}
			return nil
		}),
	}
}
