package learner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"ocl"
	"ocl/internal/portable"
	"ocl/learn/calibrate"
	"ocl/learn/internal/dense"
	"ocl/nn/tensor"
)

// Calibration says how sure the answers of a learner may be. Nobody changes it, so any number of goroutines may use it.
type Calibration struct {
	*calibrate.Calibration
	// Normalise divides the logits of a sample by the length of its features.
	Normalise bool
	// Likeness gives the familiarity of features. Nil is the energy of the scores, T·ln Σ exp(s/T) (Liu et al. 2020,
	// Energy-based Out-of-distribution Detection).
	Likeness *Likeness
}

// Energy is the familiarity of a sample with the scores [K], as Scores makes them, where there is no Likeness.
func (c *Calibration) Energy(scores []float64) float64 { return energy(scores, c.Temperature) }

// Scores writes what the temperature divides to dst [K]: the logits [K], divided by the length of the features [D]
// where Normalise says so.
func (c *Calibration) Scores(dst []float64, logits, features []float32) {
	scale := 1.0
	if c.Normalise {
		if n := length(features); n > 0 {
			scale = 1 / n
		}
	}
	for k, v := range logits {
		dst[k] = float64(v) * scale
	}
}

// energy is T·ln Σ exp(s/T).
func energy(scores []float64, t float64) float64 {
	most := slices.Max(scores)
	sum := 0.0
	for _, v := range scores {
		sum += portable.Exp((v - most) / t)
	}
	return most + float64(t*portable.Log(sum))
}

// EnergyCalibration calibrates a network by the scores [n,K] of samples that it has not learned, and their right
// classes. See [calibrate.Fit] for errors.
func EnergyCalibration(scores []float64, labels []int) (*Calibration, error) {
	n := len(labels)
	none := make([]float64, n)
	found, err := calibrate.Fit(calibrate.Samples{Scores: scores, Labels: labels, Known: none})
	if err != nil {
		return nil, err
	}
	k := len(scores) / n
	for i := range labels { // which needs the temperature
		found.Known[i] = float32(energy(scores[i*k:][:k], found.Temperature))
	}
	slices.Sort(found.Known)
	return &Calibration{Calibration: found}, nil
}

// Likeness is how much nearer one class mean is to the features x of a sample than all are. With the cosines c_k of x
// and the class means μ_k in the metric Λ = A⁻¹ it is
//
//	max_k c_k − ½·(1/K)·Σ_k c_k      c_k = μ_k·Λ·x / √(μ_k·Λ·μ_k · x·Λ·x)
//
// With the Cholesky factor U of A and z = U⁻ᵀ·x, c_k is the cosine between z and U⁻ᵀ·μ_k.
type Likeness struct {
	Means  []float32  // [K,D]: U⁻ᵀ·μ_k, each of length 1 or 0
	factor *dense.Sym // U; nil is the identity
}

// Whitening is the matrix U⁻ᵀ [D,D] with z = U⁻ᵀ·x, row by row; nil is the identity. It is made for the caller.
func (l *Likeness) Whitening() []float32 {
	if l.factor == nil {
		return nil
	}
	d := l.factor.N
	columns := make([]float64, d*d)
	for i := range d {
		columns[i*d+i] = 1
	}
	l.factor.Forward(columns, 1) // row i is U⁻ᵀ·e_i, a column of the matrix
	m := make([]float32, d*d)
	for i := range d {
		for j := range d {
			m[j*d+i] = float32(columns[i*d+j])
		}
	}
	return m
}

// Of writes the familiarity of each row of features [n,D] to dst [n]. A row of zeros has 0.
func (l *Likeness) Of(dst []float64, features *tensor.Tensor) {
	all := make([]float64, len(features.Data))
	for j, v := range features.Data {
		all[j] = float64(v)
	}
	if l.factor != nil {
		l.factor.Forward(all, 1)
	}
	d := features.RowLen()
	for i := range dst {
		z := all[i*d:][:d]
		most, all := math.Inf(-1), 0.0
		for m := l.Means; len(m) > 0; m = m[d:] {
			sum := 0.0
			for j, v := range z {
				sum += float64(v * float64(m[j]))
			}
			most, all = max(most, sum), all+sum
		}
		dst[i] = cosine(stands(most, all, len(l.Means)/d), length(z))
	}
}

