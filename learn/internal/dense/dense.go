// Package dense solves symmetric linear systems in float64: sums of outer products, their Cholesky factor, and what
// follows from it. It is for learners that compute their classifier, and knows nothing of them. Start at [Sym].
//
// Every element is summed in one order, product after product, each rounded by itself. So results have the same bits
// for any number of goroutines, for any cut of the rows into calls, and on every machine. A library of linear algebra
// promises none of these.
package dense

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"ocl/internal/kernel"
)

// Sym is a symmetric matrix [N,N], of which the rows of the upper triangle lie one after the other: N, then N−1, …
// numbers. A matrix whose Data are nil is 0.
type Sym struct {
	N    int
	Data []float64 // [Size(N)]
}

// Size is how many numbers a symmetric matrix [n,n] has.
func Size(n int) int { return n * (n + 1) / 2 }

// Row is row i from the diagonal on: the elements (i,i) to (i,N−1).
func (s *Sym) Row(i int) []float64 {
	at := i*s.N - i*(i-1)/2
	return s.Data[at : at+s.N-i : at+s.N-i]
}

// Clone is a copy.
func (s *Sym) Clone() *Sym { return &Sym{N: s.N, Data: append([]float64(nil), s.Data...)} }

// Scale multiplies all elements by a factor and adds ridge to the diagonal.
func (s *Sym) Scale(factor, ridge float64) {
	for i := range s.N {
		row := s.Row(i)
		for j := range row {
			row[j] *= factor
		}
		row[0] += ridge
	}
}

// Trace is the sum of the diagonal.
func (s *Sym) Trace() (sum float64) {
	for i := range s.N {
		sum += s.Row(i)[0]
	}
	return sum
}

// Square is the trace of the square of the matrix: the sum of its squared elements.
func (s *Sym) Square() (sum float64) {
	for i := range s.N {
		row := s.Row(i)
		sum += float64(row[0]*row[0]) + 2*Dot(row[1:], row[1:])
	}
	return sum
}

// set runs the loops: the fastest of this machine, as all have the same bits. Tests try the others.
var set = kernel.Available()[0]

// Sizes of the parts that work is cut into. No result depends on them.
const (
	height = kernel.DoubleRows  // rows that are summed at once
	width  = kernel.DoubleWidth // columns of a strip
	span   = 32                 // strips that are summed at once: with panel rows they stay in the second-level cache
	panel  = 64                 // rows that are added at once, and of a factor finished before the rest hears of them
)

// Add adds sign · Σ_r x_r x_rᵀ for the rows x_r of x [len(x)/N, N], in their order, with so many goroutines. sign is 1
// or −1. Several calls with a part of the rows each give the same bits as one.
func (s *Sym) Add(x []float64, sign float64, workers int) {
	if s.Data == nil {
		s.Data = make([]float64, Size(s.N))
	}
	strips := make([]float64, stripsOf(s.N)*width*min(panel, len(x)/s.N))
	for ; len(x) > 0; x = x[min(panel*s.N, len(x)):] {
		n := min(panel, len(x)/s.N)
		share(workers, stripsOf(s.N), func(part int) {
			strip := strips[part*n*width:][:n*width]
			clear(strip) // what lies beyond the last column
			for r := range n {
				copy(strip[r*width:][:width], x[r*s.N+part*width:(r+1)*s.N])
			}
		})
		s.add(strips, n, 0, sign, workers)
	}
}

// stripsOf is how many strips have n columns.
func stripsOf(n int) int { return (n + width - 1) / width }

