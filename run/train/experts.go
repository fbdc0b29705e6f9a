package train

import (
	"encoding/base64"

	"ocl"
	"ocl/learn/learner"
	"ocl/nn/tensor"
	"ocl/run/build"
	"ocl/run/result"
)

// expertsOf describes the experts of a learner that makes networks as it learns, and returns nil for other learners.
// before is the number of steps that the learner made before the run.
func expertsOf(l ocl.Learner, st build.Stream, before int) *result.Experts {
	c, ok := l.(learner.Mixture)
	if !ok {
		return nil
	}
	x := &result.Experts{List: []result.Expert{}}
	for _, e := range c.Experts() {
		x.List = append(x.List, result.Expert{Step: e.Step, Task: taskAt(st, e.Step-before), Stored: e.Stored, Count: e.Count,
			Parameters: e.Parameters})
	}
	n := len(x.List)
	if n == 0 {
		return x
	}
	p := &result.Pictures{}
	var pixels []byte
	for i := range min(n, result.MostPictured) {
		k := i * n / min(n, result.MostPictured) // spread over all
		images, decoded := c.Reconstructions(k)
		p.Experts, p.Images = append(p.Experts, k), images.Dim(0)
		for j := range p.Images {
			for _, of := range []*tensor.Tensor{images, decoded} {
				pixels, p.Height, p.Width = appendPicture(pixels, of, j)
			}
		}
	}
	p.Pixels = base64.StdEncoding.EncodeToString(pixels)
	x.Pictures = p
	return x
}

// taskAt returns the task that a step of the run belongs to, or -1 for steps before the run.
func taskAt(st build.Stream, step int) int {
	if step < 1 {
		return -1
	}
	task := st.Start()
	for ; task < len(st.Info().Tasks)-1 && step > st.Batches(task); task++ {
		step -= st.Batches(task)
	}
	return task
}

// appendPicture appends image i of x [B,C,H,W] as 8-bit RGB, each side at most result.MostPictureSide pixels: the means
// of squares of pixels.
func appendPicture(dst []byte, x *tensor.Tensor, i int) (out []byte, height, width int) {
	c, h, w := x.Dim(1), x.Dim(2), x.Dim(3)
	factor := (max(h, w) + result.MostPictureSide - 1) / result.MostPictureSide
	height, width = h/factor, w/factor
	image := x.Row(i)
	for y := range height {
		for x := range width {
			for channel := range 3 {
				plane, sum := image[min(channel, c-1)*h*w:], float32(0)
				for dy := range factor {
					for dx := range factor {
						sum += plane[(y*factor+dy)*w+x*factor+dx]
					}
				}
				v := sum / float32(factor*factor) * 255
				if !(v > 0) { // or no number
					v = 0
				}
				dst = append(dst, byte(min(255, v)+0.5))
			}
		}
	}
	return dst, height, width
}
