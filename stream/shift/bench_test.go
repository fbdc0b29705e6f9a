package shift

import "testing"

// BenchmarkApply measures each kind on 3×84×84 images at its largest survey strength, per image.
func BenchmarkApply(b *testing.B) {
	const images = 100
	for _, c := range []struct {
		name, kind string
		o          Options
	}{
		{"noise", "noise", Options{}}, {"occlusion", "occlusion", Options{}}, {"blur", "blur", Options{}},
		{"cross-image", "blur", Options{CrossImage: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			t := made([3]int{3, 84, 84}, images)
			pixels, _ := t.At(1, make([]uint8, t.size()))
			t.At = func(int, []uint8) ([]uint8, error) { return pixels, nil }
			strengths := Strengths(c.kind)
			c.o.Half = Train
			for b.Loop() {
				if _, err := Apply(b.Context(), t, []Step{{c.kind, strengths[len(strengths)-1]}}, c.o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*images), "µs/image")
		})
	}
}