// add is Add for the rows and columns from first on. Of n rows x has width columns, strip after strip:
// [strips,n,width]. Numbers beyond the last column do not matter.
func (s *Sym) add(x []float64, n, first int, sign float64, workers int) {
	count, full := stripsOf(s.N-first), (s.N-first)/width
	share(workers, count, func(part int) { // a part has as many rows as the strip on its diagonal has columns
		top := first + part*width
		bottom := min(top+width, s.N)
		var factors [width / height][panel * height]float64
		for r := range n {
			for k, v := range x[(part*n+r)*width:][:width] {
				factors[k/height][r*height+k%height] = sign * v
			}
		}
		for from := part; from < count; from += span {
			to := min(from+span, count)
			for i := top; i < bottom; i += height {
				f := factors[(i-top)/height][:n*height]
				edge := func(strip int) { s.addEdge(i, min(i+height, bottom), first+strip*width, x[strip*n*width:], f) }
				if from == part {
					edge(part)
				}
				if from, to := max(from, part+1), min(to, full); from < to {
					var rows [height][]float64
					for k := range rows {
						rows[k] = s.Row(i + k)[first+from*width-i-k:][:(to-from)*width]
					}
					set.AddProducts(&rows, x[from*n*width:], f)
				}
				if to == count && part < full && full < count {
					edge(full)
				}
			}
		}
	})
}

// addEdge adds products to the rows [i,end), height at most, in the strip that begins at column left, of which they
// lack some numbers.
func (s *Sym) addEdge(i, end, left int, x, factors []float64) {
	var all [height * width]float64
	rows := rowsOf(all[:])
	each := func(move func(all, row []float64)) {
		for k := i; k < end; k++ {
			from := max(left, k)
			move(rows[k-i][from-left:], s.Row(k)[from-k:min(left+width, s.N)-k])
		}
	}
	each(func(all, row []float64) { copy(all, row) })
	set.AddProducts(&rows, x, factors)
	each(func(all, row []float64) { copy(row, all) })
}

// Axpy adds a·x to dst.
func Axpy(dst, x []float64, a float64) {
	x = x[:len(dst)]
	for j := range dst {
		dst[j] += float64(a * x[j])
	}
}

// Dot is Σ x_j y_j, in the order of j.
func Dot(x, y []float64) (sum float64) {
	y = y[:len(x)]
	for j, v := range x {
		sum += float64(v * y[j])
	}
	return sum
}

// ErrIndefinite is the error about a matrix that is not positive definite, as far as float64 can tell.
var ErrIndefinite = errors.New("the matrix is not positive definite")

// Cholesky replaces a positive definite matrix by its factor U, upper triangular with A = UᵀU. It looks at ctx now and
// then, and after an error the matrix holds neither.
func (s *Sym) Cholesky(ctx context.Context, workers int) error {
	x := make([]float64, stripsOf(s.N)*width*panel)
	for first := 0; first < s.N; first += panel {
		if err := ctx.Err(); err != nil {
			return err
		}
		last := min(first+panel, s.N)
		if err := s.triangle(first, last); err != nil {
			return err
		}
		n := last - first
		block := s.block(nil, first, last)
		share(workers, stripsOf(s.N-last), func(part int) {
			strip, from := x[part*n*width:][:n*width], last+part*width
			to := min(from+width, s.N)
			for i := range n {
				copy(strip[i*width:], s.Row(first + i)[from-first-i:to-first-i])
			}
			s.forward(strip, block, first, last)
			for i := range n {
				copy(s.Row(first + i)[from-first-i:to-first-i], strip[i*width:])
			}
		})
		if last < s.N {
			s.add(x, n, last, -1, workers)
		}
	}
	return nil
}

// triangle makes the rows [first,last) those of the factor, in their columns before last.
func (s *Sym) triangle(first, last int) error {
	for i := first; i < last; i++ {
		row := s.Row(i)[:last-i]
		if !(row[0] > 0) || math.IsInf(row[0], 1) {
			return fmt.Errorf("%w: pivot %d of %d is %v", ErrIndefinite, i+1, s.N, row[0])
		}
		root := math.Sqrt(row[0])
		for j := range row {
			row[j] /= root
		}
		row[0] = root
		for k := i + 1; k < last; k++ {
			Axpy(s.Row(k)[:last-k], row[k-i:], -row[k-i])
		}
	}
	return nil
}

