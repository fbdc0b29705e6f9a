package nn

import (
	"ocl/nn/internal/conv"
	"ocl/nn/internal/workers"
)

// packs holds the weights of all convolutions in the forms that the kernels need, and the version of the parameters
// that they belong to. All passes of a workspace share it.
type packs struct {
	weights           []*conv.Packed
	forward, backward uint64
}

// boundConv is a convolution of a pass and its parameter.
type boundConv struct {
	conv.Conv
	ref convRef
}

// conv makes a convolution of the pass; its weights are packed whenever they changed.
func (p *pass) conv(in, out conv.Layout, w conv.Window, ref convRef) conv.Conv {
	i := len(p.convs)
	if i == len(p.packs.weights) {
		p.packs.weights = append(p.packs.weights, &conv.Packed{})
	}
	c := p.maker.Make(in, out, w, p.packs.weights[i])
	p.convs = append(p.convs, boundConv{c, ref})
	return c
}

// norm makes a batch norm of the pass.
func (p *pass) norm(g conv.Layout, relu bool, ref normRef) *norm {
	b := newNorm(p.set, g, relu, ref)
	p.norms = append(p.norms, b)
	return b
}

// packJob packs one convolution a chunk, the last and largest first.
type packJob struct {
	p        *pass
	net      *Network
	backward bool
}

func (j *packJob) DoChunk(_, chunk int) {
	i := len(j.p.convs) - 1 - chunk
	c := &j.p.convs[i]
	w := c.ref.of(j.net.params)
	switch {
	case !j.backward:
		c.PackForward(w)
	case i > 0 && c.ref.at >= j.net.frozen.params: // no gradient goes on to the images, nor into frozen layers
		c.PackBackward(w)
	}
}

// pack makes the weights of a forward or a backward pass ready.
func (p *pass) pack(team *workers.Team, prof *profile, net *Network, backward bool) {
	done, work := &p.packs.forward, "pack forward"
	if backward {
		done, work = &p.packs.backward, "pack backward"
	}
	if *done == net.version {
		return
	}
	prof.start()
	p.job = packJob{p, net, backward}
	team.Run(&p.job, len(p.convs))
	*done = net.version
	prof.mark("weights", work)
}
