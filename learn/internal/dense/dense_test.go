package dense

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"ocl/internal/kernel"
	"ocl/rng"
)

func drawn(seed uint64, n int) []float64 {
	src := rng.New(seed, "dense")
	x := make([]float64, n)
	for i := range x {
		x[i] = 2*src.Float64() - 1
	}
	return x
}

// sizes have rows for no whole strip, panel or span, and for several.
var sizes = []int{1, 2, 7, 65, 200, 2*span*width + 3}

// gram is the sum of the outer products of so many drawn rows.
func gram(n, rows, workers int) *Sym {
	s := &Sym{N: n}
	s.Add(drawn(uint64(n), n*rows), 1, workers)
	return s
}

// forSets runs a test with every kernel set of this machine.
func forSets(t *testing.T, test func(t *testing.T)) {
	before := set
	defer func() { set = before }()
	for _, set = range kernel.Available() {
		t.Run(set.Name, test)
	}
}

// sameBits says whether two numbers have the same bits, or both are a NaN.
func sameBits(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// allSizes are all small ones and sizes.
func allSizes() (all []int) {
	for n := range 70 {
		all = append(all, n+1)
	}
	return append(all, sizes...)
}

// TestAdd: the sum is that of the definition, product after product in the order of the rows, to the bit, whatever the
// kernel set, the goroutines and the calls; with rows that begin anywhere in memory, and some that are not finite.
func TestAdd(t *testing.T) {
	forSets(t, func(t *testing.T) {
		for _, n := range allSizes() {
			for _, rows := range []int{13, 70} {
				if rows > 13 && n > 200 {
					continue
				}
				x := drawn(uint64(n), n*rows+1)[1:]
				if n%3 == 0 {
					x[n], x[n*rows/2], x[n*rows-1] = math.NaN(), math.Inf(1), math.Inf(-1)
				}
				want := make([]float64, 0, Size(n))
				for i := range n {
					for j := i; j < n; j++ {
						sum := 0.0
						for r := range rows {
							sum += float64(x[r*n+i] * x[r*n+j])
						}
						want = append(want, sum)
					}
				}
				for _, workers := range []int{1, 2, 5} {
					for _, cut := range []int{1, 2, 7, 13, 70} {
						s := &Sym{N: n}
						for part := range slices.Chunk(x, cut*n) {
							s.Add(part, 1, workers)
						}
						if !slices.EqualFunc(s.Data, want, sameBits) {
							t.Errorf("%d×%d, %d goroutines, %d rows a call: other bits than the definition", n, n, workers, cut)
						}
					}
				}
			}
		}
	})
}

// TestDefinitions: factors, solutions and products are those of their definitions to the bit, every element summed in
// the order of the rows, whatever the kernel set, the goroutines and the number of systems.
func TestDefinitions(t *testing.T) {
	forSets(t, func(t *testing.T) {
		for _, n := range append(allSizes(), 131, 192) {
			if n > 200 {
				continue
			}
			s := gram(n, n+5, 2)
			s.Scale(0.5, 0.1)
			u := s.Clone()
			at := func(i, j int) *float64 { return &u.Row(i)[j-i] }
			for k := range n {
				for j := k; j < n; j++ {
					for i := range k {
						*at(k, j) -= float64(*at(i, k) * *at(i, j))
					}
				}
				root := math.Sqrt(*at(k, k))
				for j := range u.Row(k) {
					u.Row(k)[j] /= root
				}
				*at(k, k) = root
			}
			for _, systems := range []int{1, 3, 16, 37, 70} {
				b := drawn(9, n*systems)
				if n%3 == 0 && systems == 37 {
					b[0], b[5*n], b[21*n-1] = math.NaN(), math.Inf(1), math.Inf(-1)
				}
				half := slices.Clone(b)
				for v := range slices.Chunk(half, n) {
					for k := range n {
						for i := range k {
							v[k] -= float64(*at(i, k) * v[i])
						}
						v[k] /= *at(k, k)
					}
				}
				whole := slices.Clone(half)
				for v := range slices.Chunk(whole, n) {
					for k := n - 1; k >= 0; k-- {
						sum := 0.0
						for j := k + 1; j < n; j++ {
							sum += float64(*at(k, j) * v[j])
						}
						v[k] = (v[k] - sum) / *at(k, k)
					}
				}
				product := make([]float64, n*systems)
				for v := range systems {
					from, to := b[v*n:][:n], product[v*n:][:n]
					for i := range n {
						to[i] += Dot(s.Row(i), from[i:])
						Axpy(to[i+1:], s.Row(i)[1:], from[i])
					}
				}
				for _, workers := range []int{1, 2, 5} {
					what := fmt.Sprintf("%d×%d, %d systems, %d goroutines", n, n, systems, workers)
					got := s.Clone()
					if err := got.Cholesky(context.Background(), workers); err != nil {
						t.Fatal(what, err)
					}
					if !slices.EqualFunc(got.Data, u.Data, sameBits) {
						t.Fatalf("%s: the factor has other bits than the definition", what)
					}
					x := slices.Clone(b)
					if got.Forward(x, workers); !slices.EqualFunc(x, half, sameBits) {
						t.Fatalf("%s: Forward gives other bits than the definition", what)
					}
					x = slices.Clone(b)
					if got.Solve(x, workers); !slices.EqualFunc(x, whole, sameBits) {
						t.Fatalf("%s: Solve gives other bits than the definition", what)
					}
					x = slices.Clone(b)
					if s.Times(x, x, workers); !slices.EqualFunc(x, product, sameBits) {
						t.Fatalf("%s: Times gives other bits than the definition", what)
					}
				}
			}
		}
	})
}

// TestSolve: a factor solves as gonum's does, U is the factor of A, and no bit depends on the goroutines or on how many
// systems are solved at once.
func TestSolve(t *testing.T) {
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := gram(n, n+5, 2)
			s.Scale(0.5, 0.1)
			full := mat.NewSymDense(n, nil)
			for i := range n {
				for j, v := range s.Row(i) {
					full.SetSym(i, i+j, v)
				}
			}
			var reference mat.Cholesky
			if !reference.Factorize(full) {
				t.Fatal("gonum finds no factor")
			}
			const systems = 11
			b := drawn(9, n*systems)
			var first, factor []float64
			for _, workers := range []int{1, 2, 5} {
				u := s.Clone()
				if err := u.Cholesky(context.Background(), workers); err != nil {
					t.Fatal(err)
				}
				got := slices.Clone(b)
				u.Solve(got, workers)
				if first == nil {
					first, factor = got, u.Data
				}
				alone := slices.Clone(b[:n])
				u.Solve(alone, workers)
				if !slices.Equal(u.Data, factor) || !slices.Equal(got, first) || !slices.Equal(alone, first[:n]) {
					t.Errorf("%d goroutines: other bits than with one", workers)
				}
				half := slices.Clone(b)
				u.Forward(half, workers)
				for r := range systems { // ‖U⁻ᵀb‖² = bᵀA⁻¹b
					want := Dot(b[r*n:][:n], first[r*n:][:n])
					if sum := Dot(half[r*n:][:n], half[r*n:][:n]); !(math.Abs(sum-want) <= 1e-9*math.Abs(want)) {
						t.Errorf("system %d: ‖U⁻ᵀb‖² is %v, want %v", r, sum, want)
					}
				}
			}
			product := make([]float64, n*systems)
			s.Times(product, first, 3)
			for r := range systems {
				var want mat.VecDense
				if err := reference.SolveVecTo(&want, mat.NewVecDense(n, slices.Clone(b[r*n:][:n]))); err != nil {
					t.Fatal(err)
				}
				for i := range n {
					if got, want := first[r*n+i], want.AtVec(i); !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
						t.Fatalf("system %d, element %d: %v, and gonum has %v", r, i, got, want)
					}
					if diff := product[r*n+i] - b[r*n+i]; !(math.Abs(diff) <= 1e-9) {
						t.Fatalf("system %d, element %d: A·v is off by %v", r, i, diff)
					}
				}
			}
		})
	}
}