// factors appends sign times the elements (r,k+i) for the rows r in [first,last) and i < height: [last-first,height],
// with zeros beyond the last column. first ≤ last ≤ k.
func (s *Sym) factors(f []float64, sign float64, first, last, k int) []float64 {
	old, more, have := len(f), (last-first)*height, min(height, s.N-k)
	f = slices.Grow(f, more)[:old+more]
	clear(f[old:])
	for to, at := f[old:], Size(s.N)-Size(s.N-first)+k-first; first < last; first++ {
		for i, v := range s.Data[at:][:have] {
			to[i] = sign * v
		}
		to, at = to[height:], at+s.N-first-1
	}
	return f
}

// block appends the negative factors of the rows [first,k) for k from first to last, in steps of height.
func (s *Sym) block(f []float64, first, last int) []float64 {
	for k := first; k < last; k += height {
		f = s.factors(f, -1, first, k, k)
	}
	return f
}

// forward solves Uᵀ·v = b in the rows [first,last) of a factor, of which f is the block. A strip has a column for each
// of its right sides: [last-first,width].
func (s *Sym) forward(strip, f []float64, first, last int) {
	for k := 0; k < last-first; k += height {
		rows := rowsOf(strip[k*width:])
		set.AddProducts(&rows, strip, f[:k*height])
		f = f[k*height:]
		for i := k; i < min(k+height, last-first); i++ {
			for r := k; r < i; r++ {
				Axpy(rows[i-k], rows[r-k], -s.Row(first + r)[i-r])
			}
			for j, root := 0, s.Row(first + i)[0]; j < width; j++ {
				rows[i-k][j] /= root
			}
		}
	}
}

// rowsOf are the first rows of a strip. Those that it lacks are of nobody.
func rowsOf(strip []float64) (rows [height][]float64) {
	var nobody []float64
	for i := range rows {
		if len(strip) == 0 {
			if nobody == nil {
				nobody = make([]float64, width)
			}
			rows[i] = nobody
			continue
		}
		rows[i], strip = strip[:width], strip[width:]
	}
	return rows
}

// Solve replaces each row b of x [len(x)/N, N] by the solution of A·v = b, where s is the factor of A that
// [Sym.Cholesky] made.
func (s *Sym) Solve(x []float64, workers int) {
	s.columns(x, x, workers, func(v []float64) {
		s.forwardOne(v)
		for r := s.N - 1; r >= 0; r-- {
			row := s.Row(r)
			v[r] = (v[r] - Dot(row[1:], v[r+1:])) / row[0]
		}
	}, func(strips [][]float64) {
		s.forwardAll(strips)
		var sums [width]float64
		for _, strip := range strips {
			for r := s.N - 1; r >= 0; r-- {
				row := s.Row(r)
				set.SumProducts(sums[:], strip[(r+1)*width:], row[1:])
				for j, sum := range sums {
					strip[r*width+j] = (strip[r*width+j] - sum) / row[0]
				}
			}
		}
	})
}

// Forward replaces each row b of x [len(x)/N, N] by the solution of Uᵀ·v = b, where s is the factor U.
func (s *Sym) Forward(x []float64, workers int) { s.columns(x, x, workers, s.forwardOne, s.forwardAll) }

func (s *Sym) forwardOne(v []float64) {
	for r := range s.N {
		row := s.Row(r)
		v[r] /= row[0]
		Axpy(v[r+1:], row[1:], -v[r])
	}
}

// forwardAll is forward of all rows, panel by panel: what a panel has finished is subtracted from the rows below.
func (s *Sym) forwardAll(strips [][]float64) {
	f := make([]float64, 0, panel*(panel+height))
	for first := 0; first < s.N; first += panel {
		last := min(first+panel, s.N)
		f = s.block(f[:0], first, last)
		for _, strip := range strips {
			s.forward(strip[first*width:last*width], f, first, last)
		}
		for k := last; k < s.N; k += height {
			f = s.factors(f[:0], -1, first, last, k)
			for _, strip := range strips {
				rows := rowsOf(strip[k*width:])
				set.AddProducts(&rows, strip[first*width:last*width], f)
			}
		}
	}
}

