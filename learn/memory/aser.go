package memory

import (
	"cmp"
	"slices"

	"ocl"
	"ocl/nn/tensor"
)

// Shapley says what a sample is worth to a classifier by the K nearest samples: its Shapley value, the mean over all
// orders of a set of samples of how much the share of right neighbours of an evaluation point rises when it comes (Jia
// et al. 2019, Efficient Task-Specific Data Valuation for Nearest Neighbor Algorithms). With the samples in the order
// of their distance from the point, of N the m-th has the value
//
//	s_N = 1[y_N = y]/N · min(K,N)/K      s_m = s_{m+1} + (1[y_m = y] − 1[y_{m+1} = y])/K · min(K,m)/m
//
// Distances are of features ([Probe.Features]); of equal ones the first sample is the nearer.
type Shapley struct {
	K        int // neighbours, at least 1
	PerClass int // samples of each stored class that are judged, and as many by which, at least 1
}

// ASER retrieves the stored samples of largest adversarial Shapley value (Shim et al. 2021, Online Class-Incremental
// Continual Learning with Adversarial Shapley Value): they are worth much to other stored samples and little to the
// incoming batch, near which they then lie with another label. Of PerClass samples drawn of each class, and of more
// where these are fewer than Size, it takes those with the largest
//
//	mean of s over evaluation points from memory − mean of s over the incoming batch
//
// or, with Extremes, the largest value of the first minus the least of the second. The points from memory are PerClass
// others of each class. While the memory has room, and where there is nothing to choose, it draws as [Random].
type ASER struct {
	Shapley
	Size     int
	Extremes bool

	judge judge
}

// Valued keeps the samples that are worth most (Shim et al. 2021). While there is room, a sample is stored. Then the
// incoming samples and as many stored ones as PerClass times the stored classes, drawn at random, are judged by others
// that are drawn of each class: PerClass, and at most half of it. Incoming samples with a larger sum of values than
// stored ones take their places.
type Valued struct {
	Shapley

	judge judge
}

var (
	_ Retriever = (*ASER)(nil)
	_ Updater   = (*Valued)(nil)
)

// judge has the buffers of values.
type judge struct {
	rows             Buffer
	stored, incoming tensor.Tensor // features
	near             []candidate
	values           []float64
}

// Retrieve implements [Retriever].
func (r *ASER) Retrieve(dst []int, m *Store, b ocl.Batch, env Env) ([]int, error) {
	if m.Len() < m.Cap() || m.Len() <= r.Size {
		return Random{Size: r.Size}.Retrieve(dst, m, b, env)
	}
	start := len(dst)
	dst = balanced(dst, m, env, func(int) int { return r.PerClass }, nil)
	if more := r.Size - (len(dst) - start); more > 0 {
		dst = others(dst, m, env, more, dst[start:])
	}
	drawn := dst[start:]
	if len(drawn) <= r.Size {
		return dst, nil
	}
	j := &r.judge
	points := balanced(nil, m, env, func(int) int { return r.PerClass }, drawn)
	if err := j.look(env, m, slices.Concat(drawn, points), b); err != nil {
		return dst, err
	}
	labels := make([]ocl.Label, len(drawn))
	for i, slot := range drawn {
		labels[i] = m.Label(slot)
	}
	of := j.stored.Rows(0, len(drawn))
	scores := make([]float64, len(drawn))
	for i := range points {
		j.value(r.K, of, labels, j.stored.Row(len(drawn)+i), m.Label(points[i]))
		r.gather(scores, i, 1/float64(len(points)))
	}
	cooperative := slices.Clone(scores)
	clear(scores)
	for i, y := range b.Y {
		j.value(r.K, of, labels, j.incoming.Row(i), y)
		if r.Extremes {
			for k := range j.values {
				j.values[k] = -j.values[k]
			}
			r.gather(scores, i, 1)
			continue
		}
		r.gather(scores, i, -1/float64(b.Len()))
	}
	ranked := j.near[:0]
	for i, slot := range drawn {
		ranked = append(ranked, candidate{slot, cooperative[i] + scores[i]})
	}
	slices.SortFunc(ranked, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.slot, b.slot))
	})
	dst = dst[:start]
	for _, c := range ranked[:r.Size] {
		dst = append(dst, c.slot)
	}
	return dst, nil
}

// gather adds the values of the n-th point to scores, with a weight, or takes the larger ones.
func (r *ASER) gather(scores []float64, n int, weight float64) {
	for i, v := range r.judge.values {
		switch {
		case !r.Extremes:
			scores[i] += float64(weight * v)
		case n == 0 || v > scores[i]:
			scores[i] = v
		}
	}
}

