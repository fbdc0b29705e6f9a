package shift

// window blurs across images. It keeps only the images within radius of the last requested one in memory, not the whole
// task.
type window struct {
	weights []float32 // of the images at distance 0, 1, …, radius
	n       int       // images of the task; beyond both ends the nearest image counts
	ring    [][]float32
	next    int // the first image that was not loaded yet
	load    func(x []float32, i int) error
}

// newWindow makes the window whose first image is from. load writes an image before this blur; it is called once for
// each image, in ascending order.
func newWindow(weights []float32, t Task, from int, load func(x []float32, i int) error) *window {
	radius := len(weights) - 1
	w := &window{weights: weights, n: t.N, next: max(from-radius, 0), load: load}
	w.ring = make([][]float32, min(2*radius+1, t.N))
	for i := range w.ring {
		w.ring[i] = make([]float32, t.size())
	}
	return w
}

// image returns the loaded image nearest to i.
func (w *window) image(i int) []float32 {
	return w.ring[max(min(i, w.n-1), 0)%len(w.ring)]
}

// at writes image i, blurred across images, into x. i must not be smaller than in the call before.
func (w *window) at(x []float32, i int) error {
	for last := min(i+len(w.weights)-1, w.n-1); w.next <= last; w.next++ {
		if err := w.load(w.image(w.next), w.next); err != nil {
			return err
		}
	}
	scale(x, w.image(i), w.weights[0])
	for d := 1; d < len(w.weights); d++ {
		addPair(x, w.image(i-d), w.image(i+d), w.weights[d])
	}
	return nil
}
