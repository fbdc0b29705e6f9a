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

// winogradTable says which passes are faster by Winograd's algorithm, as measured with `ocl bench engine --layers`
// (docs/benchmarks.md). It is a table and not a timing at start-up, so that a run can be repeated bit for bit; plain Go uses
// the column of avx2. The first row that fits a convolution holds.
var winogradTable = []struct {
	rows     bool
	channels int // at least so many, input and output
	set      map[string]winogradUse
}{
	{rows: true, channels: 32, set: map[string]winogradUse{"avx2": {true, true, true}, "avx512": {true, true, true}}},
	{rows: false, channels: 16, set: map[string]winogradUse{"avx2": {true, true, true}, "avx512": {true, true, true}}},
}

// winogradFor decides for one convolution.
func winogradFor(algorithm string, s *kernel.Set, in, out geom, w window) (use winogradUse) {
	set := s.Name
	if algorithm == direct || !winogradFits(s, in, out, w) {
		return use
	}
	if algorithm == winograd {
		return winogradUse{true, true, true}
	}
	if set == "generic" {
		set = "avx2"
	}
	for _, row := range winogradTable {
		if row.rows == in.rows && min(in.c, out.c) >= row.channels {
			return row.set[set]
		}
	}
	return use
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
	p := newPass(n, newPool(1), 1, true, &packs{})
	uses, could := 0, 0
	for _, c := range p.convs {
		switch u := c.conv.(type) {
		case *winogradRows:
			could++
			uses += u.use.count()
		case *winogradPlanes:
			could++
			uses += u.use.count()
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
	case 3 * could:
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
		errAlgorithm = UseConvolution(v)
	}
}

// UseConvolution sets the algorithm of the convolutions of networks made from now on: "direct", "winograd" or "table".
func UseConvolution(name string) error {
	switch name {
	case byTable, direct, winograd:
		algorithm = name
		return nil
	}
	return fmt.Errorf("nn: OCL_CONV: %q is unknown; want direct or winograd; unset it to have the faster one of each layer", name)
}

// CheckEnvironment returns an error when OCL_CONV names no algorithm.
func CheckEnvironment() error { return errAlgorithm }

// Convolution is the algorithm in use for networks made from now on: "table" unless OCL_CONV says otherwise.
func Convolution() string { return algorithm }
