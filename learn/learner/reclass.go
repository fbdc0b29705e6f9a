package learner

import (
	"context"
	"fmt"
	"math"
	"slices"

	"ocl"
	"ocl/learn/calibrate"
	"ocl/learn/internal/dense"
	"ocl/learn/optim"
	"ocl/nn"
)

var (
	_ Reclassing = (*Replay)(nil)
	_ Reclassing = (*Nearest)(nil)
	_ Reclassing = (*EWC)(nil)
	_ Reclassing = Bounded{}
	_ Reclassing = (*ClassMeans)(nil)
	_ Reclassing = (*SLDA)(nil)
	_ Reclassing = (*RanPAC)(nil)
)

// checkPair refuses what are no two classes of a network.
func checkPair(net *nn.Network, from, into ocl.Label) error {
	k := net.Info().Classes
	if from < 0 || into < 0 || int(from) >= k || int(into) >= k || from == into {
		return fmt.Errorf("learner: %d and %d are not two classes. Use two in [0, %d)", from, into, k)
	}
	return nil
}

// checkClass refuses what is no class of a network.
func checkClass(net *nn.Network, y ocl.Label) error {
	if k := net.Info().Classes; y < 0 || int(y) >= k {
		return fmt.Errorf("learner: label %d is not a class in [0, %d)", y, k)
	}
	return nil
}

// merge adds the vector, the count and what is kept of a class to those of another one. means says that vectors are
// means, and within is called before with the places of both, if both were observed.
func (s *solved) merge(from, into ocl.Label, means bool, within func(from, into int)) error {
	s.prepare()
	if err := checkPair(s.net, from, into); err != nil {
		return err
	}
	if _, known := slices.BinarySearch(s.labels, from); !known {
		return nil
	}
	s.vector(into)
	a, _ := slices.BinarySearch(s.labels, from)
	b, _ := slices.BinarySearch(s.labels, into)
	if s.counts[b] > 0 && within != nil {
		within(a, b)
	}
	width := s.net.Info().FeatureDim
	x, y := s.rows[a*width:][:width], s.rows[b*width:][:width]
	n, m := float64(s.counts[a]), float64(s.counts[b])
	for j, v := range x {
		if means {
			y[j] += float64(n / (n + m) * (v - y[j]))
		} else {
			y[j] += v
		}
	}
	s.counts[b] += s.counts[a]
	first, last := s.kept.of(from)
	keptWidth := s.keptWidth()
	rows, times := slices.Clone(s.kept.rows[first*keptWidth:last*keptWidth]), slices.Clone(s.kept.times[first:last])
	s.dropClass(a)
	for i, n := range times {
		s.kept.add(into, rows[i*keptWidth:][:keptWidth], n, len(s.labels))
	}
	s.changed()
	return nil
}

// dropClass lets go of the class in a place, with what is kept of it.
func (s *solved) dropClass(at int) {
	width := s.net.Info().FeatureDim
	first, last := s.kept.of(s.labels[at])
	s.kept.drop(first, last, s.keptWidth())
	s.labels, s.counts, s.rows = slices.Delete(s.labels, at, at+1), slices.Delete(s.counts, at, at+1),
		slices.Delete(s.rows, at*width, (at+1)*width)
}

// changed says that the classes are others: what Prepare and Calibrate have computed holds no more.
func (s *solved) changed() {
	s.Unprepare()
	if len(s.kept.labels) >= calibrate.Least { // fewer find no other one
		s.fitted = nil
	}
	s.show()
}

// removeClass lets go of a class. before is called with its place while the class is there, if it was observed.
func (s *solved) removeClass(y ocl.Label, before func(at int) error) error {
	s.prepare()
	if err := checkClass(s.net, y); err != nil {
		return err
	}
	if at, known := slices.BinarySearch(s.labels, y); known {
		if before != nil {
			if err := before(at); err != nil {
				return err
			}
		}
		s.dropClass(at)
		s.changed()
	}
	return nil
}

