package shift

// truncate is the distance, in standard deviations, at which the Gaussian ends. It is the default of scipy and of
// scikit-image, which the survey's code calls.
const truncate = 4

// blur convolves each channel with a Gaussian of sigma = f pixels over H and W. Beyond an edge the nearest pixel
// counts. With Options.CrossImage the image axis is blurred too, by the same sigma: the survey's code passes all images
// of a task to scikit-image as one array, which blurs all axes but the last, so that an image also shows its neighbours
// in the order of the task.
var blur = kind{
	name:   "blur",
	survey: []float64{0, 0.28, 0.56, 0.83, 1.11, 1.39, 1.67, 1.94, 2.22, 2.5},
	make: func(f float64, shape [3]int, _ Options) transform {
		p := newPlane(gaussian(f), shape[1], shape[2])
		n := shape[1] * shape[2]
		return func(x []float32, _ int) {
			for ; len(x) > 0; x = x[n:] {
				p.blur(x[:n])
			}
		}
	},
	across: func(f float64, o Options) []float32 {
		if !o.CrossImage {
			return nil
		}
		return gaussian(f)
	},
}

// gaussian returns the weights at distance 0, 1, …, radius of a Gaussian, radius = ⌊truncate·sigma+½⌋. The weights of
// both sides add up to 1, up to rounding.
func gaussian(sigma float64) []float32 {
	radius := int(float64(truncate*sigma) + 0.5)
	exact := make([]float64, radius+1)
	exact[0] = 1
	sum := 1.0
	for d := 1; d <= radius; d++ {
		exact[d] = expNeg(float64(d*d) / (2 * sigma * sigma))
		sum += 2 * exact[d]
	}
	weights := make([]float32, radius+1)
	for d, w := range exact {
		weights[d] = float32(w / sum)
	}
	return weights
}

// plane blurs images of one channel, of one size.
type plane struct {
	weights []float32
	h, w    int
	columns []float32 // [h,w], blurred along H only
	wide    []float32 // a row with the nearest pixels on both sides
}

func newPlane(weights []float32, h, w int) *plane {
	return &plane{weights, h, w, make([]float32, h*w), make([]float32, w+2*(len(weights)-1))}
}

// blur blurs x [h,w], first along H, then along W.
func (p *plane) blur(x []float32) {
	row := func(y int) []float32 { return x[y*p.w:][:p.w] }
	for y := range p.h {
		dst := p.columns[y*p.w:][:p.w]
		scale(dst, row(y), p.weights[0])
		for d := 1; d < len(p.weights); d++ {
			addPair(dst, row(max(y-d, 0)), row(min(y+d, p.h-1)), p.weights[d])
		}
	}
	r := len(p.weights) - 1
	for y := range p.h {
		from := p.columns[y*p.w:][:p.w]
		copy(p.wide[r:], from)
		for d := range r {
			p.wide[d], p.wide[r+p.w+d] = from[0], from[p.w-1]
		}
		dst := row(y)
		scale(dst, from, p.weights[0])
		for d := 1; d <= r; d++ {
			addPair(dst, p.wide[r-d:], p.wide[r+d:], p.weights[d])
		}
	}
}

// scale writes w·a into dst.
func scale(dst, a []float32, w float32) {
	a = a[:len(dst)]
	for i, v := range a {
		dst[i] = w * v
	}
}

// addPair adds w·(a+b) to dst. a and b may be longer than dst.
func addPair(dst, a, b []float32, w float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] += float32(w * (a[i] + b[i]))
	}
}
