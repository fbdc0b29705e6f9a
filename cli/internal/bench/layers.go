package bench

import (
	"slices"
	"strings"
)

// profiled is the number of steps behind a breakdown by layer.
const profiled = 10

// products are the kinds of work that do a layer's multiply-adds once each.
var products = []string{"forward", "input gradient", "weight gradient"}

// layers profiles some steps. The marks cost a look at the clock each, some hundred a step.
func (r *rig) layers(peak float64) Layers {
	r.ws.EnableProfile()
	for range profiled {
		r.once()
	}
	flops := r.layerFLOPs()
	l := Layers{Size: r.size}
	total := 0.0
	for _, t := range r.ws.Profile() {
		p := LayerPart{Layer: strings.TrimSuffix(t.Layer, ".weight"), Work: t.Work, MS: t.Time.Seconds() * 1e3 / profiled}
		if n := flops[t.Layer]; n > 0 && slices.Contains(products, t.Work) {
			p.GFLOPS = float64(n) * 2 * batch / p.MS / 1e6
			p.PeakShare = shareOf(p.GFLOPS, peak)
		}
		l.Parts = append(l.Parts, p)
		total += p.MS
	}
	for i := range l.Parts {
		l.Parts[i].Share = l.Parts[i].MS / total
	}
	return l
}

// layerFLOPs are the floating-point operations of one image's forward pass by the name of the weights, 2 a
// multiply-add. Together they are the network's FLOPs: the map halves, rounded up, in stages 2 to 4, and the head has
// one position.
func (r *rig) layerFLOPs() map[string]int64 {
	flops := map[string]int64{}
	for _, p := range r.net.Info().Named {
		if p.In == 0 {
			continue // biases and batch norm
		}
		side := r.size
		switch {
		case strings.HasPrefix(p.Name, "linear"):
			side = 1
		case strings.HasPrefix(p.Name, "layer"):
			for range p.Name[len("layer")] - '1' {
				side = (side + 1) / 2
			}
		}
		flops[p.Name] = 2 * int64(p.In) * int64(p.Taps) * int64(p.Out) * int64(side) * int64(side)
	}
	return flops
}