// Update implements [Updater].
func (u *Valued) Update(dst []int, m *Store, b ocl.Batch, env Env) ([]int, error) {
	free := min(m.Cap()-m.Len(), b.Len())
	for i := range free {
		dst = append(dst, m.Len()+i)
	}
	if free == b.Len() {
		return dst, nil
	}
	start := len(dst)
	rest := b.Rows(free, b.Len())
	for range rest.Y {
		dst = append(dst, -1)
	}
	counts := m.Counts()
	points := balanced(nil, m, env, func(of int) int { return min(u.PerClass, (of+1)/2) }, nil)
	drawn := others(nil, m, env, u.PerClass*len(counts), points)
	if len(drawn) == 0 {
		return dst, nil
	}
	j := &u.judge
	if err := j.look(env, m, slices.Concat(drawn, points), rest); err != nil {
		return dst, err
	}
	of := tensor.New(len(drawn)+rest.Len(), j.stored.Dim(1))
	copy(of.Data, j.stored.Rows(0, len(drawn)).Data)
	copy(of.Data[len(drawn)*of.Dim(1):], j.incoming.Data)
	var labels []ocl.Label
	for _, slot := range drawn {
		labels = append(labels, m.Label(slot))
	}
	labels = append(labels, rest.Y...)
	sums := make([]float64, len(labels))
	for i, slot := range points {
		j.value(u.K, of, labels, j.stored.Row(len(drawn)+i), m.Label(slot))
		for k, v := range j.values {
			sums[k] += v
		}
	}
	ranked := j.near[:0]
	for i, v := range sums {
		ranked = append(ranked, candidate{i, v})
	}
	slices.SortStableFunc(ranked, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	// those that stay out, the worst of the stored ones first, give way to incoming ones that stay, the best first
	at := len(ranked)
	for _, c := range ranked[:len(drawn)] {
		if c.slot < len(drawn) {
			continue
		}
		for at--; ranked[at].slot >= len(drawn); at-- {
		}
		dst[start+c.slot-len(drawn)] = drawn[ranked[at].slot]
	}
	return dst, nil
}

// balanced appends to dst slots drawn of each class, rising, as many as take says of a class with so many, without
// those that are excluded.
func balanced(dst []int, m *Store, env Env, take func(of int) int, without []int) []int {
	byClass := map[ocl.Label][]int{}
	var classes []ocl.Label
	excluded := map[int]bool{}
	for _, slot := range without {
		excluded[slot] = true
	}
	for slot := range m.Len() {
		if excluded[slot] {
			continue
		}
		y := m.Label(slot)
		if byClass[y] == nil {
			classes = append(classes, y)
		}
		byClass[y] = append(byClass[y], slot)
	}
	slices.Sort(classes)
	for _, y := range classes {
		slots := byClass[y]
		for _, i := range Sample(nil, len(slots), take(len(slots)), env.Rand) {
			dst = append(dst, slots[i])
		}
	}
	return dst
}

// others appends to dst n slots, or as many as there are, that are not excluded, each as likely.
func others(dst []int, m *Store, env Env, n int, without []int) []int {
	excluded := map[int]bool{}
	for _, slot := range without {
		excluded[slot] = true
	}
	var left []int
	for slot := range m.Len() {
		if !excluded[slot] {
			left = append(left, slot)
		}
	}
	for _, i := range Sample(nil, len(left), n, env.Rand) {
		dst = append(dst, left[i])
	}
	return dst
}

// look asks for the features of stored samples and of a batch.
func (j *judge) look(env Env, m *Store, slots []int, b ocl.Batch) error {
	if err := env.Probe.Features(&j.stored, j.rows.Gather(m, slots)); err != nil {
		return err
	}
	return env.Probe.Features(&j.incoming, b)
}

// value sets the Shapley values of samples with features [N,D] and labels, by a point with its label.
func (j *judge) value(k int, features *tensor.Tensor, labels []ocl.Label, point []float32, y ocl.Label) {
	n := len(labels)
	j.near = j.near[:0]
	for i := range n {
		square := 0.0
		for d, v := range features.Row(i) {
			diff := float64(v) - float64(point[d])
			square += float64(diff * diff)
		}
		j.near = append(j.near, candidate{i, square})
	}
	slices.SortStableFunc(j.near, func(a, b candidate) int { return cmp.Compare(a.score, b.score) })
	j.values = slices.Grow(j.values[:0], n)[:n]
	right := func(m int) float64 {
		if labels[j.near[m-1].slot] == y {
			return 1
		}
		return 0
	}
	value := right(n) / float64(n) * float64(min(k, n)) / float64(k)
	j.values[j.near[n-1].slot] = value
	for m := n - 1; m > 0; m-- {
		value += (right(m) - right(m+1)) / float64(k) * float64(min(k, m)) / float64(m)
		j.values[j.near[m-1].slot] = value
	}
}
