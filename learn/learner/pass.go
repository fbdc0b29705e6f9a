package learner

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"ocl"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/nn"
	"ocl/nn/tensor"
)

// Pass is a batch that goes through the network by itself, with its own batch-norm statistics, and what is known of its
// rows. [Replay.Incoming], [Replay.Draw], [Join] and [Pass.View] make passes. A pass without rows is left out of a
// step.
type Pass struct {
	ocl.Batch
	Role  loss.Role
	Slots []int // [B]: the memory slot of each row, -1 for a row that is not stored; nil if no row is
	// [B,F]: the numbers that the memory carries with each row ([memory.Store.Floats]); nil if there are none
	Stored *tensor.Tensor
	Valid  []int // [B]: how many columns of Stored each row has; the further ones are 0

	Criterion loss.Criterion // nil is that of the learner

	second bool // its rows are those of another pass of the step: see Mean

	// A step fills these. They hold until the next step of the learner.
	Teacher *tensor.Tensor // the teacher's logits [B,K], or those of a mean that teaches; nil without either
	Outputs *tensor.Tensor // the outputs [B,K] of the network, a copy
	// the mean over the rows; of one loss over several passes, all of it is that of the first with rows
	Loss float64
	// rows of B_n whose largest output is that of their label; rows of memory and of views are not counted
	Correct int
}

// View is a copy of a pass in dst, another buffer than that of the pass, whose images the caller may change, such as by
// augmenting them. Its criterion is the learner's.
func (p Pass) View(dst *memory.Buffer) Pass {
	view := Join(dst, p)
	view.Role |= loss.View
	return view
}

// Join is one pass with the rows of several, in their order, as copies in dst, which none of the passes may be in. Its
// criterion is the learner's. Passes without rows are left out.
func Join(dst *memory.Buffer, passes ...Pass) Pass {
	var all Pass
	rows, floats, stored := 0, 0, false
	var of *tensor.Tensor
	for i := range passes {
		p := &passes[i]
		if p.Len() == 0 {
			continue
		}
		rows, of = rows+p.Len(), p.X
		all.Role |= p.Role
		stored = stored || p.Slots != nil
		if p.Stored != nil {
			floats = p.Stored.Dim(1)
		}
	}
	if rows == 0 {
		return all
	}
	dst.Resize(rows, of.Dim(1), of.Dim(2), of.Dim(3))
	dst.Slots, dst.Valid = dst.Slots[:0], dst.Valid[:0]
	dst.Floats.Resize(rows, floats)
	clear(dst.Floats.Data)
	at := 0
	for i := range passes {
		p := &passes[i]
		n := p.Len()
		if n == 0 {
			continue
		}
		copy(dst.X.Data[at*dst.X.RowLen():], p.X.Data)
		copy(dst.Y[at:], p.Y)
		if p.Stored != nil {
			copy(dst.Floats.Data[at*floats:], p.Stored.Data)
		}
		for row := range n {
			slot, valid := -1, 0
			if p.Slots != nil {
				slot = p.Slots[row]
			}
			if p.Valid != nil {
				valid = p.Valid[row]
			}
			dst.Slots, dst.Valid = append(dst.Slots, slot), append(dst.Valid, valid)
		}
		at += n
	}
	all.Batch = ocl.Batch{X: &dst.X, Y: dst.Y}
	if stored {
		all.Slots = dst.Slots
	}
	if floats > 0 {
		all.Stored, all.Valid = &dst.Floats, dst.Valid
	}
	return all
}

// gathered is the pass of the samples that were gathered into a buffer.
func gathered(from *memory.Buffer) Pass {
	p := Pass{Batch: ocl.Batch{X: &from.X, Y: from.Y}, Role: loss.Replayed, Slots: from.Slots}
	if from.Floats.Dim(1) > 0 {
		p.Stored, p.Valid = &from.Floats, from.Valid
	}
	return p
}

// isIncoming says whether a row is one of B_n as the network sees it first.
func (p *Pass) isIncoming(row int) bool {
	return p.Role.Has(loss.Incoming) && !p.Role.Has(loss.View) && (p.Slots == nil || p.Slots[row] < 0)
}

// isReplayed says whether a row is one of B_M as the network sees it first.
func (p *Pass) isReplayed(row int) bool {
	return p.Role.Has(loss.Replayed) && !p.Role.Has(loss.View) && (p.Slots == nil || p.Slots[row] >= 0)
}