// Merge implements [Reclassing]. It is exact.
func (l *ClassMeans) Merge(from, into ocl.Label) error { return l.merge(from, into, false, nil) }

// RemoveClass implements [Reclassing]. It is exact.
func (l *ClassMeans) RemoveClass(y ocl.Label) error { return l.removeClass(y, nil) }

// Merge implements [Reclassing]. It is exact but for Running, where the products of a merged class are those that its
// two means leave: n·m/(n+m)·(μ_a−μ_b)·(μ_a−μ_b)ᵀ more.
func (l *SLDA) Merge(from, into ocl.Label) error {
	if !l.Running {
		return l.merge(from, into, false, nil)
	}
	return l.merge(from, into, true, func(a, b int) {
		n, m := float64(l.counts[a]), float64(l.counts[b])
		width, row := l.products.sum.N, l.products.row()
		for j := range row {
			row[j] = math.Sqrt(n*m/(n+m)) * (l.rows[a*width+j] - l.rows[b*width+j])
		}
	})
}

// RemoveClass implements [Reclassing]. S keeps the scatter of the class around its own mean, so the other classes are
// told apart as before. Unlearn its samples before, and nothing stays.
func (l *SLDA) RemoveClass(y ocl.Label) error {
	return l.removeClass(y, func(at int) error {
		l.products.flush()
		if len(l.labels) == 1 {
			l.products.sum.Data = nil
			return nil
		}
		if width := l.products.sum.N; !l.Running {
			mean := slices.Clone(l.rows[at*width:][:width])
			for j := range mean {
				mean[j] /= math.Sqrt(float64(l.counts[at]))
			}
			l.products.sum.Add(mean, -1, l.products.workers)
		}
		return nil
	})
}

// Merge implements [Reclassing]. It is exact: a vector of weights is linear in the sum of its class.
func (l *RanPAC) Merge(from, into ocl.Label) error { return l.merge(from, into, false, nil) }

// RemoveClass implements [Reclassing]. Of the products of its samples G keeps those around their own mean: with n
// samples of the sum s it loses s·sᵀ/n, and with Recursive, by the formula of Sherman and Morrison,
//
//	P ← P + P·s·(P·s)ᵀ/(n − s·P·s),  weights ← weights + P·s·(s·weights)ᵀ/(n − s·P·s)      P·s are those of the class
//
// Unlearn its samples before, and nothing stays.
func (l *RanPAC) RemoveClass(y ocl.Label) error {
	return l.removeClass(y, func(at int) error {
		l.gram.flush()
		p, width, n := &l.gram.sum, l.gram.sum.N, float64(l.counts[at])
		own := slices.Clone(l.rows[at*width:][:width])
		switch {
		case len(l.labels) == 1:
			p.Data = nil
		case !l.Recursive:
			dense.Axpy(own, own, 1/math.Sqrt(n)-1)
			p.Add(own, -1, l.gram.workers)
		default:
			u, sum := p.Clone(), slices.Clone(own)
			if err := u.Cholesky(context.Background(), l.gram.workers); err != nil {
				return l.noFactor(u, err, "Use a larger method.ranpac.ridge")
			}
			u.Solve(sum, l.gram.workers)
			rest := n - dense.Dot(sum, own)
			if rest < 1e-9*n {
				return nil
			}
			for k := range l.labels {
				weights := l.rows[k*width:][:width]
				dense.Axpy(weights, own, dense.Dot(sum, weights)/rest)
			}
			dense.Axpy(own, own, 1/math.Sqrt(rest)-1)
			p.Add(own, 1, l.gram.workers)
		}
		return nil
	})
}

