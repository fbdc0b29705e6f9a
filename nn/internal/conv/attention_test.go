package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ocl/internal/kernel"
	"ocl/nn/internal/workers"
)

// attentionCases are tokens, tokens of the output, heads and the width of one.
var attentionCases = [][4]int{{1, 1, 1, 16}, {7, 7, 2, 32}, {50, 50, 3, 64}, {83, 83, 2, 16}, {83, 1, 2, 64},
	{257, 12, 1, 64}}

// tokensOf are two images of drawn tokens.
func tokensOf(r *rand.Rand, channels, tokens int) (Layout, []float32) {
	g := ChannelLastLayout(channels, tokens, 1, 2)
	x := make([]float32, g.Size())
	for img := range 2 {
		for t := range tokens {
			for c := range channels {
				x[g.PixelAt(img, t, 0)+c] = float32(r.NormFloat64())
			}
		}
	}
	return g, x
}

// TestAttention compares with the definition in float64. One worker and one image at a time give the same bits as three
// workers and both.
func TestAttention(t *testing.T) {
	for _, s := range kernel.Available() {
		for _, c := range attentionCases {
			t.Run(fmt.Sprint(s.Name, c), func(t *testing.T) {
				tokens, outs, heads, width := c[0], c[1], c[2], c[3]
				d := heads * width
				in, x := tokensOf(rand.New(rand.NewPCG(3, 5)), 3*d, tokens)
				out := ChannelLastLayout(d, outs, 1, 2)
				z := make([]float32, out.Size())
				team := workers.New(3)
				defer team.Close()
				(&Maker{Set: s, Workers: 3}).Attention(in, out, heads).Forward(team, z, x, 2)
				at := func(img, token, part, head, k int) float64 {
					return float64(x[in.PixelAt(img, token, 0)+part*d+head*width+k])
				}
				for img := range 2 {
					for head := range heads {
						for i := range outs {
							p, sum := make([]float64, tokens), 0.
							for j := range p {
								for k := range width {
									p[j] += at(img, i, 0, head, k) * at(img, j, 1, head, k)
								}
								p[j] = math.Exp(p[j] / math.Sqrt(float64(width)))
								sum += p[j]
							}
							for k := range width {
								want := 0.
								for j := range p {
									want += p[j] / sum * at(img, j, 2, head, k)
								}
								got := float64(z[out.PixelAt(img, i, 0)+head*width+k])
								if !(math.Abs(got-want) <= 3e-6) {
									t.Fatalf("image %d, head %d, token %d, value %d is %g; want %g", img, head, i, k, got, want)
								}
							}
						}
					}
				}
				alone := workers.New(1)
				one := make([]float32, out.Size())
				in.N, out.N = 1, 1
				a := (&Maker{Set: s, Workers: 1}).Attention(in, out, heads)
				a.Forward(alone, one, x, 1)
				a.Forward(alone, one[out.From(1):], x[in.From(1):], 1)
				if !slices.Equal(one, z) {
					t.Error("one worker and one image at a time give other bits")
				}
			})
		}
	}
}