// stands is the likeness of a sample whose largest cosine is most, and whose n cosines have the sum all.
func stands(most, all float64, n int) float64 { return most - all/float64(2*n) }

// whitest is the largest number of features for which a metric is kept: its factor has D²/2 numbers, and each sample
// takes as many products. With more features the cosine is that of the features as they are.
const whitest = 2048

func (l *ClassMeans) rule() rule { return rule{normalise: l.Normalise, scores: l.leaveOut} }

func (l *SLDA) rule() rule {
	return rule{running: l.Running, factor: l.factorise, means: l.means, scores: l.leaveOut}
}

func (l *RanPAC) rule() rule {
	if l.Recursive {
		return rule{scores: l.leaveOutRecursive}
	}
	return rule{factor: l.factorise, scores: l.leaveOut}
}

// Calibrate implements [Calibrated].
func (l *ClassMeans) Calibrate(ctx context.Context) (*Calibration, error) {
	return l.calibrate(ctx, l.rule())
}

// Calibrate implements [Calibrated].
func (l *SLDA) Calibrate(ctx context.Context) (*Calibration, error) {
	return l.calibrate(ctx, l.rule())
}

// Calibrate implements [Calibrated].
func (l *RanPAC) Calibrate(ctx context.Context) (*Calibration, error) {
	return l.calibrate(ctx, l.rule())
}

// LeaveOut returns the scores [n,K] of samples that were observed with the labels of b, each as the learner without
// that sample gives them, with the ridge as it is. Column k is that of the k-th class that was observed, in rising
// order. A sample that cannot be left out, such as the only one of its class, has NaN. Prepare comes before it. It
// changes nothing.
func (l *SLDA) LeaveOut(ctx context.Context, b ocl.Batch) ([]float64, error) {
	if !l.ready {
		return nil, fmt.Errorf("learner: %s: no classifier is computed of the present sums. Call Prepare first", l.name)
	}
	x, err := l.features(b)
	if err != nil {
		return nil, fmt.Errorf("learner: %s: %w", l.name, err)
	}
	r := l.rule()
	u, means, err := l.whitened(ctx, r)
	if err != nil {
		return nil, err
	}
	k := len(l.labels)
	all := make([]float64, b.Len()*k)
	for i := range all {
		all[i] = math.NaN()
	}
	var rows, labels []int
	var once []float64
	for i, y := range b.Y {
		if at, known := slices.BinarySearch(l.labels, y); known && l.counts[at] > 1 {
			rows, labels, once = append(rows, i), append(labels, at), append(once, 1)
		}
	}
	if len(rows) == 0 {
		return all, nil
	}
	var some []float32
	for _, row := range rows {
		some = append(some, x.Row(row)...)
	}
	v := l.leave(r, u, means, some, labels, once)
	for i, row := range rows {
		if !v.bad[i] {
			copy(all[row*k:], v.scores[i*k:][:k])
		}
	}
	return all, nil
}

// rule is how a learner of sums computes scores, and leaves samples out of them.
type rule struct {
	normalise bool
	running   bool                                      // vectors of classes are means and no sums
	factor    func(context.Context) (*dense.Sym, error) // U; nil is the identity
	means     func() []float64                          // [K,D]; nil is the sums of the classes
	scores    func(*view)
}

// view has what leaving samples out needs. z is U⁻ᵀ·x, or x where the learner has no factor.
type view struct {
	labels []int     // [n]: places in solved.labels
	times  []float64 // [n]: how often each was observed
	z      []float64 // [n,D]
	means  []float64 // [K,D]: U⁻ᵀ·μ_k, or U⁻ᵀ·s_k

	scores []float64 // [n,K], to be filled in
	like   []float64 // [n,K]: the cosine of each sample with each class
	bad    []bool    // [n]: it cannot be left out
}