// Merge implements [Reclassing]. The weights of into become the mean of both, by how many samples of each are stored.
func (r *Replay) Merge(from, into ocl.Label) error {
	r.prepare()
	if err := errOr(checkPair(r.Net, from, into), r.Reclasses); err != nil {
		return err
	}
	var n, m float64 // stored samples
	if r.Memory != nil {
		counts := r.Memory.Counts()
		n, m = float64(counts[from]), float64(counts[into])
		for slot := range r.Memory.Len() {
			if r.Memory.Label(slot) == from {
				r.Memory.Relabel(slot, into)
			}
		}
	}
	share := 0.5
	if n+m > 0 {
		share = n / (n + m)
	}
	r.outputs(func(row []float32, _ bool) {
		row[into] += float32(share * (float64(row[from]) - float64(row[into])))
	})
	r.rename(from, &into)
	r.silence(from, into)
	return nil
}

// Split implements [Reclassing].
func (s *solved) Split(from, into ocl.Label) error { return checkPair(s.net, from, into) }

// Split implements [Reclassing].
func (r *Replay) Split(from, into ocl.Label) error {
	r.prepare()
	if err := errOr(checkPair(r.Net, from, into), r.Reclasses); err != nil {
		return err
	}
	r.outputs(func(row []float32, _ bool) { row[into] = row[from] })
	for _, list := range r.classLists() {
		if _, had := slices.BinarySearch(*list, from); had {
			insert(list, into)
		}
	}
	return nil
}

// RemoveClass implements [Reclassing]. The samples of the class leave the memory, and its output is below all others;
// what the layers before have learned of them stays.
func (r *Replay) RemoveClass(y ocl.Label) error {
	r.prepare()
	if err := errOr(checkClass(r.Net, y), r.Reclasses); err != nil {
		return err
	}
	if r.Memory != nil {
		var slots []int
		for slot := range r.Memory.Len() {
			if r.Memory.Label(slot) == y {
				slots = append(slots, slot)
			}
		}
		if err := r.Remove(slots); err != nil {
			return err
		}
	}
	r.rename(y, nil)
	r.silence(y)
	return nil
}

// Samples implements [Reclassing].
func (r *Replay) Samples(y ocl.Label) int64 {
	if r.Memory == nil {
		return 0
	}
	return int64(r.Memory.Counts()[y])
}

// Carries implements [Reclassing].
func (l *ClassMeans) Carries() string { return "" }

// Carries implements [Reclassing].
func (l *SLDA) Carries() string { return scattered }

// Carries implements [Reclassing].
func (l *RanPAC) Carries() string { return scattered }

const scattered = "The covariance still carries how its samples scatter around their mean."

// Carries implements [Reclassing].
func (r *Replay) Carries() string {
	return "The layers before the outputs still carry what they have learned of its samples."
}

// errOr is err, or else what f says.
func errOr(err error, f func() error) error {
	if err != nil {
		return err
	}
	return f()
}

// Reclasses implements [Reclassing].
func (s *solved) Reclasses() error { return nil }

// Reclasses implements [Reclassing]. It is an error where an output cannot be silenced.
func (r *Replay) Reclasses() error {
	switch {
	case r.Net.Info().Head.Kind == nn.CosineHead:
		return fmt.Errorf("learner: a cosine head has no bias, so no class of it can be silenced. Train again with a linear head")
	case r.Memory != nil && r.Memory.Floats() > 0:
		return fmt.Errorf("learner: the memory carries numbers of %T by class, which would stay those of before. Train again",
			r.Step)
	}
	return nil
}

// outputs calls f with the parameters of the outputs of classes, a row [K] for each input and one of biases, of the
// network and of a teacher.
func (r *Replay) outputs(f func(row []float32, bias bool)) {
	nets := []*nn.Network{r.Net}
	if r.Mean != nil {
		nets = append(nets, r.Mean.of(r.Net))
	}
	if r.Teacher != nil && r.Teacher.net != nil {
		nets = append(nets, r.Teacher.net)
	}
	for _, net := range nets {
		optim.ClassRows(net, net.Params(), f)
		net.Changed()
	}
}

