package data

import (
	"cmp"
	"context"
	"fmt"
	"math"
)

// Stats are statistics of the training images.
type Stats struct {
	Images int
	// Mean and Std are of each channel, over all pixels of all images, which range from 0 to 1. Std is that of the
	// population: the root of the mean squared deviation.
	Mean, Std []float64
}

// Statistics computes them from counts of the 256 values, so that they do not depend on the order of the images.
// progress may be nil. It is an error if an image cannot be read, or if ctx ends.
func Statistics(ctx context.Context, s *Set, progress func(done, total int)) (Stats, error) {
	if s.Embeddings {
		return Stats{}, fmt.Errorf("data: %s: the data are embeddings, and statistics are those of pixels. Leave out --stats",
			s.Name)
	}
	n, plane := s.Train.Len(), s.H*s.W
	counts := make([][256]uint64, s.C)
	buf := make([]uint8, s.ImageLen())
	for i := range n {
		if progress != nil && i%1000 == 0 {
			progress(i, n)
		}
		pixels, err := s.Train.Images.Image(i, buf)
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return Stats{}, fmt.Errorf("data: %s: statistics: %w", s.Name, err)
		}
		for c := range counts {
			for _, v := range pixels[c*plane : (c+1)*plane] {
				counts[c][v]++
			}
		}
	}
	if progress != nil {
		progress(n, n)
	}
	st := Stats{Images: n}
	for _, times := range counts {
		mean, std := moments(times, float64(n*plane))
		st.Mean, st.Std = append(st.Mean, mean), append(st.Std, std)
	}
	return st, nil
}

// moments are mean and deviation of n bytes, v of which there are times[v], as numbers from 0 to 1.
func moments(times [256]uint64, n float64) (mean, std float64) {
	for v, k := range times {
		mean += float64(v) * float64(k)
	}
	mean /= n
	for v, k := range times {
		std += float64(float64(k) * (float64(v) - mean) * (float64(v) - mean))
	}
	return mean / 255, math.Sqrt(std/n) / 255
}
