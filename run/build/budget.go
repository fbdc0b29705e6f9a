package build

import (
	"fmt"
	"slices"

	"ocl"
	"ocl/config"
	"ocl/internal/count"
)

// labelBytes is what a memory keeps of a sample beside its bytes and its numbers: the label (memory.Store.Bytes).
const labelBytes = 4

// Budgeted is the config of a run as config.Config.MemoryBytes and Replay.Passes want it: with the memory and the
// iterations that fit, and without these two keys. A stored sample has so many bytes, and the network so many
// parameters. The error names the key.
//
//	memory = ⌊(memory_bytes − 4·P·copies)/slot⌋
//
// with the copies of the network that the method keeps beside it ([method.Info.Copies]), and the bytes of a slot: the
// sample as it is stored, its label and the numbers that it carries. The iterations are the most whose passes
// ([method.Info.StepPasses]) are no more than replay.passes for each incoming sample, where a row that goes forward is
// one and a row that goes backward is two more.
func Budgeted(c config.Config, info ocl.StreamInfo, sample, params int) (config.Config, error) {
	name := c.Methods[0]
	if c.Tricks[0] != config.NoTrick {
		name += "+" + c.Tricks[0]
	}
	of, s := Method(c.Methods[0]), Setup(c)
	s.Shape, s.Classes = [3]int{info.Channels, info.Height, info.Width}, info.Classes
	if all := c.MemoryBytes; all > 0 && of.UsesMemory {
		copies := of.Copies(s, info.Batch)
		left, slot := all-4*copies*params, sample+labelBytes+of.CarriedBytes(s)
		beside := ""
		if copies > 0 {
			beside = fmt.Sprintf(" beside %s of the network with %s", count.Of(copies, "further copy"),
				count.Bytes(int64(4*copies*params)))
		}
		c.Memory, s.Memory = max(0, left/slot), max(0, left/slot)
		if least := max(1, c.Replay.Batch); c.Memory < least {
			return c, fmt.Errorf("memory_bytes: %s are %s for %s%s, of %s each, but at least %d are needed. Use more, or a smaller replay.batch",
				count.Bytes(int64(all)), count.Of(c.Memory, "sample"), name, beside, count.Bytes(int64(slot)), least)
		}
		if err := of.CheckTogether(s); err != nil {
			return c, fmt.Errorf("memory_bytes: %s are %s for %s: %w", count.Bytes(int64(all)), count.Of(c.Memory, "sample"),
				name, err)
		}
	}
	if most := c.Replay.Passes; most > 0 {
		if of.Offline || of.Deferred || of.OwnNetworks || of.Solves != nil {
			return c, fmt.Errorf("replay.passes: %s does not learn step by step with one network, so its passes cannot be chosen. Remove it from --method, or replay.passes",
				name)
		}
		work := func(n int) (sum int) {
			s.Iterations = n
			for _, p := range of.StepPasses(s, info.Batch) {
				sum += p.Forwards()
			}
			return sum
		}
		n, done := 1, work(1)
		free := s.Steps() == 1 && slices.Contains(of.Settings, "replay.iterations") // no trick has set them
		for free && work(n+1) <= most*info.Batch {
			n++
			done = work(n)
		}
		per := float64(done) / float64(info.Batch)
		if done > most*info.Batch || 2*done <= most*info.Batch {
			return c, fmt.Errorf("replay.passes: %s makes %.4g passes of rows for each incoming sample with %s, which is more than %d or at most half of it. Choose another number, or leave the method out",
				name, per, count.Of(n, "iteration"), most)
		}
		c.Replay.Iterations = n
	}
	c.MemoryBytes, c.Replay.Passes = 0, 0
	return c, nil
}
