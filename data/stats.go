package data

import (
	"context"
	"fmt"
	"math"
	"sync"

	"ocl/data/internal/cache"
)

// Stats are statistics of the training images.
type Stats struct {
	Images int
	// Mean and Std are of each channel, over all pixels of all images, which range from 0 to 1. Std is that of the
	// population: the root of the mean squared deviation.
	Mean, Std []float64
}

// statsChunk is how many images a worker counts before it adds its counts to those of the others.
const statsChunk = 256

// Statistics computes them from counts of the 256 values, so that they do not depend on the order of the images or on the
// number of workers. progress may be nil. It is an error if an image cannot be read, or if ctx ends.
func Statistics(ctx context.Context, s *Set, progress func(done, total int)) (Stats, error) {
	n, plane := s.Train.Len(), s.H*s.W
	counts := make([][256]uint64, s.C)
	var mu sync.Mutex
	chunks := (n + statsChunk - 1) / statsChunk
	tell := func(done, _ int) {
		if progress != nil {
			progress(min(done*statsChunk, n), n)
		}
	}
	err := cache.Each(ctx, chunks, 0, s.ImageLen(), tell, func(k int, buf []uint8) error {
		own := make([][256]uint64, s.C)
		for i := k * statsChunk; i < min((k+1)*statsChunk, n); i++ {
			pixels, err := s.Train.Images.Image(i, buf)
			if err != nil {
				return err
			}
			for c := range own {
				for _, v := range pixels[c*plane : (c+1)*plane] {
					own[c][v]++
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for c := range own {
			for v, times := range own[c] {
				counts[c][v] += times
			}
		}
		return nil
	})
	if err != nil {
		return Stats{}, fmt.Errorf("data: %s: statistics: %w", s.Name, err)
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
		std += float64(k) * (float64(v) - mean) * (float64(v) - mean)
	}
	return mean / 255, math.Sqrt(std/n) / 255
}
