package learner

import (
	"ocl/checkpoint"
	"ocl/nn"
)

// Mean is a network whose numbers are an exponential mean of those of the network that learns, running statistics too:
//
//	θ' ← m·θ' + (1 − m)·θ   after each step
//
// It begins as a copy, predicts in place of the network, and is never trained (Soutif-Cormerais et al. 2023, Improving
// Online Continual Learning Performance and Stability with Temporal Ensembles). With m = 0 it is the network.
type Mean struct {
	Momentum float64 // m, in [0,1)

	net *nn.Network // nil before the first call
}

// of is the mean network of a network.
func (m *Mean) of(net *nn.Network) *nn.Network {
	if m.net == nil {
		m.net = net.Clone()
	}
	if k := net.Info().Classes; m.net.Info().Classes != k {
		m.net.SetActive(k)
	}
	return m.net
}

// follow takes a step after the network.
func (m *Mean) follow(net *nn.Network) {
	to := m.of(net)
	keep, take := float32(m.Momentum), float32(1-m.Momentum)
	for _, pair := range [][2][]float32{{to.Params(), net.Params()}, {to.Running(), net.Running()}} {
		from := pair[1]
		for i, v := range pair[0] {
			pair[0][i] = float32(keep*v) + float32(take*from[i])
		}
	}
	to.Changed()
}

// parts is the state of a mean of the shape of net.
func (m *Mean) parts(net *nn.Network) checkpoint.Parts {
	return checkpoint.Parts{checkpoint.Later(func() checkpoint.Parts {
		return checkpoint.Parts{checkpoint.Inline(m.of(net))}
	})}
}
