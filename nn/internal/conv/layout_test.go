package conv

import (
	"slices"
	"testing"

	"ocl/internal/kernel"
)

// TestPlanesBlocks: there is room in planes for what the kernels of every set write and read beyond the channels.
func TestPlanesBlocks(t *testing.T) {
	for _, s := range kernel.Available() {
		if !slices.Contains(planesBlocks[:], s.PlanesOut) || !slices.Contains(planesBlocks[:], s.GradOut) {
			t.Errorf("%s: blocks of %d outputs and of %d for gradients are not in planesBlocks", s.Name, s.PlanesOut, s.GradOut)
		}
	}
	for _, c := range []int{1, 3, 5, 10, 11, 20, 22, 160} {
		g := PlanesLayout(c, 15, 15, 2)
		f := phasesOf(g)
		for _, n := range planesBlocks {
			if room := c + g.pad; roundUp(c, n) > room {
				t.Errorf("%d channels: room for %d, and blocks of %d", c, room, n)
			}
			if room := f.C + f.pad; 3*c+roundUp(c, n) > room {
				t.Errorf("phases of %d channels: room for %d, and blocks of %d", c, room, n)
			}
		}
	}
}
