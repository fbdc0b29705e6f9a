package paper

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"ocl/config"
	"ocl/run/result"
)

// large adds what a real result has and no table of the survey needs: accuracies by class and confusion matrices.
func large(r *result.Result) *result.Result {
	p := func(v float64) *float64 { return &v }
	for i := range r.Stream.Tasks {
		row := make([]*float64, r.Stream.Classes)
		for k := range row {
			row[k] = p(float64((i*k)%500) / 500)
		}
		r.PerClass = append(r.PerClass, row)
	}
	if a := r.ErrorAnalysis; a != nil {
		for k := range r.Stream.Classes {
			row := make([]int, r.Stream.Classes)
			for j := range row {
				row[j] = (k * j) % 100
			}
			a.Confusion = append(a.Confusion, row)
		}
		for i := range a.Tasks {
			t := a.Tasks[i].Task
			for range t + 1 {
				a.Tasks[i].Confusion = append(a.Tasks[i].Confusion, make([]int, t+2))
			}
			a.Tasks[i].Predictions = make([]int, t+2)
		}
	}
	return r
}

// BenchmarkReport writes all tables and figures from 1,500 results. The heap is the largest that was seen, in MB.
func BenchmarkReport(b *testing.B) {
	const results = 1500
	dir := b.TempDir()
	all := specs()
	for i := range results {
		spec := all[i%len(all)]
		write(b, dir, fmt.Sprintf("%04d.json.gz", i), large(fake(spec, uint64(i/len(all)+1), config.EvalAll)))
	}
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(50 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapSys-m.HeapReleased)
			}
		}
	}()
	for b.Loop() {
		if _, err := Write(b.Context(), []string{dir}, b.TempDir(), Options{Beside: true}); err != nil {
			b.Fatal(err)
		}
	}
	close(done)
	b.ReportMetric(float64(<-peak)/1e6, "heap-MB")
}