// trainer runs passes through a network in training mode and adds up their gradients. It is what all learners share
// that learn by batches.
type trainer struct {
	net       *nn.Network
	ws        *nn.Workspace
	criterion loss.Criterion
	classes   *Classes // nil does not know them
	seen      *Seen    // nil does not know them
	recent    *Recent  // nil does not count them
	teacher   *Teacher // nil is none

	passes []Pass // of the last call
	run    []int  // those with rows
	images []*tensor.Tensor
	rooms  []room                                      // by pass that is run
	loss   func(i int, logits, d *tensor.Tensor) error // evaluate

	together  TogetherLoss // of all passes; nil where each has its own
	by        any          // who gave it
	gradients []*tensor.Tensor
	joint     func(outputs, d []*tensor.Tensor) error // evaluateTogether
}

// room has the buffers of one pass, and copies of all that a criterion may read and must not change.
type room struct {
	outputs, gradient tensor.Tensor
	y                 []ocl.Label
	slots             []int
}

// accumulate runs the passes and adds the gradients of their mean losses to the network's gradients. With apart, the
// gradient of pass i > 0 is written to apart[i-1] [P] instead. It returns the sum of the losses, and how many rows of
// B_n were predicted correctly and how many rows of B_M there are.
func (t *trainer) accumulate(apart [][]float32, passes ...Pass) (ocl.StepStats, error) {
	t.begin(passes)
	return t.finish(t.net.Accumulate(t.ws, nn.Accumulation{Batches: t.images, Loss: t.loss, Apart: apart}))
}

// accumulateTogether is accumulate with one loss over all passes, which by gives.
func (t *trainer) accumulateTogether(by any, f TogetherLoss, passes ...Pass) (ocl.StepStats, error) {
	t.begin(passes)
	if t.joint == nil {
		t.joint = t.evaluateTogether
	}
	t.together, t.by = f, by
	return t.finish(t.net.Accumulate(t.ws, nn.Accumulation{Batches: t.images, Joint: t.joint}))
}

// begin keeps the passes, and lets the teacher compute its answers.
func (t *trainer) begin(passes []Pass) {
	t.passes = append(t.passes[:0], passes...)
	t.together, t.by = nil, nil
	t.run, t.images = t.run[:0], t.images[:0]
	for i := range t.passes {
		if p := &t.passes[i]; p.Len() > 0 {
			t.run, t.images = append(t.run, i), append(t.images, p.X)
			if t.recent != nil && !p.second {
				t.recent.add(p.Y)
			}
		}
	}
	for len(t.rooms) < len(t.run) {
		t.rooms = append(t.rooms, room{})
	}
	if t.teacher != nil {
		t.teacher.teach(t.net, t.images)
	}
	if t.loss == nil {
		t.loss = t.evaluate
	}
}

// finish sums up the passes, unless they ended in an error.
func (t *trainer) finish(err error) (s ocl.StepStats, _ error) {
	clear(t.images)
	if err != nil {
		return s, err
	}
	for _, i := range t.run {
		p := &t.passes[i]
		s.Loss += p.Loss
		s.Correct += p.Correct
		for row := range p.Y {
			if p.isReplayed(row) {
				s.Replay++
			}
		}
	}
	if !t.net.Info().Head.PerClass() {
		s.Correct = -1
	}
	return s, nil
}

// forget drops the passes, whose batches belong to others.
func (t *trainer) forget() { clear(t.passes) }

// author returns the stepper or the criterion that computed the loss of a pass, for messages.
func (t *trainer) author(p *Pass) any {
	if t.by != nil {
		return t.by
	}
	return t.of(p)
}

// of is the criterion of a pass.
func (t *trainer) of(p *Pass) loss.Criterion {
	if p.Criterion != nil {
		return p.Criterion
	}
	return t.criterion
}

// evaluate is the loss of the i-th pass that is run; passes may be evaluated at the same time.
func (t *trainer) evaluate(i int, logits, d *tensor.Tensor) error {
	p := &t.passes[t.run[i]]
	in := t.input(i, p, logits)
	criterion := t.of(p)
	if head := t.net.Info().Head; !head.PerClass() && isOurs(criterion) {
		return fmt.Errorf("%T learns from an output a class, and a %s head has none. Set a criterion of its outputs, or use AccumulateTogether",
			criterion, head.Kind)
	}
	room := &t.rooms[i]
	room.see(d)
	mean, err := criterion.Eval(&room.gradient, in)
	p.Loss = mean
	if err == nil {
		err = room.check(p, logits, d, mean)
	}
	if err != nil && !isOurs(criterion) {
		return fmt.Errorf("criterion %T: %w", criterion, err)
	}
	return err
}

