package conv

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ocl/internal/kernel"
	"ocl/nn/internal/workers"
)

// TestGroupsAreWholeTiles: the groups that a channel-last convolution is cut into fill the products' tiles of
// positions, but for the last one. What pads a tile is computed for nothing.
func TestGroupsAreWholeTiles(t *testing.T) {
	for _, s := range kernel.Available() {
		for _, in := range []Layout{ // of the survey's network at 32 and 84 pixels, and narrow ones
			ChannelLastLayout(80, 8, 8, 10), ChannelLastLayout(160, 4, 4, 10), ChannelLastLayout(160, 4, 4, 50),
			ChannelLastLayout(80, 21, 21, 10), ChannelLastLayout(160, 11, 11, 10), ChannelLastLayout(16, 4, 4, 1), ChannelLastLayout(1000, 8, 8, 2),
		} {
			c := newWinogradChannelLastConv(s, in, in, 1, scratch{})
			if c.group < 1 || c.group%kernel.ChannelLastTile != 0 {
				t.Errorf("%s, %d channels of %d×%d: groups of %d tiles; want a multiple of %d", s.Name, in.C, in.H, in.W, c.group, kernel.ChannelLastTile)
			}
			if most := winogradChannelLastBand / (4 * kernel.WinogradProducts * c.depth); c.group > max(most, kernel.ChannelLastTile) {
				t.Errorf("%s, %d channels of %d×%d: groups of %d tiles; at most %d fit the cache", s.Name, in.C, in.H, in.W, c.group, most)
			}
		}
	}
}

// TestSumsAreAddedUpEarly: if one block has all units, a weight gradient in planes needs memory for the sums of one product
// only; with several blocks, for those of each product. TestWinogradConvolutions compares both with the definition.
func TestSumsAreAddedUpEarly(t *testing.T) {
	const untouched = 12345
	team := workers.New(1)
	defer team.Close()
	for _, s := range kernel.Available() {
		for _, images := range []int{2, 24} { // one block, and more than one
			g := PlanesLayout(16, 16, 16, images)
			r := rand.New(rand.NewPCG(5, 6))
			x, y := randomMap(g, r), randomMap(g, r)
			grad := newWinogradPlanesGrad(s, g, g, 1, scratch{})
			sums := grad.apart[0].sums
			for i := range sums {
				sums[i] = untouched
			}
			grad.run(team, make([]float32, 16*9*16), y.b, x.b, images)
			once := grad.list.vecs <= grad.block
			if once != (images == 2) {
				t.Fatalf("%s: %d images have %d vectors in blocks of %d; the test wants one block and several", s.Name, images, grad.list.vecs, grad.block)
			}
			if kept := !slices.ContainsFunc(sums[grad.weights*s.Lanes:], func(v float32) bool { return v != untouched }); kept != once {
				t.Errorf("%s, %d images: only the first room is used: %v, want %v", s.Name, images, kept, once)
			}
		}
	}
}