// calibrate finds the calibration of what Prepare has computed.
func (s *solved) calibrate(ctx context.Context, r rule) (*Calibration, error) {
	if !s.ready {
		return nil, fmt.Errorf("learner: %s: no classifier is computed of the present sums. Call Prepare first", s.name)
	}
	if s.sure != nil {
		return s.sure, nil
	}
	u, means, err := s.whitened(ctx, r)
	if err != nil {
		return nil, err
	}
	if s.fitted == nil {
		if s.fitted, err = s.fit(ctx, r, u, means); err != nil {
			return nil, err
		}
	}
	s.sure = &Calibration{s.fitted, r.normalise, s.likeness(u, means)}
	return s.sure, nil
}

// whitened is the factor U of a learner, nil where it has none, and U⁻ᵀ·μ_k of all classes [K,D].
func (s *solved) whitened(ctx context.Context, r rule) (u *dense.Sym, means []float64, err error) {
	if r.factor != nil {
		if u, err = r.factor(ctx); err != nil {
			return nil, nil, err
		}
	}
	means = slices.Clone(s.rows)
	if r.means != nil {
		means = r.means()
	}
	if u != nil {
		u.Forward(means, s.ws.Workers())
	}
	return u, means, nil
}

// leave leaves samples with the features x [n,D] out, one by one, each as often as it was observed. labels are places
// in solved.labels.
func (s *solved) leave(r rule, u *dense.Sym, means []float64, x []float32, labels []int, times []float64) *view {
	n, k := len(labels), len(s.labels)
	v := &view{labels: labels, times: times, means: means, z: make([]float64, len(x)), scores: make([]float64, n*k),
		like: make([]float64, n*k), bad: make([]bool, n)}
	for i, f := range x {
		v.z[i] = float64(f)
	}
	if u != nil {
		u.Forward(v.z, s.ws.Workers())
	}
	r.scores(v)
	return v
}

// likeness is that of the present means, which are whitened where u is not nil.
func (s *solved) likeness(u *dense.Sym, means []float64) *Likeness {
	if u != nil && u.N > whitest {
		u, means = nil, s.rows
	}
	l := &Likeness{Means: make([]float32, len(means)), factor: u}
	width := s.net.Info().FeatureDim
	for k := range s.labels {
		mean := means[k*width:][:width]
		if n := length(mean); n > 0 {
			for j, v := range mean {
				l.Means[k*width+j] = float32(v / n)
			}
		}
	}
	return l
}

// fit leaves the kept samples out, one by one.
func (s *solved) fit(ctx context.Context, r rule, u *dense.Sym, means []float64) (*calibrate.Calibration, error) {
	k := len(s.labels)
	var places, labels []int
	var times []float64
	for i, y := range s.kept.labels {
		if at, known := slices.BinarySearch(s.labels, y); known && s.counts[at] > s.kept.times[i] {
			places, labels, times = append(places, i), append(labels, at), append(times, float64(s.kept.times[i]))
		}
	}
	n := len(places)
	if n < calibrate.Least {
		return nil, fmt.Errorf("learner: %s: %w: %d were kept of classes with two samples or more, and %d are needed",
			s.name, calibrate.ErrFew, n, calibrate.Least)
	}
	x, err := s.featuresOf(places)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v := s.leave(r, u, means, x, labels, times)
	if u != nil && u.N > whitest {
		v.z = v.z[:0]
		for _, f := range x {
			v.z = append(v.z, float64(f))
		}
		v.means = s.sums(r.running)
		v.cosines()
	}
	var of calibrate.Samples
	for i, y := range v.labels {
		if v.bad[i] {
			continue
		}
		of.Scores, of.Labels = append(of.Scores, v.scores[i*k:][:k]...), append(of.Labels, y)
		most, all := math.Inf(-1), 0.0
		for _, cosine := range v.like[i*k:][:k] {
			most, all = max(most, cosine), all+cosine
		}
		of.Known = append(of.Known, stands(most, all, k))
	}
	found, err := calibrate.Fit(of)
	if err != nil {
		return nil, fmt.Errorf("learner: %s: %w", s.name, err)
	}
	return found, nil
}

