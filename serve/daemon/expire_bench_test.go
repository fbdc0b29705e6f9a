package daemon

import (
	"fmt"
	"testing"
	"time"

	"ocl/serve/journal"
)

// BenchmarkExpire applies the events by which 30,000 pictures come and are learned, to a book that knows fewer ids, so
// that each event lets go of one. ns/sample does not grow with their number where what is let go of is found at once.
func BenchmarkExpire(b *testing.B) {
	const pictures = 30_000
	for _, of := range []struct{ pictures, ids int }{{pictures / 10, 100}, {pictures, 1000}, {pictures, 10_000},
		{pictures, pictures}} {
		b.Run(fmt.Sprintf("%d of %d", of.ids, of.pictures), func(b *testing.B) {
			pixels := make([]byte, 3)
			for b.Loop() {
				k := newBook(len(pixels), bounds{Count: 1, Bytes: 1, Age: time.Hour, IDs: of.ids})
				add := func(e journal.Event) {
					e.Number = k.last + 1
					if _, err := k.enter(e, pixels); err != nil {
						b.Fatal(err)
					}
				}
				for i := range of.pictures {
					add(event(kindSample, fmt.Sprint(i), "", body{Label: "c"}, pixels))
					if i%10 == 9 {
						add(event(kindCut, "", "", body{N: 10}, nil))
						k.did()
					}
				}
				if len(k.samples) != of.ids {
					b.Fatalf("%d samples are known", len(k.samples))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*of.pictures), "ns/sample")
		})
	}
}
