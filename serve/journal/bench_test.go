package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// benchmarkFolder is where the benchmarks write: set it to a folder of the disk that is to be measured.
const benchmarkFolder = "OCL_BENCH_DIR"

// BenchmarkAppend acknowledges 1, 10 and 100 events of 3 kB at once, beside a plain write of as many bytes with an
// fsync. p50 and p99 are in milliseconds.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		events := make([]Event, n)
		for i := range events {
			events[i] = Event{Kind: "sample", Time: time.Now(), Who: "token", ID: fmt.Sprintf("%020d", i),
				Body: []byte(`{"v":1,"label":"cat"}`), Pixels: make([]byte, 3072)}
		}
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			j := opened(b, benchDir(b), Options{})
			measured(b, func() error { return j.Trim(j.Last() - 2000) }, func() error {
				_, err := j.Append(events)
				return err
			})
		})
		b.Run(fmt.Sprintf("plain=%d", n), func(b *testing.B) {
			f, err := os.Create(filepath.Join(benchDir(b), "plain"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			text := make([]byte, n*3072)
			measured(b, func() error { return nil }, func() error {
				if _, err := f.Write(text); err != nil {
					return err
				}
				return f.Sync()
			})
		})
	}
}

func benchDir(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp(os.Getenv(benchmarkFolder), "journal")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// measured reports the middle and the 99th of a hundred times. What is done between is not counted.
func measured(b *testing.B, between, do func() error) {
	var times []time.Duration
	for b.Loop() {
		if err := between(); err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		if err := do(); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(begun))
	}
	slices.Sort(times)
	for _, p := range []int{50, 99} {
		b.ReportMetric(times[len(times)*p/100].Seconds()*1000, fmt.Sprintf("p%d-ms", p))
	}
}

// BenchmarkMark is what the mark adds to each commit.
func BenchmarkMark(b *testing.B) {
	dir, identity := benchDir(b), newIdentity()
	err := writeMark(dir, identity, 0)
	m, fault := openMark(dir, identity)
	if err = errors.Join(err, fault); err != nil {
		b.Fatal(err)
	}
	defer m.close()
	last := int64(0)
	for b.Loop() {
		last++
		m.set(last)
	}
}
