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
	"sync"
	"sync/atomic"
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

// span is how many columns are summed at once: with the rows of a call they stay in the second-level cache.
const span = 512

// stripe is how many rows a goroutine takes at once.
const stripe = 8

// Add adds sign · Σ_r x_r x_rᵀ for the rows x_r of x [len(x)/N, N], in their order, with so many goroutines. sign is 1
// or −1. Several calls with a part of the rows each give the same bits as one.
func (s *Sym) Add(x []float64, sign float64, workers int) {
	if s.Data == nil {
		s.Data = make([]float64, Size(s.N))
	}
	s.add(x, s.N, 0, sign, workers)
}

// add is Add for rows [first,N) and columns from first on. Element j of x_r is x[r·width+j−first].
func (s *Sym) add(x []float64, width, first int, sign float64, workers int) {
	n := len(x) / width
	share(workers, (s.N-first+stripe-1)/stripe, func(part int) {
		top := first + part*stripe
		for from := top; from < s.N; from += span {
			to := min(from+span, s.N)
			for i := top; i < min(top+stripe, s.N, to); i++ {
				left := max(i, from)
				dst := s.Row(i)[left-i : to-i]
				r := 0
				for ; r+4 <= n; r += 4 {
					four(dst, x[r*width+left-first:], x[(r+1)*width+left-first:], x[(r+2)*width+left-first:],
						x[(r+3)*width+left-first:],
						sign*x[r*width+i-first], sign*x[(r+1)*width+i-first], sign*x[(r+2)*width+i-first], sign*x[(r+3)*width+i-first])
				}
				for ; r < n; r++ {
					Axpy(dst, x[r*width+left-first:], sign*x[r*width+i-first])
				}
			}
		}
	})
}

// Axpy adds a·x to dst.
func Axpy(dst, x []float64, a float64) {
	x = x[:len(dst)]
	for j := range dst {
		dst[j] += float64(a * x[j])
	}
}

// four is Axpy of a, b, c and d, one after the other.
func four(dst, x, y, z, w []float64, a, b, c, d float64) {
	x, y, z, w = x[:len(dst)], y[:len(dst)], z[:len(dst)], w[:len(dst)]
	for j, v := range dst {
		v += float64(a * x[j])
		v += float64(b * y[j])
		v += float64(c * z[j])
		dst[j] = v + float64(d*w[j])
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

// panel is how many rows of a factor are finished before the rest hears of them. No result depends on it.
const panel = 64

// Cholesky replaces a positive definite matrix by its factor U, upper triangular with A = UᵀU. It looks at ctx now and
// then, and after an error the matrix holds neither.
func (s *Sym) Cholesky(ctx context.Context, workers int) error {
	x := make([]float64, panel*s.N)
	for first := 0; first < s.N; first += panel {
		if err := ctx.Err(); err != nil {
			return err
		}
		last := min(first+panel, s.N)
		for i := first; i < last; i++ {
			row := s.Row(i)
			if !(row[0] > 0) || math.IsInf(row[0], 1) {
				return fmt.Errorf("%w: pivot %d of %d is %v", ErrIndefinite, i+1, s.N, row[0])
			}
			root := math.Sqrt(row[0])
			for j := range row {
				row[j] /= root
			}
			row[0] = root
			for k := i + 1; k < last; k++ {
				Axpy(s.Row(k), row[k-i:], -row[k-i])
			}
		}
		if width := s.N - last; width > 0 {
			for i := first; i < last; i++ {
				copy(x[(i-first)*width:][:width], s.Row(i)[last-i:])
			}
			s.add(x[:(last-first)*width], width, last, -1, workers)
		}
	}
	return nil
}

// together is how many right sides read a row of a factor at once.
const together = 8

// Solve replaces each row b of x [len(x)/N, N] by the solution of A·v = b, where s is the factor of A that
// [Sym.Cholesky] made.
func (s *Sym) Solve(x []float64, workers int) {
	n := len(x) / s.N
	share(workers, (n+together-1)/together, func(part int) {
		rows := x[part*together*s.N : min((part+1)*together, n)*s.N]
		s.forward(rows)
		for r := s.N - 1; r >= 0; r-- {
			row := s.Row(r)
			for v := rows; len(v) > 0; v = v[s.N:] {
				v[r] = (v[r] - Dot(row[1:], v[r+1:s.N])) / row[0]
			}
		}
	})
}

// Forward replaces each row b of x [len(x)/N, N] by the solution of Uᵀ·v = b, where s is the factor U.
func (s *Sym) Forward(x []float64, workers int) {
	n := len(x) / s.N
	share(workers, (n+together-1)/together, func(part int) {
		s.forward(x[part*together*s.N : min((part+1)*together, n)*s.N])
	})
}

// forward takes four rows of the factor at once where it can: each element is still summed in the order of the rows.
func (s *Sym) forward(rows []float64) {
	r := 0
	for ; r+4 < s.N; r += 4 {
		a, b, c, d := s.Row(r), s.Row(r+1), s.Row(r+2), s.Row(r+3)
		for v := rows; len(v) > 0; v = v[s.N:] {
			v[r] /= a[0]
			v[r+1] = (v[r+1] - float64(v[r]*a[1])) / b[0]
			v[r+2] = (v[r+2] - float64(v[r]*a[2]) - float64(v[r+1]*b[1])) / c[0]
			v[r+3] = (v[r+3] - float64(v[r]*a[3]) - float64(v[r+1]*b[2]) - float64(v[r+2]*c[1])) / d[0]
			four(v[r+4:s.N], a[4:], b[3:], c[2:], d[1:], -v[r], -v[r+1], -v[r+2], -v[r+3])
		}
	}
	for ; r < s.N; r++ {
		row := s.Row(r)
		for v := rows; len(v) > 0; v = v[s.N:] {
			v[r] /= row[0]
			Axpy(v[r+1:s.N], row[1:], -v[r])
		}
	}
}

// Times sets each row of dst [n,N] to the product of the matrix and that row of x [n,N].
func (s *Sym) Times(dst, x []float64, workers int) {
	n := len(x) / s.N
	clear(dst)
	share(workers, n, func(r int) {
		from, to := x[r*s.N:][:s.N], dst[r*s.N:][:s.N]
		for i := range s.N {
			row := s.Row(i)
			to[i] += Dot(row, from[i:])
			Axpy(to[i+1:], row[1:], from[i])
		}
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
