package kernel

// Kernels of float64. All sets give the bits of plain Go: a product is rounded before it is added, and sums run in one
// order. Only which NaN a result is may differ.

const (
	// DoubleRows is how many rows [Set.AddProducts] takes at once.
	DoubleRows = 4
	// DoubleWidth is how many float64 of each row are a strip.
	DoubleWidth = 16
)

// AddProducts adds to each row i of dst the n vectors of x, times the factors f [n,DoubleRows]:
//
//	dst[i][j] = ((dst[i][j] + f[0][i]·x[0][j]) + f[1][i]·x[1][j]) + …
//
// The rows are whole strips of DoubleWidth numbers, and x has n vectors of each strip, strip after strip: [strips, n,
// DoubleWidth]. A row may lie behind the vectors in the memory of x.
func (s *Set) AddProducts(dst *[DoubleRows][]float64, x, f []float64) {
	n, width := len(f)/DoubleRows, len(dst[0])
	if width%DoubleWidth != 0 || len(f)%DoubleRows != 0 {
		panic("kernel: products: a row is no whole strips, or a vector has not DoubleRows factors")
	}
	if n == 0 || width == 0 {
		return
	}
	for _, row := range dst {
		enough(len(row), width, "kernel: products: rows differ in length")
	}
	enough(len(x), n*width, "kernel: products: x is shorter than the rows want")
	if s.isa == generic {
		addProductsGeneric(dst, x, f)
	} else {
		s.isa.addProducts(&dst[0][0], &dst[1][0], &dst[2][0], &dst[3][0], &x[0], &f[0], width/DoubleWidth, n)
	}
}

// SumProducts writes dst[j] = ((f[0]·x[0][j]) + f[1]·x[1][j]) + … for j < DoubleWidth and x [len(f),DoubleWidth]. Sums
// begin at +0.
func (s *Set) SumProducts(dst, x, f []float64) {
	enough(len(dst), DoubleWidth, "kernel: products: dst is shorter than a strip")
	enough(len(x), len(f)*DoubleWidth, "kernel: products: x is shorter than f wants")
	switch {
	case len(f) == 0:
		clear(dst[:DoubleWidth])
	case s.isa == generic:
		sumProductsGeneric(dst, x, f)
	default:
		s.isa.sumProducts(&dst[0], &x[0], &f[0], len(f))
	}
}
