package learner

import (
	"fmt"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
)

// The checksums of a checkpoint protect its bytes, and its identity is the config that it was made with. The checks
// here make sure that the parts of a state fit each other, so that a wrong combination is an error at once and not a
// panic at a later step.

// optimiserPart is the state of opt, which steps the parameters of net.
func optimiserPart(opt optim.Optimizer, net *nn.Network) checkpoint.Part {
	return checkpoint.Inline(checkpoint.Parts{checkpoint.Sub("opt", opt),
		checkpoint.Then(func() error { return opt.Fit(net) })})
}

// vectorPart is v, which has a number for each parameter of net. A state of a smaller network that net inherits from
// has 0 for the further ones.
func vectorPart(name string, net *nn.Network, v []float32) checkpoint.Part {
	return checkpoint.Via(func() []float32 { return v }, func(saved []float32) error {
		fitted, err := net.Fit(saved)
		copy(v, fitted)
		return err
	}, func(v *[]float32) checkpoint.Part { return checkpoint.List(name, v) })
}

// memoryPart is the state of m, whose samples are of classes of net.
func memoryPart(m *memory.Store, net *nn.Network) checkpoint.Part {
	return checkpoint.Inline(checkpoint.Parts{checkpoint.Sub("memory", m), checkpoint.Then(func() error {
		for y := range m.Counts() {
			if err := checkLabels(net.Info().Capacity, y); err != nil {
				return err
			}
		}
		return nil
	})})
}

// checkLabels refuses saved labels that are none of so many classes.
func checkLabels(classes int, labels ...ocl.Label) error {
	for _, y := range labels {
		if y < 0 || int(y) >= classes {
			return fmt.Errorf("learner: the state has class %d, which is not in [0, %d), so it belongs to another configuration. Use the one it was saved with",
				y, classes)
		}
	}
	return nil
}

// checkRising is checkLabels, and also refuses classes that are repeated or not in rising order.
func checkRising(classes int, labels []ocl.Label) error {
	for i, y := range labels {
		if i > 0 && y <= labels[i-1] {
			return fmt.Errorf("learner: the state has class %d before class %d. Classes must rise, so it belongs to another configuration",
				labels[i-1], y)
		}
	}
	return checkLabels(classes, labels...)
}

// checkSlots refuses saved slots that hold no sample.
func checkSlots[T ~int | ~int32](m *memory.Store, slots []T) error {
	for _, slot := range slots {
		if slot < 0 || int(slot) >= m.Len() {
			return fmt.Errorf("learner: the state has slot %d of a memory of %d samples, so it belongs to another configuration. Use the one it was saved with",
				slot, m.Len())
		}
	}
	return nil
}
