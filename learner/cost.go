package learner

import (
	"ocl"
	"ocl/nn"
)

// meter holds what the passes of the last Observe took.
type meter struct{ flops int64 }

// since sets it to what ws has counted since it had counted so much.
func (m *meter) since(ws *nn.Workspace, before int64) { m.flops = ws.FLOPs() - before }

// cost is that of a learner that predicts with one network.
func (m *meter) cost(net *nn.Network) ocl.Cost {
	return ocl.Cost{Parameters: len(net.Params()), StepFLOPs: m.flops, ImageFLOPs: net.FLOPs()}
}

// Cost implements [ocl.Learner].
func (r *Replay) Cost() ocl.Cost { return r.meter.cost(r.Net) }

// Cost implements [ocl.Learner]. The distances to class means are not counted.
func (l *ICaRL) Cost() ocl.Cost { return l.meter.cost(l.Net) }

// Cost implements [ocl.Learner]. A step costs nothing: Prepare is none.
func (g *GDumb) Cost() ocl.Cost { return (&meter{}).cost(g.Net) }
