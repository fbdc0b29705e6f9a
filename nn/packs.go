package nn

// packs holds the weights of all convolutions in the kernels' forms, and which version of the parameters they are of. All
// passes of a workspace share it.
type packs struct {
	units             []*packed
	forward, backward uint64
	input             bool // backward: with those of the first convolution, which only the gradient of the images needs
}

// boundConv is a convolution of a pass and its parameter.
type boundConv struct {
	conv
	ref convRef
}

// conv makes a convolution of the pass; its weights are packed whenever they changed.
func (p *pass) conv(in, out geom, w window, ref convRef) conv {
	i := len(p.convs)
	if i == len(p.packs.units) {
		p.packs.units = append(p.packs.units, &packed{})
	}
	c := newConv(p.set, p.algorithm, in, out, w, p.pool.workers, p.inference, p.packs.units[i], p.scratch)
	p.convs = append(p.convs, boundConv{c, ref})
	return c
}

// norm makes a batch norm of the pass.
func (p *pass) norm(g geom, relu bool, ref normRef) *norm {
	b := newNorm(p.set, g, relu, ref)
	p.norms = append(p.norms, b)
	return b
}

// packJob packs one convolution a chunk, the last and largest first.
type packJob struct {
	p               *pass
	net             *Network
	backward, input bool
}

func (j *packJob) do(_, chunk int) {
	i := len(j.p.convs) - 1 - chunk
	c := &j.p.convs[i]
	w := c.ref.of(j.net.params)
	switch {
	case !j.backward:
		c.packForward(w)
	case i > 0 || j.input:
		c.packBackward(w)
	}
}

// pack makes the weights of a forward pass ready.
func (p *pass) pack(pool *pool, prof *profile, net *Network) {
	if p.packs.forward == net.version {
		return
	}
	prof.start()
	p.job = packJob{p, net, false, false}
	pool.run(&p.job, len(p.convs))
	p.packs.forward = net.version
	prof.mark("weights", "pack forward")
}

// packBackward makes the weights of a backward pass ready.
func (p *pass) packBackward(pool *pool, prof *profile, net *Network, input bool) {
	if p.packs.backward == net.version && (p.packs.input || !input) {
		return
	}
	prof.start()
	p.job = packJob{p, net, true, input}
	pool.run(&p.job, len(p.convs))
	p.packs.backward, p.packs.input = net.version, input
	prof.mark("weights", "pack backward")
}
