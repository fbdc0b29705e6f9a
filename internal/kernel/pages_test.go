//go:build unix

package kernel

import (
	"testing"

	"ocl/internal/pages"
)

// fenced makes arrays that end or begin at a protected page.
type fenced struct {
	t *testing.T
	e pages.Edge
}

func (f fenced) floats(n int) []float32 { return pages.Floats(f.t, n, f.e) }

func (f fenced) doubles(n int) []float64 { return pages.Float64s(f.t, n, f.e) }

func (f fenced) table(values ...int32) []int32 { return pages.Int32s(f.t, f.e, values...) }

// TestPages runs all kernels of each set of this machine with arrays at both edges: a call that reaches beyond one
// fails.
func TestPages(t *testing.T) {
	for family, calls := range kernelCalls {
		t.Run(family, func(t *testing.T) {
			forSets(t, func(t *testing.T, s *Set) {
				for _, e := range pages.Edges {
					t.Run(e.String(), func(t *testing.T) {
						calls(s, fenced{t, e}, func(what string, do func()) {
							t.Helper()
							if err := pages.Fault(do); err != nil {
								t.Errorf("%s: %v", what, err)
							}
						})
					})
				}
			})
		})
	}
}
