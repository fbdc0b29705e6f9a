package tensor_test

import (
	"fmt"
	"strings"
	"testing"

	"ocl/nn/tensor"
)

// TestCheckShape: extents and the number of values are held to the shape.
func TestCheckShape(t *testing.T) {
	short := tensor.New(2, 3)
	short.Data = short.Data[:5] // room for one more, which Row would reach
	for _, c := range []struct {
		x    *tensor.Tensor
		want []int
		text string
	}{
		{tensor.New(2, 3), []int{2, 3}, ""},
		{tensor.New(2, 3), []int{-1, 3}, ""},
		{tensor.New(0, 3), []int{-1, 3}, ""},
		{tensor.New(2, 3), []int{3, 2}, "input: shape [2 3] instead of [3 2]"},
		{tensor.New(2, 3), []int{2, 3, 1}, "input: shape [2 3] instead of [2 3 1]"},
		{short, []int{2, 3}, "input: 5 values do not fill shape [2 3] (6)"},
		{&tensor.Tensor{Shape: []int{2, 3}, Data: make([]float32, 7)}, []int{2, 3},
			"input: 7 values do not fill shape [2 3] (6)"},
	} {
		func() {
			defer func() {
				if got := recover(); c.text == "" && got != nil || !strings.Contains(fmt.Sprint(got), c.text) {
					t.Errorf("%v of %d values as %v: panic %v, want %q", c.x.Shape, len(c.x.Data), c.want, got, c.text)
				}
			}()
			c.x.CheckShape("input", c.want...)
		}()
	}
}