// TestProcessors: the number of processors that Go uses changes no bit.
func TestProcessors(t *testing.T) {
	var want []float64
	for _, processors := range []int{1, 2, 3} {
		before := runtime.GOMAXPROCS(processors)
		s := gram(130, 150, runtime.GOMAXPROCS(0))
		err := s.Cholesky(context.Background(), runtime.GOMAXPROCS(0))
		x := drawn(1, 3*130)
		s.Solve(x, runtime.GOMAXPROCS(0))
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = x
		}
		if !slices.Equal(x, want) {
			t.Errorf("%d processors: other bits than with one", processors)
		}
	}
}

func TestCholeskyRefuses(t *testing.T) {
	for name, data := range map[string][]float64{
		"singular": {1, 1, 1}, "negative": {-1, 0, 1}, "indefinite": {1, 2, 1}, "NaN": {math.NaN(), 0, 1},
		"infinite": {math.Inf(1), 0, 1},
	} {
		s := &Sym{N: 2, Data: data}
		if err := s.Cholesky(context.Background(), 1); !errors.Is(err, ErrIndefinite) {
			t.Errorf("%s: error %v, want ErrIndefinite", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := gram(5, 9, 1).Cholesky(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{768, 1280, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, x := &Sym{N: n}, drawn(1, 64*n)
			for b.Loop() {
				s.Add(x, 1, runtime.GOMAXPROCS(0))
			}
			b.ReportMetric(float64(b.N)*64*2*float64(Size(n))/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func BenchmarkCholesky(b *testing.B) {
	for _, n := range []int{768, 1280, 2000, 4000} {
		s := gram(n, min(n, 2000), 2)
		s.Scale(1, 10)
		measured := func(name string, flops float64, f func(*Sym) error) {
			b.Run(fmt.Sprint(name, n), func(b *testing.B) {
				for b.Loop() {
					if err := f(s.Clone()); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*flops*math.Pow(float64(n), 3)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
		measured("", 1.0/3, func(s *Sym) error { return s.Cholesky(context.Background(), runtime.GOMAXPROCS(0)) })
		if n > 2000 {
			continue
		}
		measured("tridiagonal ", 4.0/3, func(s *Sym) error {
			_, err := s.Tridiagonalise(context.Background(), nil, runtime.GOMAXPROCS(0))
			return err
		})
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, n := range []int{1280, 2000} {
		u := gram(n, n, 2)
		u.Scale(1, 10)
		if err := u.Cholesky(context.Background(), 2); err != nil {
			b.Fatal(err)
		}
		for _, systems := range []int{1, 100} {
			b.Run(fmt.Sprint(n, " ", systems), func(b *testing.B) {
				x := drawn(1, n*systems)
				for b.Loop() {
					u.Solve(x, runtime.GOMAXPROCS(0))
				}
				b.ReportMetric(float64(b.N)*float64(systems)*4*float64(Size(n))/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// TestTridiagonal: a tridiagonal matrix has the eigenvalues of the one it was made of; systems of it and its inverse
// trace are those of that matrix; and no bit depends on the goroutines. Sizes 1 and 2, a matrix that is tridiagonal and
// one of a low rank are among them.
func TestTridiagonal(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 65, 200} {
		for _, rows := range []int{0, 1, n/2 + 1, n + 5} {
			t.Run(fmt.Sprint(n, " of rank ", min(rows, n)), func(t *testing.T) {
				s := gram(n, rows, 2)
				full := mat.NewSymDense(n, nil)
				for i := range n {
					for j, v := range s.Row(i) {
						full.SetSym(i, i+j, v)
					}
				}
				const systems, ridge = 3, 0.25
				b := drawn(9, n*systems)
				u, direct := s.Clone(), slices.Clone(b)
				u.Scale(1, ridge)
				if err := u.Cholesky(context.Background(), 2); err != nil {
					t.Fatal(err)
				}
				u.Solve(direct, 2)
				var first []float64
				for _, workers := range []int{1, 2, 5} {
					x, a := slices.Clone(b), s.Clone()
					tri, err := a.Tridiagonalise(context.Background(), x, workers)
					if err != nil {
						t.Fatal(err)
					}
					all := slices.Concat(tri.Diagonal, tri.Beside, x)
					if first == nil {
						first = all
					} else if !slices.Equal(first, all) {
						t.Fatalf("%d goroutines: other bits than with one", workers)
					}
					solved := slices.Clone(x)
					tri.Solve(solved, ridge, workers)
					for r := range systems { // bᵀ(A+λI)⁻¹b, and ‖(A+λI)⁻¹b‖²
						row := func(v []float64) []float64 { return v[r*n:][:n] }
						near(t, Dot(row(x), row(solved)), Dot(row(b), row(direct)))
						near(t, Dot(row(solved), row(solved)), Dot(row(direct), row(direct)))
					}
					var eigen mat.EigenSym
					if !eigen.Factorize(full, false) {
						t.Fatal("gonum finds no eigenvalues")
					}
					trace, square := 0.0, 0.0
					for _, v := range eigen.Values(nil) {
						trace += 1 / (v + ridge)
						square += v * v
					}
					near(t, tri.InverseTrace(ridge), trace)
					near(t, Dot(tri.Diagonal, tri.Diagonal)+2*Dot(tri.Beside, tri.Beside), square)
				}
			})
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := gram(7, 9, 1).Tridiagonalise(ctx, nil, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: error %v", err)
	}
}

func near(t *testing.T, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Errorf("%v, want %v", got, want)
	}
}