// sums are the sums of the classes [K,D].
func (s *solved) sums(ofMeans bool) []float64 {
	all := slices.Clone(s.rows)
	if ofMeans {
		for i := range all {
			all[i] *= float64(s.counts[i/s.net.Info().FeatureDim])
		}
	}
	return all
}

// featuresOf computes the features [n,D] of samples that were kept.
func (s *solved) featuresOf(places []int) ([]float32, error) {
	width, d := s.keptWidth(), s.net.Info().FeatureDim
	var all []float32
	for some := range slices.Chunk(places, fitBatch) {
		var rows []float32
		labels := make([]ocl.Label, len(some))
		for i, at := range some {
			rows = append(rows, s.kept.rows[at*width:][:width]...)
			labels[i] = s.kept.labels[at]
		}
		if width < d {
			shape := s.net.Info().Input
			if latent := s.net.Info().Latent; latent != [3]int{} {
				shape = latent
			}
			x := &tensor.Tensor{Shape: []int{len(some), shape[0], shape[1], shape[2]}, Data: rows}
			f, err := s.features(ocl.Batch{X: x, Y: labels})
			if err != nil {
				return nil, fmt.Errorf("learner: %s: %w", s.name, err)
			}
			rows = f.Data
		}
		all = append(all, rows...)
	}
	return all, nil
}

// cosines fills in like, where the means of a class are a sum over its samples and z is one of them.
func (v *view) cosines() {
	n := len(v.labels)
	d, k := len(v.z)/n, len(v.like)/n
	own := make([]float64, d)
	for i, y := range v.labels {
		z := v.z[i*d:][:d]
		size := length(z)
		for c := range k {
			mean := v.means[c*d:][:d]
			if c == y {
				for j, m := range mean {
					own[j] = m - float64(v.times[i]*z[j])
				}
				mean = own
			}
			v.like[i*k+c] = cosine(dense.Dot(z, mean), size*length(mean))
		}
	}
}

// cosine is a/b, or 0 where a vector has no length.
func cosine(a, b float64) float64 {
	if !(b > 0) {
		return 0
	}
	return a / b
}

// leaveOut fills in the scores of class means: without a sample x that was observed t times the sum of its class is
// s − t·x.
func (l *ClassMeans) leaveOut(v *view) {
	n := len(v.labels)
	d, k := len(v.z)/n, len(l.labels)
	if l.Normalise {
		for i := range n {
			z := v.z[i*d:][:d]
			if size := length(z); size > 0 {
				for j := range z {
					z[j] /= size
				}
			}
		}
	}
	v.cosines()
	if l.Normalise {
		copy(v.scores, v.like)
		return
	}
	mean := make([]float64, d)
	for i, y := range v.labels {
		z := v.z[i*d:][:d]
		for c := range k {
			count := float64(l.counts[c])
			copy(mean, v.means[c*d:][:d])
			if c == y {
				count -= v.times[i]
				dense.Axpy(mean, z, -v.times[i])
			}
			v.scores[i*k+c] = (2*dense.Dot(z, mean) - dense.Dot(mean, mean)/count) / count
		}
	}
}

// leaveOut fills in the scores of discriminant analysis. Without a sample x that is t of the n samples of its class,
// with A = Λ⁻¹ of f degrees of freedom and d = x − μ_y,
//
//	Λ' = (f−t)/f·(Λ + g·Λ·d·dᵀ·Λ)      g = c/(1 − c·dᵀ·Λ·d),  c = t·n/((n−t)·f)      μ_y' = μ_y − t·d/(n−t)
//
// With Shrinkage ε, c is (1−ε) times that, and Λ is not scaled: as if f were large.
func (l *SLDA) leaveOut(v *view) {
	n := len(v.labels)
	d, k := len(v.z)/n, len(l.labels)
	f := l.freedom()
	share := 1 - l.Shrinkage
	own, w := make([]float64, d), make([]float64, d)
	for i, y := range v.labels {
		z, count, t, scale := v.z[i*d:][:d], float64(l.counts[y]), v.times[i], 1.0
		if l.Shrinkage == 0 {
			scale = max(f-t, 1) / f
		}
		for j, m := range v.means[y*d:][:d] {
			w[j] = z[j] - m
			own[j] = m - float64(t*w[j])/(count-t)
		}
		c := share * t * count / ((count - t) * f)
		rest := 1 - float64(c*dense.Dot(w, w))
		if v.bad[i] = rest < 1e-9; v.bad[i] {
			continue
		}
		g, wz := c/rest, dense.Dot(w, z)
		size := dense.Dot(z, z) + float64(g*wz*wz)
		for class := range k {
			mean := v.means[class*d:][:d]
			if class == y {
				mean = own
			}
			wm := dense.Dot(w, mean)
			both, square := dense.Dot(z, mean)+float64(g*wz*wm), dense.Dot(mean, mean)+float64(g*wm*wm)
			v.scores[i*k+class] = scale * (both - square/2)
			v.like[i*k+class] = cosine(both, math.Sqrt(square*size))
		}
	}
}

