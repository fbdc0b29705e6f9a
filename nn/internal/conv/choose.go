package conv

import "ocl/internal/kernel"

// The algorithms of 3×3 convolutions of stride 1. Convolutions of other kinds have one algorithm.
const (
	Table    = "table"    // for each convolution the faster one, by winogradTable
	Direct   = "direct"   // the definition
	Winograd = "winograd" // F(4×2, 3×3) wherever it fits
)

// WinogradRounding is how many times larger the rounding error of Winograd's algorithm may be than that of the direct
// one. Tests check it.
const WinogradRounding = 4.5

// winogradTable is the fewest channels, input and output, for which Winograd's algorithm is faster, as measured with
// `ocl bench engine --layers`. It is a table and not a timing at start-up, so that a run can be
// repeated bit for bit; it is the same for all kernel sets.
var winogradTable = struct{ planes, channelLast int }{16, 32}

// byWinograd decides for one convolution.
func (m *Maker) byWinograd(in, out Layout, w Window) bool {
	if m.Algorithm == Direct || !winogradFits(m.Set, in, out, w) {
		return false
	}
	least := winogradTable.planes
	if in.ChannelLast {
		least = winogradTable.channelLast
	}
	return m.Algorithm == Winograd || min(in.C, out.C) >= least
}

// winogradFits is false for other kinds of convolutions, for maps smaller than 4×4 pixels, in planes for maps
// of odd width or narrower than a vector, and for so few channels that a product has hardly anything to sum.
func winogradFits(s *kernel.Set, in, out Layout, w Window) bool {
	return w == Window{9, 1} && in.H >= 4 && in.W >= 4 && min(in.C, out.C) >= 8 &&
		(in.ChannelLast || in.W%2 == 0 && in.W >= s.Lanes)
}

// ByWinograd says whether a convolution uses Winograd's algorithm, and whether it could.
func ByWinograd(c Conv) (uses, could bool) {
	switch c.(type) {
	case *winogradChannelLast, *winogradPlanes:
		uses = true
	}
	return uses, c.(interface{ winogradFits() bool }).winogradFits()
}

func (c *core) winogradFits() bool { return winogradFits(c.s, c.in, c.out, c.w) }
