package learner

import (
	"ocl"
	"ocl/nn"
)

// meter holds the floating-point operations of the last Observe.
type meter struct{ flops int64 }

// since sets the meter to the operations that ws has counted after its count was before.
func (m *meter) since(ws *nn.Workspace, before int64) { m.flops = ws.FLOPs() - before }

// cost returns the cost of a learner that predicts with the one network net.
func (m *meter) cost(net *nn.Network) ocl.Cost {
	return ocl.Cost{Parameters: len(net.Params()), StepFLOPs: m.flops, ImageFLOPs: net.Info().FLOPs}
}

// Cost implements [ocl.Learner].
func (r *Replay) Cost() ocl.Cost { return r.meter.cost(r.Net) }

// Cost implements [ocl.Learner]. The distances to class means are not counted.
func (l *ICaRL) Cost() ocl.Cost { return l.meter.cost(l.Net) }

// Cost implements [ocl.Learner]. A step costs nothing, because all training happens in Prepare.
func (g *GDumb) Cost() ocl.Cost { return (&meter{}).cost(g.Net) }
