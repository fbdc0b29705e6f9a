package nn

import (
	"fmt"
	"os"

	"ocl/internal/kernel"
)

// The algorithms of 3×3 convolutions of stride 1. Convolutions of other kinds have one algorithm.
const (
	byTable  = "table"    // for each convolution the faster one, by winogradTable
	direct   = "direct"   // the definition
	winograd = "winograd" // F(4×2, 3×3) wherever it fits
)

// winogradTable is the fewest channels, input and output, for which Winograd's algorithm is faster, as measured with `ocl bench
// engine --layers` (docs/benchmarks.md). It is a table and not a timing at start-up, so that a run can be repeated bit for
// bit; plain Go follows avx2.
var winogradTable = map[string]struct{ planes, rows int }{
	"avx2":    {16, 32},
	"avx512":  {16, 32},
	"generic": {16, 32},
}

// byWinograd decides for one convolution.
func byWinograd(algorithm string, s *kernel.Set, in, out geom, w window) bool {
	if algorithm == direct || !winogradFits(s, in, out, w) {
		return false
	}
	least := winogradTable[s.Name].planes
	if in.rows {
		least = winogradTable[s.Name].rows
	}
	return algorithm == winograd || min(in.c, out.c) >= least
}

// winogradFits leaves out convolutions of other kinds, maps below 4×4 pixels, in planes those of odd width or narrower than a
// vector, and so few channels that a product has hardly anything to sum.
func winogradFits(s *kernel.Set, in, out geom, w window) bool {
	return w == window{9, 1} && in.h >= 4 && in.w >= 4 && min(in.c, out.c) >= 8 &&
		(in.rows || in.w%2 == 0 && in.w >= s.Lanes)
}

// ConvolutionName is the algorithm of the network's 3×3 convolutions of stride 1: "winograd" where all that Winograd's
// algorithm fits use it, "direct" where none does, "table" for both kinds.
func (n *Network) ConvolutionName() string {
	p := newPass(n, newPool(1), 1, 1, &packs{})
	uses, could := 0, 0
	for _, c := range p.convs {
		switch u := c.conv.(type) {
		case *winogradRows, *winogradPlanes:
			uses++
			could++
		case *rowsUnit:
			if winogradFits(n.set, u.in, u.out, u.w) {
				could++
			}
		case *planesUnit:
			if winogradFits(n.set, u.in, u.out, u.w) {
				could++
			}
		}
	}
	switch uses {
	case 0:
		return direct
	case could:
		return winograd
	}
	return byTable
}

var (
	algorithm    = byTable
	errAlgorithm error
)

func init() {
	if v := os.Getenv("OCL_CONV"); v != "" {
		if err := UseConvolution(v); err != nil {
			errAlgorithm = fmt.Errorf("nn: OCL_CONV: %w; unset it to have the faster one of each layer", err)
		}
	}
}

// UseConvolution sets the algorithm of the convolutions of networks made from now on: "direct", "winograd" or "table".
func UseConvolution(name string) error {
	if err := convolutionIsKnown(name); err != nil {
		return err
	}
	algorithm = name
	return nil
}

// CheckEnvironment returns an error when OCL_CONV names no algorithm.
func CheckEnvironment() error { return errAlgorithm }

// Convolution is the algorithm in use for networks made from now on: "table" unless OCL_CONV says otherwise.
func Convolution() string { return algorithm }
