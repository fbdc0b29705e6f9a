package learner_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// computing makes each learner without gradient, for inputs of d values.
func computing(t testing.TB, name string, d, classes, workers int) ocl.Learner {
	t.Helper()
	c := arch.Config{Channels: d, Height: 1, Width: 1, Classes: classes}
	build := arch.Linear
	if name == "ranpac" || name == "recursive" || name == "randumb" {
		c.Hidden, c.Waves, build = []int{3 * d}, name == "randumb", arch.MLP
	}
	net, err := build(c, rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(workers)
	t.Cleanup(ws.Close)
	switch name {
	case "ncm", "normalised":
		l := learner.NewClassMeans(net, ws)
		l.Normalise = name == "normalised"
		return l
	case "slda", "slda shrunk", "slda running":
		l := learner.NewSLDA(net, ws)
		if l.Running = name == "slda running"; name != "slda" {
			l.Shrinkage = 1e-4
		}
		return l
	}
	if name == "randumb" {
		l := learner.NewRanDumb(net, ws)
		l.Gamma, l.Seed = 0.5/float64(d), 1
		return l
	}
	l := learner.NewRanPAC(net, ws)
	l.Ridge, l.Recursive, l.Seed = 1, strings.HasPrefix(name, "recursive"), 1
	return l
}

var computed = []string{"ncm", "normalised", "slda", "slda shrunk", "slda running", "ranpac", "ridge", "recursive",
	"recursive ridge", "randumb"}

// gaussians draws n samples of classes with means of their own and a covariance that all share.
func gaussians(seed uint64, n, d, classes int, distance float64) ocl.Batch {
	of := rng.New(1, "gaussians") // means and covariance are those of all seeds
	means, mix := make([]float64, classes*d), make([]float64, d*d)
	for i := range means {
		means[i] = distance * of.NormFloat64()
	}
	for i := range mix {
		mix[i] = of.NormFloat64() / math.Sqrt(float64(d))
	}
	src := rng.New(seed, "gaussians/samples")
	b := ocl.Batch{X: tensor.New(n, d, 1, 1), Y: make([]ocl.Label, n)}
	z := make([]float64, d)
	for r := range n {
		y := src.IntN(classes)
		for i := range z {
			z[i] = src.NormFloat64()
		}
		for i := range d {
			v := means[y*d+i]
			for j, e := range z {
				v += float64(mix[i*d+j] * e)
			}
			b.X.Row(r)[i] = float32(v)
		}
		b.Y[r] = ocl.Label(y)
	}
	return b
}

func observeAll(t *testing.T, l ocl.Learner, b ocl.Batch, size int) {
	t.Helper()
	for at := 0; at < b.Len(); at += size {
		if _, err := l.Observe(context.Background(), b.Rows(at, min(at+size, b.Len()))); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.(ocl.Preparer).Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func params(l ocl.Learner) []float32 { return slices.Clone(l.(learner.Open).Parts().Net.Params()) }

// apart is the largest difference of two vectors, by the largest value that is no bias of an unseen class.
func apart(a, b []float32) float64 {
	most, scale := 0.0, 0.0
	for i, v := range a {
		if v > -1e29 {
			scale = max(scale, math.Abs(float64(v)))
		}
		most = max(most, math.Abs(float64(v)-float64(b[i])))
	}
	return most / scale
}

// TestComputedBatches: the cut into batches moves no bit of what is summed, and the recursive solution by no more than
// rounding. An evaluation in between, saving and loading, and the number of workers move no bit of anything.
func TestComputedBatches(t *testing.T) {
	b := gaussians(1, 350, 12, 5, 1)
	for _, name := range computed {
		t.Run(name, func(t *testing.T) {
			whole := computing(t, name, 12, 6, 1)
			observeAll(t, whole, b, 7)
			want := params(whole)
			for _, size := range []int{1, 50} {
				l := computing(t, name, 12, 6, 1)
				observeAll(t, l, b, size)
				d := apart(want, params(l))
				if bound := map[bool]float64{true: 1e-5, false: 0}[name == "recursive" ||
					name == "recursive ridge"]; !(d <= bound) {
					t.Errorf("batches of %d: the network differs by %g, want at most %g", size, d, bound)
				}
			}
			l := computing(t, name, 12, 6, 2)
			observeAll(t, l, b.Rows(0, 203), 7)
			saved, after := learnertest.State(t, l), computing(t, name, 12, 6, 3)
			if err := after.LoadState(saved.Decoder()); err != nil {
				t.Fatal(err)
			}
			learnertest.CheckSame(t, "loaded", learnertest.State(t, after), saved)
			observeAll(t, after, b.Rows(203, 350), 7)
			if !slices.Equal(params(after), want) {
				t.Error("evaluated, saved and loaded between, with other workers: other bits")
			}
			dst := make([]ocl.Label, 350)
			if err := whole.Predict(dst, b.X); err != nil || slices.Contains(dst, 5) {
				t.Errorf("a class that was never seen is predicted (%v)", err)
			}
		})
	}
}

// TestRanPACSolvers: the recursive solution is that of the sums, as far as a condition of G + λ·I below 1e7 and weights
// of float32 allow.
func TestRanPACSolvers(t *testing.T) {
	b := gaussians(1, 400, 12, 5, 1)
	for _, pair := range [][2]string{{"ranpac", "recursive"}, {"ridge", "recursive ridge"}} {
		sums, recursive := computing(t, pair[0], 12, 5, 1), computing(t, pair[1], 12, 5, 1)
		observeAll(t, sums, b, 10)
		observeAll(t, recursive, b, 10)
		if d := apart(params(sums), params(recursive)); !(d <= 1e-6) {
			t.Errorf("%s: the weights differ by %g", pair[1], d)
		}
	}
}

// TestClassMeansByDefinition compares the scores with the squared distances to the class means: 2·μ·x − ‖μ‖² = ‖x‖² −
// ‖x − μ‖². With unit lengths it is the cosine.
func TestClassMeansByDefinition(t *testing.T) {
	const d, classes = 5, 3
	b := gaussians(4, 60, d, classes, 1)
	for _, name := range []string{"ncm", "normalised"} {
		l := computing(t, name, d, classes, 1)
		observeAll(t, l, b, 9)
		parts := l.(learner.Open).Parts()
		logits := parts.Net.Predict(parts.WS, b.X).Logits
		scaled := func(x []float64) []float64 {
			if sum := 0.0; name == "normalised" {
				for _, v := range x {
					sum += v * v
				}
				for i := range x {
					x[i] /= math.Sqrt(sum)
				}
			}
			return x
		}
		row := func(r int) []float64 {
			x := make([]float64, d)
			for i, v := range b.X.Row(r) {
				x[i] = float64(v)
			}
			return x
		}
		for k := range classes {
			mean, n := make([]float64, d), 0.0
			for r, y := range b.Y {
				if int(y) == k {
					for i, v := range scaled(row(r)) {
						mean[i] += v
					}
					n++
				}
			}
			for i := range mean {
				mean[i] /= n
			}
			mean = scaled(mean)
			for r := range b.Len() {
				want := 0.0
				for i, v := range row(r) {
					if want += mean[i] * v; name == "ncm" {
						want += mean[i]*v - mean[i]*mean[i]
					}
				}
				if got := float64(logits.Row(r)[k]); !(math.Abs(got-want) <= 1e-5*max(1, math.Abs(want))) {
					t.Fatalf("%s: sample %d, class %d: score %v, want %v", name, r, k, got, want)
				}
			}
		}
	}
}

// TestRidgeByDefinition compares the weights of ranpac without a projection with (Σ x·xᵀ + λ·I)⁻¹·Σ x·yᵀ, solved by
// elimination, for a λ that matters.
func TestRidgeByDefinition(t *testing.T) {
	const d, classes, ridge = 4, 3, 7
	b := gaussians(5, 50, d, classes, 1)
	for _, name := range []string{"ridge", "recursive ridge"} {
		l := computing(t, name, d, classes, 1)
		l.(*learner.RanPAC).Ridge = ridge
		observeAll(t, l, b, 9)
		net := l.(learner.Open).Parts().Net
		list := net.Info().Named
		w := list[len(list)-2]
		for k := range classes {
			gram, right := make([]float64, d*d), make([]float64, d)
			for i := range d {
				gram[i*d+i] = ridge
			}
			for r, y := range b.Y {
				x := b.X.Row(r)
				for i := range d {
					for j := range d {
						gram[i*d+j] += float64(x[i]) * float64(x[j])
					}
					if int(y) == k {
						right[i] += float64(x[i])
					}
				}
			}
			for i, want := range gauss(gram, right) {
				if got := float64(net.Params()[w.Offset+i*w.Out+k]); !(math.Abs(got-want) <= 1e-6) {
					t.Errorf("%s: weight %d of class %d is %v, want %v", name, i, k, got, want)
				}
			}
		}
	}
}

// TestSLDAByDefinition compares the scores with the formula of the paper, computed sample after sample, and with that
// of the pooled covariance.
func TestSLDAByDefinition(t *testing.T) {
	const d, classes = 2, 2
	b := gaussians(3, 40, d, classes, 1)
	var mean [classes][d]float64
	var n [classes]float64
	var cov [d][d]float64
	for r, y := range b.Y {
		t := float64(r)
		x := b.X.Row(r)
		var dev [d]float64
		for i := range d {
			dev[i] = float64(x[i]) - mean[y][i]
		}
		n[y]++
		for i := range d {
			for j := range d {
				cov[i][j] = (t*cov[i][j] + t/(t+1)*dev[i]*dev[j]) / (t + 1)
			}
			mean[y][i] += dev[i] / n[y]
		}
	}
	var pooled [d][d]float64
	for r, y := range b.Y {
		for i := range d {
			for j := range d {
				di, dj := float64(b.X.Row(r)[i])-mean[y][i], float64(b.X.Row(r)[j])-mean[y][j]
				pooled[i][j] += di * dj / float64(b.Len()-classes)
			}
		}
	}
	for name, cov := range map[string][d][d]float64{"slda running": cov, "slda shrunk": pooled} {
		l := computing(t, name, d, classes, 1)
		observeAll(t, l, b, 9)
		const eps = 1e-4
		p, q, r := (1-eps)*cov[0][0]+eps, (1-eps)*cov[0][1], (1-eps)*cov[1][1]+eps
		parts := l.(learner.Open).Parts()
		logits := parts.Net.Predict(parts.WS, b.X).Logits
		for i := range b.Len() {
			for k := range classes {
				m := mean[k]
				w := [d]float64{(r*m[0] - q*m[1]) / (p*r - q*q), (p*m[1] - q*m[0]) / (p*r - q*q)}
				x := b.X.Row(i)
				want := w[0]*float64(x[0]) + w[1]*float64(x[1]) - (w[0]*m[0]+w[1]*m[1])/2
				if got := float64(logits.Row(i)[k]); !(math.Abs(got-want) <= 1e-5*max(1, math.Abs(want))) {
					t.Fatalf("%s: sample %d, class %d: score %v, want %v", name, i, k, got, want)
				}
			}
		}
	}
}

// TestSLDAChoosesByCrossValidation compares the classifier with one whose λ is found by the words of the definition: of
// the doubles of the oracle's λ the one for which (H·Y − h·Y)/(1−h), with the hat matrix H of all samples and h its
// mean diagonal, correlates most with Y.
func TestSLDAChoosesByCrossValidation(t *testing.T) {
	const d, classes = 12, 4
	for _, n := range []int{9, 30, 300} {
		b := gaussians(7, n, d, classes, 0.5)
		mean, counts := make([]float64, d), make([]float64, classes)
		means := make([]float64, classes*d)
		for r, y := range b.Y {
			counts[y]++
			for i, v := range b.X.Row(r) {
				mean[i] += float64(v) / float64(n)
				means[int(y)*d+i] += float64(v)
			}
		}
		for i := range means {
			means[i] /= counts[i/d]
		}
		within, total := mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
		x, y := mat.NewDense(n, d, nil), mat.NewDense(n, classes, nil)
		for r, label := range b.Y {
			around, centred := mat.NewVecDense(d, nil), mat.NewVecDense(d, nil)
			for i, v := range b.X.Row(r) {
				around.SetVec(i, float64(v)-means[int(label)*d+i])
				centred.SetVec(i, float64(v)-mean[i])
			}
			within.SymRankOne(within, 1, around)
			total.SymRankOne(total, 1, centred)
			x.SetRow(r, centred.RawVector().Data)
			for k := range classes {
				y.Set(r, k, -counts[k]/float64(n))
			}
			y.Set(r, int(label), 1-counts[label]/float64(n))
		}
		var c, square mat.Dense
		freedom := float64(n - classes)
		c.Scale(1/freedom, within)
		square.Mul(&c, &c)
		tr, tr2 := mat.Trace(&c), mat.Trace(&square)
		rho := ((1-2.0/d)*tr2 + tr*tr) / ((freedom + 1 - 2.0/d) * (tr2 - tr*tr/d))
		best, ridge := math.Inf(-1), 0.0
		for lambda := rho / (1 - rho) * tr * freedom / d; lambda < 128*mat.Trace(total)/d; lambda *= 2 {
			var inverse, hat, left, own, predicted, product mat.Dense
			inverse.CloneFrom(total)
			for i := range d {
				inverse.Set(i, i, inverse.At(i, i)+lambda)
			}
			if err := inverse.Inverse(&inverse); err != nil {
				t.Fatal(err)
			}
			hat.Mul(x, &inverse)
			left.Mul(&hat, x.T())
			h := (1 + mat.Trace(&left)) / float64(n)
			predicted.Mul(&left, y)
			own.Scale(h, y)
			predicted.Sub(&predicted, &own)
			product.MulElem(&predicted, y)
			if r := mat.Sum(&product) / mat.Norm(&predicted, 2) / mat.Norm(y, 2); r > best {
				best, ridge = r, lambda
			}
		}
		l := computing(t, "slda", d, classes, 1)
		observeAll(t, l, b, 7)
		net := l.(learner.Open).Parts().Net
		list := net.Info().Named
		w := list[len(list)-2]
		a := make([]float64, d*d)
		for i := range d {
			for j := range d {
				a[i*d+j] = within.At(i, j) / freedom
			}
			a[i*d+i] += ridge / freedom
		}
		for k := range classes {
			for i, want := range gauss(slices.Clone(a), slices.Clone(means[k*d:][:d])) {
				if got := float64(net.Params()[w.Offset+i*w.Out+k]); !(math.Abs(got-want) <= 1e-5*max(1, math.Abs(want))) {
					t.Fatalf("%d samples: weight %d of class %d is %v, want %v", n, i, k, got, want)
				}
			}
		}
	}
}

// TestSLDAFewSamples: one sample in all, one a class, and samples that are all alike give a classifier that is right on
// them.
func TestSLDAFewSamples(t *testing.T) {
	b := gaussians(1, 60, 5, 3, 2)
	var first []int // a sample of each class
	for k := range ocl.Label(3) {
		first = append(first, slices.Index(b.Y, k))
	}
	alike := ocl.Batch{X: tensor.New(6, 5, 1, 1), Y: make([]ocl.Label, 6)}
	for name, some := range map[string]ocl.Batch{"one sample": b.Rows(0, 1), "one a class": picked(b, first),
		"alike": alike, "two alike": alike.Rows(0, 2)} {
		l := computing(t, "slda", 5, 4, 1)
		observeAll(t, l, some, 4)
		dst := make([]ocl.Label, some.Len())
		if err := l.Predict(dst, some.X); err != nil || !slices.Equal(dst, some.Y) {
			t.Errorf("%s: labels %v, want %v (%v)", name, dst, some.Y, err)
		}
	}
}

// picked are some rows of a batch.
func picked(b ocl.Batch, rows []int) (some ocl.Batch) {
	some.X = tensor.New(append([]int{0}, b.X.Shape[1:]...)...)
	for _, r := range rows {
		some.X.Data, some.Y = append(some.X.Data, b.X.Row(r)...), append(some.Y, b.Y[r])
		some.X.Shape[0]++
	}
	return some
}

// TestSLDAOfBefore: a state that has the covariance of the paper goes on with the pooled one, from the same classifier.
// The other way round it is refused.
func TestSLDAOfBefore(t *testing.T) {
	b := gaussians(1, 400, 6, 4, 0.5)
	running, pooled := computing(t, "slda running", 6, 4, 1), computing(t, "slda shrunk", 6, 4, 1)
	observeAll(t, running, b.Rows(0, 300), 10)
	if err := pooled.LoadState(learnertest.State(t, running).Decoder()); err != nil {
		t.Fatal(err)
	}
	pooled.(*learner.SLDA).Unprepare()
	want, got := make([]ocl.Label, 400), make([]ocl.Label, 400)
	if err := errors.Join(running.Predict(want, b.X), pooled.(ocl.Preparer).Prepare(context.Background()),
		pooled.Predict(got, b.X)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Error("the classifier of the loaded state labels samples otherwise")
	}
	observeAll(t, pooled, b.Rows(300, 400), 10)
	if err := running.LoadState(learnertest.State(t, pooled).Decoder()); err == nil ||
		!strings.Contains(err.Error(), "covariance=pooled") {
		t.Errorf("sums of the pooled covariance for the running one: error %v", err)
	}
}

// TestSLDAReachesBayes: where the classes are Gaussians of one covariance, no classifier is better than the one by the
// true means and covariance. SLDA is within a point of it on the same samples.
func TestSLDAReachesBayes(t *testing.T) {
	const d, classes = 10, 8
	train, test := gaussians(1, 8000, d, classes, 0.25), gaussians(2, 4000, d, classes, 0.25)
	right := func(b ocl.Batch, label []ocl.Label) float64 {
		n := 0
		for i, y := range b.Y {
			if label[i] == y {
				n++
			}
		}
		return float64(n) / float64(b.Len())
	}
	l := computing(t, "slda", d, classes, 1)
	observeAll(t, l, train, 10)
	dst := make([]ocl.Label, test.Len())
	if err := l.Predict(dst, test.X); err != nil {
		t.Fatal(err)
	}
	got, bayes := right(test, dst), right(test, bayesLabels(test, d, classes, 0.25))
	if t.Logf("SLDA %.4f, Bayes %.4f", got, bayes); !(math.Abs(got-bayes) <= 0.01) || bayes < 0.5 || bayes > 0.97 {
		t.Errorf("SLDA has %.4f, and the best classifier %.4f", got, bayes)
	}
}

// bayesLabels are the classes of the nearest true mean, in the coordinates z = mix⁻¹·x in which the samples spread
// alike in all directions.
func bayesLabels(b ocl.Batch, d, classes int, distance float64) []ocl.Label {
	of := rng.New(1, "gaussians")
	means, mix := make([]float64, classes*d), make([]float64, d*d)
	for i := range means {
		means[i] = distance * of.NormFloat64()
	}
	for i := range mix {
		mix[i] = of.NormFloat64() / math.Sqrt(float64(d))
	}
	labels := make([]ocl.Label, b.Len())
	for r := range labels {
		best := math.Inf(1)
		for k := range classes {
			rhs := make([]float64, d)
			for i := range rhs {
				rhs[i] = float64(b.X.Row(r)[i]) - means[k*d+i]
			}
			sum := 0.0
			for _, v := range gauss(slices.Clone(mix), rhs) {
				sum += v * v
			}
			if sum < best {
				best, labels[r] = sum, ocl.Label(k)
			}
		}
	}
	return labels
}

// gauss solves a·z = b by elimination with the largest pivot.
func gauss(a, b []float64) []float64 {
	n := len(b)
	for c := range n {
		p := c
		for r := c + 1; r < n; r++ {
			if math.Abs(a[r*n+c]) > math.Abs(a[p*n+c]) {
				p = r
			}
		}
		for j := range n {
			a[c*n+j], a[p*n+j] = a[p*n+j], a[c*n+j]
		}
		b[c], b[p] = b[p], b[c]
		for r := c + 1; r < n; r++ {
			f := a[r*n+c] / a[c*n+c]
			for j := c; j < n; j++ {
				a[r*n+j] -= f * a[c*n+j]
			}
			b[r] -= f * b[c]
		}
	}
	for r := n - 1; r >= 0; r-- {
		for j := r + 1; j < n; j++ {
			b[r] -= a[r*n+j] * b[j]
		}
		b[r] /= a[r*n+r]
	}
	return b
}

// TestNothingIsForgotten: a learner that sees half of the classes first and the others later ends where one ends that
// sees them in any other order, so what was learned first counts as much as what came last. For slda with the running
// covariance, whose first sample of a class depends on the order, labels are compared.
func TestNothingIsForgotten(t *testing.T) {
	b := gaussians(1, 2000, 8, 6, 1)
	pick := func(classes ...ocl.Label) ocl.Batch {
		var rows []int
		for r, y := range b.Y {
			if slices.Contains(classes, y) {
				rows = append(rows, r)
			}
		}
		return picked(b, rows)
	}
	first, second := pick(0, 1, 2), pick(3, 4, 5)
	for _, name := range computed {
		labels, weights := [2][]ocl.Label{}, [2][]float32{}
		for i, order := range [][]ocl.Batch{{first, second}, {second, first}} {
			l := computing(t, name, 8, 6, 1)
			for _, task := range order {
				observeAll(t, l, task, 10)
			}
			labels[i], weights[i] = make([]ocl.Label, first.Len()), params(l)
			if err := l.Predict(labels[i], first.X); err != nil {
				t.Fatal(err)
			}
		}
		same := 0
		for i, y := range labels[0] {
			if labels[1][i] == y {
				same++
			}
		}
		if d := apart(weights[0], weights[1]); name != "slda running" && !(d <= 1e-5) ||
			float64(same) < 0.99*float64(first.Len()) {
			t.Errorf("%s: seen first or last, %d of %d samples have the same label, and the weights differ by %g", name, same,
				first.Len(), d)
		}
	}
}

// TestComputedOptions: where classes overlap, normalise and shrinkage change predictions.
func TestComputedOptions(t *testing.T) {
	b := gaussians(1, 300, 6, 4, 0.3)
	labels := func(l ocl.Learner) []ocl.Label {
		observeAll(t, l, b, 10)
		dst := make([]ocl.Label, b.Len())
		if err := l.Predict(dst, b.X); err != nil {
			t.Fatal(err)
		}
		return dst
	}
	much := computing(t, "slda", 6, 4, 1)
	much.(*learner.SLDA).Shrinkage = 1
	if slices.Equal(labels(computing(t, "slda", 6, 4, 1)), labels(much)) {
		t.Error("slda: the same predictions with a shrinkage of 1")
	}
	if slices.Equal(labels(computing(t, "ncm", 6, 4, 1)), labels(computing(t, "normalised", 6, 4, 1))) {
		t.Error("ncm: the same predictions with normalise")
	}
}

// TestComputedRefuses: numbers that are none are an error before anything changes.
func TestComputedRefuses(t *testing.T) {
	for _, name := range computed {
		l := computing(t, name, 4, 3, 1)
		b := gaussians(1, 20, 4, 3, 1)
		observeAll(t, l, b, 10)
		before := learnertest.State(t, l)
		for _, v := range []float64{math.NaN(), math.Inf(1)} {
			bad := b.Clone()
			bad.X.Data[7] = float32(v)
			if _, err := l.Observe(context.Background(), bad); !errors.Is(err, ocl.ErrDiverged) {
				t.Errorf("%s: %v in a batch: error %v, want ocl.ErrDiverged", name, v, err)
			}
			if err := l.Predict(make([]ocl.Label, 20), bad.X); !errors.Is(err, ocl.ErrDiverged) {
				t.Errorf("%s: %v in an image to predict: error %v, want ocl.ErrDiverged", name, v, err)
			}
		}
		learnertest.CheckSame(t, name+", after batches that it refused", learnertest.State(t, l), before)
	}
}

// TestComputedOverflows: sums beyond float32 are an error of Prepare, and no classifier.
func TestComputedOverflows(t *testing.T) {
	l := computing(t, "ncm", 4, 3, 1)
	b := gaussians(1, 20, 4, 3, 1)
	for i := range b.X.Data {
		b.X.Data[i] = 1e30
	}
	if _, err := l.Observe(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	if err := l.(ocl.Preparer).Prepare(context.Background()); !errors.Is(err, ocl.ErrDiverged) {
		t.Errorf("means of 1e30: error %v, want ocl.ErrDiverged", err)
	}
}

// TestComputedStates: a state replaces all that a learner has observed, and one of other features is refused.
func TestComputedStates(t *testing.T) {
	for _, name := range computed {
		b := gaussians(1, 20, 4, 3, 1)
		l, used := computing(t, name, 4, 3, 1), computing(t, name, 4, 3, 1)
		for batch, l := range map[int]ocl.Learner{20: l, 7: used} {
			if _, err := l.Observe(context.Background(), b.Rows(0, batch)); err != nil {
				t.Fatal(err)
			}
		}
		saved := learnertest.State(t, l)
		if err := used.LoadState(saved.Decoder()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		learnertest.CheckSame(t, name+", loaded after other batches", learnertest.State(t, used), saved)
		if err := computing(t, name, 5, 3, 1).LoadState(saved.Decoder()); err == nil ||
			!strings.Contains(err.Error(), "another configuration") {
			t.Errorf("%s: a state of 4 features for a learner of 5: error %v", name, err)
		}
	}
}

// BenchmarkComputed learns 50,000 embeddings of 768 values and 100 classes in batches of 10, with an evaluation of
// 10,000 after each of ten tasks: `go test ./learn/learner -run '^$' -bench Computed -benchtime 1x`.
func BenchmarkComputed(b *testing.B) {
	const d, classes, tasks, batch = 768, 100, 10, 10
	src := rng.New(1, "embeddings")
	x := tensor.New(10_000, d, 1, 1)
	for i := range x.Data {
		x.Data[i] = src.Float32()
	}
	for _, name := range []string{"ncm", "slda", "ranpac 2000"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				l := computing(b, name, d, classes, 2)
				if name == "ranpac 2000" {
					net, err := arch.MLP(arch.Config{Channels: d, Height: 1, Width: 1, Classes: classes, Hidden: []int{2000}},
						rng.New(1, "net"))
					if err != nil {
						b.Fatal(err)
					}
					ws := net.NewWorkspace(2)
					b.Cleanup(ws.Close)
					ranpac := learner.NewRanPAC(net, ws)
					ranpac.Ridge, ranpac.Seed = 1e4, 1
					l = ranpac
				}
				y, dst := make([]ocl.Label, batch), make([]ocl.Label, x.Dim(0))
				for task := range tasks {
					for at := 0; at < 5000; at += batch {
						for i := range y {
							y[i] = ocl.Label(task*classes/tasks + (at+i)%(classes/tasks))
						}
						from := (task%2)*5000 + at
						if _, err := l.Observe(context.Background(), ocl.Batch{X: x.Rows(from, from+batch), Y: y}); err != nil {
							b.Fatal(err)
						}
					}
					if err := errors.Join(l.(ocl.Preparer).Prepare(context.Background()), l.Predict(dst, x)); err != nil {
						b.Fatal(fmt.Errorf("task %d: %w", task, err))
					}
				}
			}
		})
	}
}
