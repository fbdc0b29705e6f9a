package learner

import (
	"fmt"
	"slices"

	"ocl"
	"ocl/nn/tensor"
)

// argmax is the index of the largest score, the first one where several are.
func argmax[T float32 | float64](scores []T) ocl.Label {
	best := 0
	for k, v := range scores {
		if v > scores[best] {
			best = k
		}
	}
	return ocl.Label(best)
}

// largest sets dst to the classes of the largest logits [B,K], which are finite numbers.
func largest(dst []ocl.Label, logits *tensor.Tensor) error {
	if err := checkFinite("logit", logits.Data); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = argmax(logits.Row(i))
	}
	return nil
}

// checkFinite returns an error that wraps ErrDiverged if a number that a prediction depends on is not finite. The
// loss is checked before the step that follows from it, so without this check nobody would notice that the last step
// broke the network.
func checkFinite[T float32 | float64](what string, v []T) error {
	sum := T(0)
	for _, x := range v {
		sum += x - x // 0, but NaN where x is not finite
	}
	if sum == 0 {
		return nil
	}
	at := slices.IndexFunc(v, func(x T) bool { return x-x != 0 })
	return fmt.Errorf("%w: a prediction depends on a %s of %v. Use a smaller learning rate", ocl.ErrDiverged, what, v[at])
}

// diverged returns an error that wraps ErrDiverged if a loss is not finite.
func diverged(loss float64) error {
	if loss-loss == 0 {
		return nil
	}
	return fmt.Errorf("%w: %v. Use a smaller learning rate", ocl.ErrDiverged, loss)
}

// checkClasses returns an error if a label of a batch is none of so many classes.
func checkClasses(b ocl.Batch, classes int) error {
	for i, y := range b.Y {
		if y < 0 || int(y) >= classes {
			return fmt.Errorf("row %d: label %d is not a class in [0, %d)", i, y, classes)
		}
	}
	return nil
}

// checkRoom returns an error unless dst has room for one label of each row of x.
func checkRoom(dst []ocl.Label, x *tensor.Tensor) error {
	if len(dst) != x.Dim(0) {
		return fmt.Errorf("learner: predict: there is room for %d labels, but there are %d images. Give room for one label each",
			len(dst), x.Dim(0))
	}
	return nil
}
