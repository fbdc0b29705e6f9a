package learner

import (
	"fmt"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/nn"
	"ocl/nn/tensor"
)

// Mean is a network whose numbers are an exponential mean of those of the network that learns, running statistics too:
//
//	θ' ← m·θ' + (1 − m)·θ   after each step
//
// It begins as a copy, predicts in place of the network, and is never trained (Soutif-Cormerais et al. 2023, Improving
// Online Continual Learning Performance and Stability with Temporal Ensembles). With m = 0 it is the network.
//
// With Teaches it is also the teacher of each step (Michel et al. 2024, Rethinking Momentum Knowledge Distillation in
// Online Continual Learning): it answers for the rows of each pass by its running statistics, and each pass has a
// second one with the same images as they came, not augmented, and the same answers, for a Criterion such as
// [loss.MeanDistilled]. Then neither of the two networks predicts, but the mean of both, (θ + θ')/2. Passes with a
// criterion of their own, and those of views, are as without it.
type Mean struct {
	Momentum float64 // m, in [0,1)
	Teaches  bool

	net     *nn.Network // nil before the first call
	half    *nn.Network // (θ + θ')/2, with Teaches
	halfOf  [2]uint64   // the versions of θ and θ' that half is of
	ws      *nn.Workspace
	passes  []Pass           // of a step, with second ones
	answers []*tensor.Tensor // [B,K] of θ', for each pass that has a second one
	raw     []*memory.Buffer // images as they came, likewise
	view    tensor.Tensor    // of a row
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
	mix(m.of(net), m.of(net), net, m.Momentum)
}

// mix sets the numbers of a network to keep·a + (1 − keep)·b.
func mix(to, a, b *nn.Network, keep float64) {
	share, rest := float32(keep), float32(1-keep)
	for _, v := range [][3][]float32{{to.Params(), a.Params(), b.Params()}, {to.Running(), a.Running(), b.Running()}} {
		for i, x := range v[1] {
			v[0][i] = float32(share*x) + float32(rest*v[2][i])
		}
	}
	to.Changed()
}

// predicting is the network that predicts in place of a network.
func (m *Mean) predicting(net *nn.Network) *nn.Network {
	mean := m.of(net)
	if !m.Teaches {
		return mean
	}
	now := [2]uint64{net.Info().Version, mean.Info().Version}
	if m.half == nil {
		m.half = net.Clone()
	}
	if m.halfOf != now {
		mix(m.half, mean, net, 0.5)
		m.halfOf = now
	}
	if k := net.Info().Classes; m.half.Info().Classes != k {
		m.half.SetActive(k)
	}
	return m.half
}

// taught are passes with the answers of the mean network, and after them their second ones.
func (r *Replay) taught(passes []Pass) ([]Pass, error) {
	m := r.Mean
	if m.ws == nil {
		m.ws = r.WS.Beside()
	}
	m.passes = append(m.passes[:0], passes...)
	used := 0
	for i := range passes {
		p := &m.passes[i]
		if p.Len() == 0 || p.Criterion != nil || p.Role.Has(loss.View) {
			continue
		}
		if used == len(m.raw) {
			m.raw, m.answers = append(m.raw, &memory.Buffer{}), append(m.answers, &tensor.Tensor{})
		}
		logits := m.of(r.Net).Predict(m.ws, p.X).Logits
		p.Teacher = m.answers[used]
		p.Teacher.Resize(logits.Shape...)
		copy(p.Teacher.Data, logits.Data)
		second := *p
		if err := r.asTheyCame(m.raw[used], &second); err != nil {
			return nil, err
		}
		second.Role |= loss.View
		second.second = true
		m.passes = append(m.passes, second)
		used++
	}
	return m.passes, nil
}

// asTheyCame gives a pass the images of its rows before they were augmented, in a buffer.
func (r *Replay) asTheyCame(dst *memory.Buffer, p *Pass) error {
	dst.Resize(p.Len(), p.X.Dim(1), p.X.Dim(2), p.X.Dim(3))
	copy(dst.Y, p.Y)
	came, view := 0, &r.Mean.view
	for row := range p.Y {
		switch {
		case p.Slots != nil && p.Slots[row] >= 0:
			view.SetRows(&dst.X, row, row+1)
			r.Memory.Gather(view, dst.Y[row:row+1], p.Slots[row:row+1])
		case came == r.incoming.Len():
			return fmt.Errorf("%T made a pass with more rows than the incoming batch and memory slots have, so their images are not known as they came. Use Incoming, Draw and Join",
				r.Step)
		default:
			copy(dst.X.Row(row), r.incoming.X.Row(came))
			came++
		}
	}
	p.Batch = ocl.Batch{X: &dst.X, Y: dst.Y}
	return nil
}

// parts is the state of a mean of the shape of net.
func (m *Mean) parts(net *nn.Network) checkpoint.Parts {
	return checkpoint.Parts{checkpoint.Later(func() checkpoint.Parts {
		return checkpoint.Parts{checkpoint.Inline(m.of(net))}
	})}
}
