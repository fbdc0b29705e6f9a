package dense

import (
	"context"
	"math"
)

// Tridiagonal is a symmetric matrix [n,n] of which only the diagonal and the elements beside it are not 0. It has the
// eigenvalues of the matrix that [Sym.Tridiagonalise] made it of, and systems of it take n operations in place of n².
type Tridiagonal struct {
	Diagonal []float64 // [n]
	Beside   []float64 // [n−1], (i,i+1)
}

// parts is how many sums a product of a matrix and a vector is made of. It is fixed, so that no bit depends on the
// goroutines.
const parts = 8

// Tridiagonalise turns a symmetric matrix A into H·A·Hᵀ by n−2 reflections of Householder, and each row b of x
// [len(x)/N, N] into H·b. It looks at ctx now and then. A holds nothing afterwards.
//
// A reflection with v and β, p = β·A·v and w = p − ½·β·(v·p)·v makes A − v·wᵀ − w·vᵀ of A. That is done while the next
// product is summed: a pass over A each.
func (s *Sym) Tridiagonalise(ctx context.Context, x []float64, workers int) (*Tridiagonal, error) {
	n := s.N
	t := &Tridiagonal{Diagonal: make([]float64, n), Beside: make([]float64, max(n-1, 0))}
	// v and w are 0 before the first reflection
	v, w, next, sums := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, parts*n)
	for k := range n {
		if k%panel == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		row := s.Row(k)
		reflected(row, v[k:], w[k:], v[k], w[k])
		t.Diagonal[k] = row[0]
		if k == n-1 {
			return t, nil
		}
		beta := 0.0
		copy(next[k+1:], row[1:])
		t.Beside[k], beta = householder(next[k+1:])
		share(workers, parts, func(part int) {
			p := sums[part*n:][:n]
			clear(p[k+1:])
			for i := k + 1 + part; i < n; i += parts {
				row := s.Row(i)
				reflected(row, v[i:], w[i:], v[i], w[i])
				if beta != 0 {
					p[i] += symmetric(p[i+1:], row[1:], next[i+1:], next[i]) + float64(row[0]*next[i])
				}
			}
		})
		v, next = next, v
		clear(w[k+1:])
		if beta == 0 {
			clear(v[k+1:])
			continue
		}
		for part := range parts {
			for i, p := range sums[part*n:][k+1 : n] {
				w[k+1+i] += p
			}
		}
		for i := range w[k+1:] {
			w[k+1+i] *= beta
		}
		Axpy(w[k+1:], v[k+1:], -beta/2*Dot(v[k+1:], w[k+1:]))
		share(workers, len(x)/n, func(r int) {
			b := x[r*n:][k+1 : n]
			Axpy(b, v[k+1:], -beta*Dot(v[k+1:], b))
		})
	}
	return t, nil
}

// reflected subtracts a·w + b·v from a row.
func reflected(row, v, w []float64, a, b float64) {
	v, w = v[:len(row)], w[:len(row)]
	for j := range row {
		row[j] -= float64(a*w[j]) + float64(b*v[j])
	}
}

// symmetric adds a·row to dst and returns row·x: what a row above the diagonal gives to a product, once for itself and
// once for its column.
func symmetric(dst, row, x []float64, a float64) (sum float64) {
	dst, x = dst[:len(row)], x[:len(row)]
	for j, v := range row {
		dst[j] += float64(a * v)
		sum += float64(v * x[j])
	}
	return sum
}

// householder turns x into v with (I − β·v·vᵀ)·x = (first, 0, …). β is 0 where x has that form.
func householder(x []float64) (first, beta float64) {
	rest := Dot(x[1:], x[1:])
	if rest == 0 {
		return x[0], 0
	}
	first = -math.Copysign(math.Sqrt(float64(x[0]*x[0])+rest), x[0])
	x[0] -= first
	return first, 2 / (float64(x[0]*x[0]) + rest)
}

// InverseTrace is the sum of the diagonal of the inverse of t + ridge·I, which is positive definite. An element of it
// is 1/(d_i + e_i − a_i), where a is the diagonal, and d and e are the pivots of elimination from the first row on and
// from the last.
func (t *Tridiagonal) InverseTrace(ridge float64) (trace float64) {
	n := len(t.Diagonal)
	down := t.pivots(ridge)
	up := 0.0
	for i := n - 1; i >= 0; i-- {
		up = t.Diagonal[i] + ridge - up // e_i
		trace += 1 / (down[i] + (up - t.Diagonal[i] - ridge))
		if i > 0 {
			up = float64(t.Beside[i-1]*t.Beside[i-1]) / up
		}
	}
	return trace
}

// pivots are those of elimination from the first row on.
func (t *Tridiagonal) pivots(ridge float64) []float64 {
	d := make([]float64, len(t.Diagonal))
	for i, a := range t.Diagonal {
		d[i] = a + ridge
		if i > 0 {
			d[i] -= float64(t.Beside[i-1]*t.Beside[i-1]) / d[i-1]
		}
	}
	return d
}

// Solve replaces each row b of x [len(x)/n, n] by the solution of (t + ridge·I)·v = b, where t + ridge·I is positive
// definite.
func (t *Tridiagonal) Solve(x []float64, ridge float64, workers int) {
	n := len(t.Diagonal)
	d := t.pivots(ridge)
	share(workers, len(x)/n, func(r int) {
		b := x[r*n:][:n]
		for i := 1; i < n; i++ {
			b[i] -= float64(t.Beside[i-1] / d[i-1] * b[i-1])
		}
		b[n-1] /= d[n-1]
		for i := n - 2; i >= 0; i-- {
			b[i] = (b[i] - float64(t.Beside[i]*b[i+1])) / d[i]
		}
	})
}
