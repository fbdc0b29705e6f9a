package stream

import (
	"fmt"
	"slices"

	"ocl"
	"ocl/internal/count"
)

// late gives the tasks the batches that are learned while they last, with Options.Delay and Options.LabelDelay. The
// tasks are cut into batches before.
func (s *Tasks) late() error {
	c, d := max(s.opts.Delay, 1), s.opts.LabelDelay
	if c == 1 && d == 0 {
		return nil
	}
	var waiting [][]int32 // batches without labels, the oldest first
	arrived := 0
	for t, list := range s.train.lists {
		var learned []int32
		task := &s.info.Tasks[t]
		for batch := range slices.Chunk(list, s.opts.Batch) {
			waiting = append(waiting, batch)
			if len(waiting) <= d {
				continue
			}
			labelled := waiting[0]
			waiting = waiting[1:]
			if arrived++; arrived/c == (arrived-1)/c {
				continue
			}
			learned = append(learned, labelled...)
			for _, i := range labelled {
				if y := ocl.Label(s.train.from.Y[i]); !slices.Contains(task.Classes, y) { // it came in an earlier task
					task.Classes = append(slices.Clip(task.Classes), y)
				}
			}
		}
		if len(learned) == 0 {
			return fmt.Errorf("stream: no batch of %s is learned before it ends, as it has %s, and stream.delay is %d and stream.label_delay %d. Use smaller ones, or fewer --tasks",
				s.words(s.original[t]), count.Of((len(list)+s.opts.Batch-1)/s.opts.Batch, "batch"), c, d)
		}
		s.train.lists[t], task.Train = learned, len(learned)
	}
	return nil
}