// evaluateTogether is one loss over all passes. It becomes that of the first pass.
func (t *trainer) evaluateTogether(outputs, d []*tensor.Tensor) error {
	t.gradients = append(t.gradients[:0], make([]*tensor.Tensor, len(t.passes))...)
	for i, k := range t.run {
		t.input(i, &t.passes[k], outputs[i])
		t.rooms[i].see(d[i])
		t.gradients[k] = &t.rooms[i].gradient
	}
	sum, err := t.together(t.passes, t.gradients)
	for i, k := range t.run {
		p := &t.passes[k]
		p.Loss = 0
		if err == nil {
			err = t.rooms[i].check(p, outputs[i], d[i], sum)
		}
	}
	if len(t.run) > 0 {
		t.passes[t.run[0]].Loss = sum
	}
	if err != nil {
		return fmt.Errorf("the loss of %T: %w", t.by, err)
	}
	return nil
}

// input writes the network's outputs and the teacher's into the i-th pass that is run, and returns the input of its
// criterion.
func (t *trainer) input(i int, p *Pass, logits *tensor.Tensor) loss.Input {
	p.Correct = 0
	perClass := t.net.Info().Head.PerClass()
	for row, y := range p.Y {
		if perClass && p.isIncoming(row) && argmax(logits.Row(row)) == y {
			p.Correct++
		}
	}
	room := &t.rooms[i]
	room.outputs.Resize(logits.Shape...)
	copy(room.outputs.Data, logits.Data)
	room.y, room.slots = append(room.y[:0], p.Y...), append(room.slots[:0], p.Slots...)
	p.Outputs = &room.outputs
	if t.teacher != nil {
		p.Teacher = t.teacher.target(i)
	}
	// Lists are clipped, so that what a criterion appends goes into a copy: other goroutines read them at the same time.
	in := loss.Input{Logits: logits, Y: slices.Clip(p.Y), Role: p.Role, Slots: p.Slots, Stored: p.Stored, Valid: p.Valid,
		Teacher: p.Teacher}
	if t.classes != nil {
		in.Old, in.New, in.Share = slices.Clip(t.classes.old), slices.Clip(t.classes.current), t.classes.share()
	}
	if t.seen != nil {
		in.Seen = t.seen.Classes()
	}
	if t.recent != nil {
		in.Counts = slices.Clip(t.recent.counts)
	}
	return in
}

// see makes gradient a view of d, so that a criterion cannot give the network's own another shape.
func (r *room) see(d *tensor.Tensor) {
	r.gradient.Shape, r.gradient.Data = append(r.gradient.Shape[:0], d.Shape...), d.Data
}

// check returns an error if a criterion did what it may not: it gave its gradient another shape or other memory than d,
// changed what it reads of a pass, or found a finite loss with a gradient that is none.
func (r *room) check(p *Pass, logits, d *tensor.Tensor, mean float64) error {
	g := &r.gradient
	if !slices.Equal(g.Shape, d.Shape) || len(g.Data) != len(d.Data) || len(d.Data) > 0 && &g.Data[0] != &d.Data[0] {
		return fmt.Errorf("it made a gradient of shape %v of its own. Write into the one that is given, of shape %v", g.Shape,
			d.Shape)
	}
	if mean-mean != 0 {
		return nil // the step ends with ErrDiverged
	}
	if !slices.Equal(r.y, p.Y) || !slices.Equal(r.slots, p.Slots) ||
		!slices.EqualFunc(r.outputs.Data, logits.Data, sameBits) {
		return fmt.Errorf("it changed the labels, slots or outputs of the rows that it was given. A criterion may write to the gradient alone")
	}
	sum := float32(0)
	for _, v := range g.Data {
		sum += v - v // 0, but NaN where v is not finite
	}
	if sum != 0 {
		return fmt.Errorf("%w: the gradient has a value that is none, while the loss is %v. Use a smaller learning rate",
			ocl.ErrDiverged, mean)
	}
	return nil
}

// diverged returns an error that wraps ErrDiverged if the loss of a step is not finite. It names a criterion of
// somebody else that found it, because the learning rate may not be the reason then.
func (t *trainer) diverged(step int64, mean float64) error {
	for i := range t.passes {
		if p := &t.passes[i]; p.Len() > 0 && p.Loss-p.Loss != 0 && !isOurs(t.author(p)) {
			return fmt.Errorf("%w: %v of %T in step %d. Use a smaller learning rate, or correct the loss", ocl.ErrDiverged,
				p.Loss, t.author(p), step)
		}
	}
	return diverged(mean)
}

// isOurs says whether a criterion or a stepper is one of this module.
func isOurs(c any) bool {
	of := reflect.TypeOf(c)
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return of.PkgPath() == reflect.TypeFor[loss.CrossEntropy]().PkgPath() ||
		of.PkgPath() == reflect.TypeFor[Pass]().PkgPath()
}

// sameBits says whether two numbers are the same, NaN too.
func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
