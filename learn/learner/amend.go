package learner

import (
	"fmt"
	"slices"

	"ocl"
	"ocl/learn/memory"
)

var (
	_ Amending = (*Replay)(nil)
	_ Amending = (*Nearest)(nil)
	_ Amending = (*ICaRL)(nil)
	_ Amending = (*EWC)(nil)
	_ Amending = (*AGEM)(nil)
	_ Amending = Bounded{}
)

// remove removes the samples in slots from m, and tells those who keep something by slot. It begins with the last slot,
// so that the others stay where they are.
func remove(m *memory.Store, slots []int, follow ...memory.Remover) {
	for _, slot := range slices.Backward(slots) {
		last := m.Len() - 1
		m.Remove(slot)
		for _, f := range follow {
			f.Removed(slot, last)
		}
	}
}

// Remove implements [Amending].
func (r *Replay) Remove(slots []int) error {
	if len(slots) == 0 {
		return nil
	}
	r.prepare()
	var follow []memory.Remover
	for _, part := range []any{r.Update, r.Retrieve, r.Step, r.Criterion} {
		if f, follows := part.(memory.Remover); follows {
			follow = append(follow, f)
			continue
		}
		_, around := part.(ocl.Learner) // such as EWC, which is asked itself
		if _, stateful := part.(ocl.State); stateful && !around {
			return fmt.Errorf("learner: %T has a state, and does not say that it can let go of a stored sample. Let it implement memory.Remover",
				part)
		}
	}
	if r.Review != nil {
		follow = append(follow, r.Review)
	}
	remove(r.Memory, slots, follow...)
	return nil
}

// Relabel implements [Amending].
func (r *Replay) Relabel(slot int, y ocl.Label) error {
	switch {
	case y < 0 || int(y) >= r.Net.Info().Classes:
		return fmt.Errorf("learner: label %d is not a class in [0, %d)", y, r.Net.Info().Classes)
	case r.Classes != nil && !r.Classes.have(y):
		return ErrNoTask
	}
	if r.Seen != nil {
		r.Seen.add([]ocl.Label{y})
	}
	r.Memory.Relabel(slot, y)
	return nil
}

// have says whether a class is one of this task or of an earlier one.
func (c *Classes) have(y ocl.Label) bool {
	_, current := slices.BinarySearch(c.current, y)
	_, old := slices.BinarySearch(c.old, y)
	return current || old
}

// Removed implements [memory.Remover], for a review that ctx has ended on its way.
func (v *Review) Removed(slot, last int) { v.left = without(v.left, int32(slot), int32(last)) }

// without is a list of slots, in any order, after a Remove.
func without[T int | int32](slots []T, slot, last T) []T {
	slots = slices.DeleteFunc(slots, func(s T) bool { return s == slot })
	if at := slices.Index(slots, last); at >= 0 {
		slots[at] = slot
	}
	return slots
}

// Remove implements [Amending]. The means of an earlier Prepare become stale.
func (n *Nearest) Remove(slots []int) error {
	if err := n.Replay.Remove(slots); err != nil {
		return err
	}
	n.ncm.Forget()
	return nil
}

// Relabel implements [Amending], with stale means too.
func (n *Nearest) Relabel(slot int, y ocl.Label) error {
	if err := n.Replay.Relabel(slot, y); err != nil {
		return err
	}
	n.ncm.Forget()
	return nil
}

// Remove implements [Amending]. The means of an earlier Prepare become stale.
func (l *ICaRL) Remove(slots []int) error {
	l.prepare()
	l.ncm.Forget()
	follow := []memory.Remover{l}
	if l.Review != nil {
		follow = append(follow, l.Review)
	}
	remove(l.Memory, slots, follow...)
	return nil
}

// Removed implements [memory.Remover].
func (l *ICaRL) Removed(slot, last int) {
	l.earlier = without(l.earlier, slot, last)
	slices.Sort(l.earlier)
}

// Relabel implements [Amending]. The means of an earlier Prepare become stale.
func (l *ICaRL) Relabel(slot int, y ocl.Label) error {
	l.prepare()
	switch {
	case y < 0 || int(y) >= l.Net.Info().Classes:
		return fmt.Errorf("learner: icarl: label %d is not a class in [0, %d)", y, l.Net.Info().Classes)
	case l.column[y] < 0:
		return ErrNoTask
	}
	l.ncm.Forget()
	l.Memory.Relabel(slot, y)
	return nil
}
