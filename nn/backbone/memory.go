package backbone

import (
	"fmt"

	"ocl/internal/budget"
	"ocl/internal/count"
	"ocl/nn"
	"ocl/nn/internal/conv"
)

// floatBytes is the size of a value.
const floatBytes = 4

// Memory is the least memory in bytes that the backbone takes with so many workspaces at once, each of so many workers
// and pictures at a time: its weights, and the maps of the workspaces. It takes none of it. Of a network of this
// project, whose maps are small, only the weights are counted.
func (b *Backbone) Memory(workspaces, workersCount, batch int) (weights, maps int64) {
	if b.own != nil {
		return floatBytes * int64(b.own.Footprint().Params()), 0
	}
	p := newPlan(b, workersCount, b.net.group(batch))
	_, rooms := p.rooms()
	for _, g := range rooms {
		maps += floatBytes * int64(g.Size())
	}
	for _, o := range p.ops {
		maps += floatBytes * int64(o.memory)
	}
	weights, _ = b.Work()
	weights *= floatBytes
	return weights, maps * int64(workspaces)
}

// CheckMemory is an error that wraps [nn.ErrMemory] if this process may use less than [Backbone.Memory].
func (b *Backbone) CheckMemory(workspaces, workersCount, batch int) error {
	weights, maps := b.Memory(workspaces, workersCount, batch)
	if have := budget.Bytes(); weights+maps > have {
		return fmt.Errorf("the pretrained network needs at least %s of memory (weights %s, maps of %s at once %s), but this process may use %s: %w",
			count.Bytes(weights+maps), count.Bytes(weights), count.Of(workspaces, "picture"), count.Bytes(maps),
			count.Bytes(have), nn.ErrMemory)
	}
	return nil
}

// rooms says which room each value has, and how each room is laid out. Values of one layout share a room where one is
// read for the last time before the other is written.
func (p *plan) rooms() (of []int, rooms []conv.Layout) {
	const nowhere = -1
	for range p.layouts {
		of = append(of, nowhere)
	}
	free := map[conv.Layout][]int{}
	take := func(v value) {
		g := p.layouts[v]
		if n := len(free[g]); n > 0 {
			of[v], free[g] = free[g][n-1], free[g][:n-1]
			return
		}
		of[v], rooms = len(rooms), append(rooms, g)
	}
	take(0)
	for i, o := range p.ops {
		take(o.layer.out)
		for v, last := range p.last {
			// What goes from the early layers to the late ones is kept for all pictures.
			if last == i && of[v] != nowhere && value(v) != o.layer.out && (p.layouts[v].N == 1 || i >= p.early) {
				free[p.layouts[v]] = append(free[p.layouts[v]], of[v])
			}
		}
	}
	return of, rooms
}
