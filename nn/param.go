package nn

import "fmt"

// Param describes one parameter tensor and where it lies in the flat vectors of a network.
//
// Convolutions and linear layers are stored [in][tap][out], vectors as they are; Name is PyTorch's state_dict name.
type Param struct {
	Name   string
	Offset int // first element in Params and Grads
	In     int // 0 for vectors
	Taps   int
	Out    int
	Conv   bool // of a convolution, whose taps are a square
	// Transposed: of a transposed convolution, which PyTorch stores [in][out][tap]
	Transposed bool
	Classes    bool // of the head, with a column for each class
	Fixed      bool // no optimiser changes it, and its gradient is 0
}

// Len is the number of elements.
func (p Param) Len() int { return max(1, p.In) * max(1, p.Taps) * p.Out }

// Shape is the shape PyTorch gives the tensor: [out,in,side,side] for a convolution, [in,out,side,side] for a
// transposed one, [out,in] for a linear layer.
func (p Param) Shape() []int {
	switch {
	case p.In == 0:
		return []int{p.Out}
	case p.Conv:
		side := 1
		for side*side < p.Taps {
			side++
		}
		if p.Transposed {
			return []int{p.In, p.Out, side, side}
		}
		return []int{p.Out, p.In, side, side}
	}
	return []int{p.Out, p.In}
}

// ToTorch copies src, in the engine's order, to dst in PyTorch's order, that of Shape.
func (p Param) ToTorch(dst, src []float32) { p.reorder(dst, src, true) }

// FromTorch copies src, in PyTorch's order, to dst in the engine's order.
func (p Param) FromTorch(dst, src []float32) { p.reorder(dst, src, false) }

func (p Param) reorder(dst, src []float32, toTorch bool) {
	if len(dst) != p.Len() || len(src) != p.Len() {
		panic(fmt.Sprintf("nn: %s: %d and %d values instead of %d", p.Name, len(dst), len(src), p.Len()))
	}
	if p.In == 0 {
		copy(dst, src)
		return
	}
	for i := range p.In {
		for t := range p.Taps {
			for o := range p.Out {
				here, torch := (i*p.Taps+t)*p.Out+o, (o*p.In+i)*p.Taps+t
				if p.Transposed {
					torch = (i*p.Out+o)*p.Taps + t
				}
				if toTorch {
					dst[torch] = src[here]
				} else {
					dst[here] = src[torch]
				}
			}
		}
	}
}
