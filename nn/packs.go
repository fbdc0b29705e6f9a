package nn

import (
	"ocl/internal/kernel"
	"ocl/nn/internal/conv"
	"ocl/nn/internal/workers"
)

// packs holds the weights of all convolutions in the forms that the kernels need, and the version of the parameters
// that they belong to. All passes of a workspace share it, but those that pack them just before their use (briefConv).
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
	if p.brief {
		c := p.maker.Make(in, out, w, &conv.Packed{Room: &p.room})
		p.convs = append(p.convs, boundConv{c, ref})
		return &briefConv{c, p, ref}
	}
	if i == len(p.packs.weights) {
		p.packs.weights = append(p.packs.weights, &conv.Packed{})
	}
	c := p.maker.Make(in, out, w, p.packs.weights[i])
	p.convs = append(p.convs, boundConv{c, ref})
	return c
}

// briefConv is a convolution of a pass that packs weights just before their use, into memory that all of its
// convolutions share. A pass that learns and has one worker does this, as those of a step do that run side by side: all
// packed weights of the reduced ResNet-18 take 10.6 MB forward and back each, and push activations out of the caches.
type briefConv struct {
	conv.Conv
	p   *pass
	ref convRef
}

// briefly is what lies in the room of a pass.
type briefly struct {
	conv     *briefConv
	backward bool
	version  uint64
}

func (c *briefConv) pack(backward bool) {
	p := c.p
	now := briefly{c, backward, p.net.version}
	if p.packed == now {
		return
	}
	w := c.ref.of(p.net.params)
	if backward {
		c.PackBackward(w)
		p.mark(c.ref.name, "pack backward")
	} else {
		c.PackForward(w)
		p.mark(c.ref.name, "pack forward")
	}
	p.packed = now
}

func (c *briefConv) Forward(team conv.Team, z, x []float32, images int, f kernel.Finish) {
	c.pack(false)
	c.Conv.Forward(team, z, x, images, f)
}

func (c *briefConv) InputGradient(team conv.Team, dx, dz []float32, images int, res []float32) {
	c.pack(true)
	c.Conv.InputGradient(team, dx, dz, images, res)
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
	if p.brief || *done == net.version {
		return
	}
	prof.start()
	p.job = packJob{p, net, backward}
	team.Run(&p.job, len(p.convs))
	*done = net.version
	prof.mark("weights", work)
}
