package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"ocl"
	"ocl/predict"
)

// residual is ER with the survey's ResNet-18 for images of 32×32 pixels, one goroutine that learns, and a memory of
// 2,000, which is full. All benchmarks share it.
var residual = sync.OnceValue(func() (of struct {
	*Learner
	images [][]byte
}) {
	var err error
	if of.Learner, err = New(Options{Memory: 2000, Set: []string{"optimizer.lr=0.01"},
		Process: Process{Workers: 1}}); err != nil {
		panic(err)
	}
	for i := range 100 {
		pixels := make([]byte, 3*32*32)
		if err := of.t.preparation.Easel().Draw(pixels, picture(i, shapeName(i, 10), 32)); err != nil {
			panic(err)
		}
		of.images = append(of.images, pixels)
	}
	if err := errors.Join(feed(of.Learner, of.images, 2100), of.Flush(context.Background())); err != nil {
		panic(err)
	}
	return of
})

// feed learns n images.
func feed(l *Learner, images [][]byte, n int) error {
	for i := range n {
		if err := l.LearnPixels(context.Background(), images[i%len(images)], shapeName(i%len(images), 10)); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkLearn is how many images are learned in a second without predictions.
func BenchmarkLearn(b *testing.B) {
	l, images := residual().Learner, residual().images
	b.ResetTimer()
	if err := feed(l, images, b.N); err != nil {
		b.Fatal(err)
	}
	flush(b, l)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
}

// BenchmarkPredict predicts one image after the other, without learning.
func BenchmarkPredict(b *testing.B) {
	l, images := residual().Learner, residual().images
	dst := make([]predict.Guess, 3)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if _, err := l.PredictPixels(dst, images[i%len(images)]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTrainerPredict predicts images together, in one pass, without learning.
func BenchmarkTrainerPredict(b *testing.B) {
	for _, n := range []int{1, MaxPictures} {
		b.Run(fmt.Sprintf("images=%d", n), func(b *testing.B) {
			l, images := residual().Learner, residual().images
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if _, err := l.t.Predict(3, images[:n]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}

// BenchmarkPredictWhileLearning predicts 100 images a second, in an open loop, alone and while learning never pauses.
// The latency of a prediction counts from the instant at which it was to begin.
func BenchmarkPredictWhileLearning(b *testing.B) {
	for _, learning := range []bool{false, true} {
		b.Run(fmt.Sprintf("learning=%t", learning), func(b *testing.B) {
			l, images := residual().Learner, residual().images
			ctx, cancel := context.WithCancel(context.Background())
			var learner, predictions sync.WaitGroup
			if learning {
				learner.Go(func() {
					for i := 0; l.LearnPixels(ctx, images[i%len(images)], shapeName(i%len(images), 10)) == nil; i++ {
					}
				})
			}
			before, latencies := l.Stats().Images, make([]time.Duration, b.N)
			b.ResetTimer()
			start := time.Now()
			for i := range b.N {
				intended := start.Add(time.Duration(i) * 10 * time.Millisecond)
				time.Sleep(time.Until(intended))
				predictions.Go(func() {
					if _, err := l.PredictPixels(make([]predict.Guess, 3), images[i%len(images)]); err != nil {
						b.Error(err)
					}
					latencies[i] = time.Since(intended)
				})
			}
			predictions.Wait()
			b.StopTimer()
			learned := l.Stats().Images - before
			cancel()
			learner.Wait()
			flush(b, l)
			slices.Sort(latencies)
			at := func(share float64) float64 {
				return float64(latencies[min(int(share*float64(b.N)), b.N-1)].Microseconds()) / 1000
			}
			b.ReportMetric(at(0.5), "p50-ms")
			b.ReportMetric(at(0.99), "p99-ms")
			b.ReportMetric(float64(learned)/b.Elapsed().Seconds(), "images/s")
		})
	}
}

// BenchmarkSave saves a learner with a full memory, and says how long the file is.
func BenchmarkSave(b *testing.B) {
	l := residual().Learner
	path := filepath.Join(b.TempDir(), "saved.ocl")
	b.ResetTimer()
	for range b.N {
		if err := l.Save(path); err != nil {
			b.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB")
}

// BenchmarkFinite is the check of the weights at the end of each step of the network of [residual], and such a step, of
// a batch of 10 and 10 from the memory.
func BenchmarkFinite(b *testing.B) {
	l := residual().Learner
	l.step.Lock()
	defer l.step.Unlock()
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			if err := l.t.core.finite(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("step", func(b *testing.B) {
		var pixels []byte
		y := make([]ocl.Label, 10)
		for i := range y {
			pixels, y[i] = append(pixels, residual().images[i]...), ocl.Label(i)
		}
		for b.Loop() {
			if _, err := l.t.Observe(b.Context(), pixels, y); err != nil {
				b.Fatal(err)
			}
		}
	})
}