// leaveOut fills in the scores of ridge regression. z·U⁻ᵀ·s_k is the score of class k, and h = t·z·z the leverage of a
// sample that was observed t times. Without it they are (ŷ − h·y)/(1−h), and the inverse of G + λ·I is
// A⁻¹ + t·A⁻¹·x·xᵀ·A⁻¹/(1−h).
func (l *RanPAC) leaveOut(v *view) {
	n := len(v.labels)
	d, k := len(v.z)/n, len(l.labels)
	for i, y := range v.labels {
		z, t := v.z[i*d:][:d], v.times[i]
		one := dense.Dot(z, z)
		h := float64(t * one)
		if v.bad[i] = 1-h < 1e-9; v.bad[i] {
			continue
		}
		size := one / (1 - h)
		for c := range k {
			mean := v.means[c*d:][:d]
			both, square := dense.Dot(z, mean), dense.Dot(mean, mean)
			score := both
			if c == y {
				score -= h
				square += float64(t*h) - float64(2*t*both) // of the sum without x
				both -= h
			}
			v.scores[i*k+c] = score / (1 - h)
			v.like[i*k+c] = cosine(both/(1-h), math.Sqrt((square+t*both*both/(1-h))*size))
		}
	}
}

// leaveOutRecursive is leaveOut by the inverse P of G + λ·I, which Recursive has in its place. Its vectors are weights,
// and no sums, so the cosine is that between features and weights.
func (l *RanPAC) leaveOutRecursive(v *view) {
	n := len(v.labels)
	d, k := len(v.z)/n, len(l.labels)
	p := make([]float64, len(v.z))
	l.gram.sum.Times(p, v.z, l.ws.Workers())
	for i, y := range v.labels {
		z, t := v.z[i*d:][:d], v.times[i]
		one := dense.Dot(z, p[i*d:][:d])
		h := float64(t * one)
		if v.bad[i] = 1-h < 1e-9; v.bad[i] {
			continue
		}
		size, px := length(z), p[i*d:][:d]
		for c := range k {
			weights := v.means[c*d:][:d]
			score := dense.Dot(z, weights)
			e := -t * score / (1 - h) // the weights without x are w − P·x·e
			if c == y {
				e += t / (1 - h)
			}
			score -= float64(e * one)
			square := dense.Dot(weights, weights) + float64(e*(float64(e*dense.Dot(px, px))-2*dense.Dot(weights, px)))
			v.scores[i*k+c] = score
			v.like[i*k+c] = cosine(score, size*math.Sqrt(max(square, 0)))
		}
	}
}

var (
	_ Calibrated = (*ClassMeans)(nil)
	_ Calibrated = (*SLDA)(nil)
	_ Calibrated = (*RanPAC)(nil)
)

// CalibrationOf is the calibration of a learner that has prepared; nil, and why, where it has none.
func CalibrationOf(ctx context.Context, l ocl.Learner) (*Calibration, string, error) {
	c, ok := l.(Calibrated)
	if !ok {
		return nil, "", nil
	}
	found, err := c.Calibrate(ctx)
	if errors.Is(err, calibrate.ErrFew) {
		return nil, err.Error(), nil
	}
	return found, "", err
}