// silence puts the output of a class below all others, and lets the optimiser forget what it knows of it and of others
// that have changed.
func (r *Replay) silence(y ocl.Label, others ...ocl.Label) {
	r.outputs(func(row []float32, bias bool) {
		row[y] = 0
		if bias {
			row[y] = unseen
		}
	})
	for _, v := range optim.Vectors(r.Opt) {
		if len(v) > 0 {
			optim.ClassRows(r.Net, v, func(row []float32, _ bool) {
				for _, k := range append(others, y) {
					row[k] = 0
				}
			})
		}
	}
}

// classLists are the lists of classes, rising, that tasks and batches had.
func (r *Replay) classLists() (lists []*[]ocl.Label) {
	if r.Classes != nil {
		lists = append(lists, &r.Classes.old, &r.Classes.current)
	}
	if r.Seen != nil {
		lists = append(lists, &r.Seen.classes)
	}
	return lists
}

// insert adds a class to a rising list, unless it is there.
func insert(list *[]ocl.Label, y ocl.Label) {
	if at, has := slices.BinarySearch(*list, y); !has {
		*list = slices.Insert(slices.Clone(*list), at, y)
	}
}

// rename gives a class that tasks and batches had another name; nil is none.
func (r *Replay) rename(from ocl.Label, into *ocl.Label) {
	if r.Recent != nil {
		r.Recent.rename(from, into)
	}
	for _, list := range r.classLists() {
		at, had := slices.BinarySearch(*list, from)
		if !had {
			continue
		}
		*list = slices.Delete(slices.Clone(*list), at, at+1)
		if into != nil {
			insert(list, *into)
		}
	}
}

// Merge implements [Reclassing], with stale means.
func (n *Nearest) Merge(from, into ocl.Label) error {
	if err := n.Replay.Merge(from, into); err != nil {
		return err
	}
	n.ncm.Forget()
	return nil
}

// Split implements [Reclassing], with stale means.
func (n *Nearest) Split(from, into ocl.Label) error {
	if err := n.Replay.Split(from, into); err != nil {
		return err
	}
	n.ncm.Forget()
	return nil
}

// RemoveClass implements [Reclassing], with stale means.
func (n *Nearest) RemoveClass(y ocl.Label) error {
	if err := n.Replay.RemoveClass(y); err != nil {
		return err
	}
	n.ncm.Forget()
	return nil
}

// Merge implements [Reclassing]. The penalty lets go of both outputs.
func (e *EWC) Merge(from, into ocl.Label) error {
	if err := e.Replay.Merge(from, into); err != nil {
		return err
	}
	e.release(from, into)
	return nil
}

// Split implements [Reclassing]. The penalty lets go of both outputs.
func (e *EWC) Split(from, into ocl.Label) error {
	if err := e.Replay.Split(from, into); err != nil {
		return err
	}
	e.release(from, into)
	return nil
}

// RemoveClass implements [Reclassing]. The penalty lets go of the output.
func (e *EWC) RemoveClass(y ocl.Label) error {
	if err := e.Replay.RemoveClass(y); err != nil {
		return err
	}
	e.release(y)
	return nil
}

// release makes the present parameters of outputs those that nothing pulls back.
func (e *EWC) release(classes ...ocl.Label) {
	for _, v := range [][]float32{e.fisher, e.sum, e.weight} {
		optim.ClassRows(e.Net, v, func(row []float32, _ bool) {
			for _, y := range classes {
				row[y] = 0
			}
		})
	}
	var now [][]float32
	optim.ClassRows(e.Net, e.Net.Params(), func(row []float32, _ bool) { now = append(now, row) })
	at := 0
	optim.ClassRows(e.Net, e.anchor, func(row []float32, _ bool) {
		for _, y := range classes {
			row[y] = now[at][y]
		}
		at++
	})
}