// together is how many strips of right sides read a row of a factor at once.
const together = 4

// few is below how many right sides strips would be too empty to pay.
const few = 4

// columns writes to dst what f makes of the rows of x [len(x)/N, N], which are columns of strips [N,width] there.
// Columns that x does not have are 0. Where rows are few, it calls one for each. dst may be x.
func (s *Sym) columns(dst, x []float64, workers int, one func(v []float64), f func(strips [][]float64)) {
	n := len(x) / s.N
	if n < few {
		copy(dst, x)
		share(workers, n, func(r int) { one(dst[r*s.N:][:s.N]) })
		return
	}
	count := stripsOf(n)
	each := max(1, min(together, count/max(1, workers)))
	share(workers, (count+each-1)/each, func(part int) {
		from, to := part*each*width, min((part+1)*each*width, n)
		strips := make([][]float64, stripsOf(to-from))
		all := make([]float64, len(strips)*s.N*width)
		for i := range strips {
			strips[i] = all[i*s.N*width:][:s.N*width]
		}
		for c := from; c < to; c++ {
			for r, v := range x[c*s.N:][:s.N] {
				strips[(c-from)/width][r*width+c%width] = v
			}
		}
		f(strips)
		for c := from; c < to; c++ {
			strip := strips[(c-from)/width]
			for r := range s.N {
				dst[c*s.N+r] = strip[r*width+c%width]
			}
		}
	})
}

// Times sets each row of dst [n,N] to the product of the matrix and that row of x [n,N]. dst may be x.
func (s *Sym) Times(dst, x []float64, workers int) {
	s.columns(dst, x, workers, func(v []float64) {
		product := make([]float64, s.N)
		for i, a := range v {
			row := s.Row(i)
			product[i] += Dot(row, v[i:])
			Axpy(product[i+1:], row[1:], a)
		}
		copy(v, product)
	}, func(strips [][]float64) {
		var f []float64
		products := make([][]float64, len(strips))
		for i := range products {
			products[i] = make([]float64, s.N*width)
		}
		for first := 0; first < s.N; first += panel { // what lies left of the diagonal
			last := min(first+panel, s.N)
			for k := first; k < s.N; k += height {
				f = s.factors(f[:0], 1, first, min(k, last), k)
				for p, strip := range strips {
					rows := rowsOf(products[p][k*width:])
					set.AddProducts(&rows, strip[first*width:min(k, last)*width], f)
					for i := k; i < min(k+height, last); i++ {
						for r := k; r < i; r++ {
							Axpy(rows[i-k], strip[r*width:], s.Row(r)[i-r])
						}
					}
				}
			}
		}
		var sums [width]float64
		for p, strip := range strips {
			for r := range s.N {
				set.SumProducts(sums[:], strip[r*width:], s.Row(r))
				Axpy(products[p][r*width:][:width], sums[:], 1)
			}
		}
		copy(strips, products)
	})
}

// Transposed returns the rows of x [n,width] as columns: [width,n].
func Transposed(x []float64, width int) []float64 {
	n := len(x) / width
	t := make([]float64, len(x))
	for r := range n {
		for i, v := range x[r*width:][:width] {
			t[i*n+r] = v
		}
	}
	return t
}

// share calls f for the parts 0 to n−1 with so many goroutines. Parts write to elements of their own.
func share(workers, n int, f func(part int)) {
	if workers = min(workers, n); workers <= 1 {
		for part := range n {
			f(part)
		}
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for part := int(next.Add(1)) - 1; part < n; part = int(next.Add(1)) - 1 {
				f(part)
			}
		})
	}
	all.Wait()
}
