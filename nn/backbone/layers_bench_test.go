package backbone

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"ocl/nn"
)

// BenchmarkLayers computes features as [BenchmarkFeatures] does, and prints the least time that each layer took for a
// picture, and how many operations a second that is, two for each multiply-add.
func BenchmarkLayers(b *testing.B) {
	for _, a := range architectures {
		b.Run(a.name, func(b *testing.B) {
			net, err := decode(drawn(a.name, 224, 1000, 1).text(b), nn.DefaultEngine())
			if err != nil {
				b.Fatal(err)
			}
			for _, n := range []int{1, 32} {
				for _, workers := range []int{1, 2} {
					b.Run(fmt.Sprintf("%d/workers=%d", n, workers), func(b *testing.B) { layerTimes(b, net, workers, n) })
				}
			}
		})
	}
}

// layerTimes is compute with a clock.
func layerTimes(b *testing.B, net *Backbone, workers, n int) {
	w := net.NewWorkspace(workers, n)
	defer w.Close()
	pixels, p := photos(n, 224), w.plan
	least := make([]time.Duration, len(p.ops))
	for i := range least {
		least[i] = math.MaxInt64
	}
	timed := func(i, img, images int) {
		start := time.Now()
		p.ops[i].run(w, img, images)
		least[i] = min(least[i], time.Since(start)/time.Duration(images))
	}
	for b.Loop() {
		for at := 0; at < n; at += p.group {
			m := min(p.group, n-at)
			for img := range m {
				w.pixels = pixels[(at+img)*3*p.side*p.side:]
				w.at = 0
				w.team.Run(w, p.side)
				for i := range p.early {
					timed(i, img, 1)
				}
			}
			for i := p.early; i < len(p.ops); i++ {
				timed(i, 0, m)
			}
		}
	}
	var all time.Duration
	var table strings.Builder
	for i, o := range p.ops {
		if o.kind == logitsLayer {
			continue
		}
		all += least[i]
		fmt.Fprintf(&table, "%-36s %4d x %3d*%3d -> %4d x %3d*%3d  %8.3f ms  %6.1f GFLOP/s\n", o.name, o.in.C, o.in.H, o.in.W,
			o.out.C, o.out.H, o.out.W, least[i].Seconds()*1e3, 2*float64(net.net.work(o.layer))/least[i].Seconds()/1e9)
	}
	b.Logf("\n%sall layers %.3f ms a picture", &table, all.Seconds()*1e3)
}
