package arch

import (
	"fmt"

	"ocl/nn"
	"ocl/nn/internal/wired"
	"ocl/nn/tensor"
	"ocl/rng"
)

// SharingConfig sizes the classifiers of a growing mixture (CN-DPM, survey §methods; sizes as in its authors' code) and
// says how they compute.
type SharingConfig struct {
	Channels, Height, Width int
	Classes                 int
	Features                int // channels of the first classifier's first map
	Growth                  int // channels of the first map of each further classifier
	Blocks                  int // in each of the four stages
	Engine                  nn.Engine
}

// Sharing is a residual network with instance norm that reads, beside its own maps, those of the classifiers before it:
// a 3×3 convolution, four stages of blocks with one, two, four and eight times the width, the mean over the last map
// and a linear layer. After the convolution, the first three stages and the mean its own map is joined to those of the
// classifiers before it, which get no gradient of it.
type Sharing struct {
	Net *nn.Network

	config   SharingConfig
	own, all int // channels of its own first map, and of those of all classifiers up to it
	stem     wired.Weights
	blocks   []sharingBlock
	head     wired.Weights
}

// sharingBlock is two convolutions, and one beside them where the map changes its size.
type sharingBlock struct {
	conv1, conv2, short wired.Weights
	stride              int
	beside              bool
}

// Size is the number of parameters of a classifier that has so many before it. It makes none.
func (c SharingConfig) Size(before int) int {
	own, all := widths(c.Features, c.Growth, before)
	size, in := 9*c.Channels*own, all
	for stage := range stages {
		out := own << stage
		size += 9*(in+out)*out + (c.Blocks-1)*18*out*out
		if stage > 0 || in != out {
			size += in * out
		}
		in = all << stage
	}
	return size + (in+1)*c.Classes
}

// Work is the number of operations that it takes to classify an image by a classifier that has so many before it.
func (c SharingConfig) Work(before int) int64 {
	own, all := widths(c.Features, c.Growth, before)
	h, w, in := c.Height, c.Width, all
	work := int64(9 * c.Channels * own * h * w)
	for stage := range stages {
		if stage > 0 {
			h, w = (h+1)/2, (w+1)/2
		}
		out := own << stage
		taps := 9*(in+out)*out + (c.Blocks-1)*18*out*out
		if stage > 0 || in != out {
			taps += in * out
		}
		work += int64(taps) * int64(h*w)
		in = all << stage
	}
	return 2 * (work + int64(in*c.Classes))
}

// New draws a classifier from src that has so many before it.
func (c SharingConfig) New(before int, src *rng.Source) (*Sharing, error) {
	if c.Channels < 1 || c.Classes < 1 || c.Features < 1 || c.Growth < 1 || c.Blocks < 1 {
		return nil, fmt.Errorf("arch: classifier: %d channels, %d classes, %d features, growth %d, %d blocks. Use at least 1 of each",
			c.Channels, c.Classes, c.Features, c.Growth, c.Blocks)
	}
	if err := CheckExpert(c.Height, c.Width); err != nil {
		return nil, err
	}
	b, err := nn.NewBuilder(c.Channels, c.Height, c.Width, c.Engine, src)
	if err != nil {
		return nil, err
	}
	n := &Sharing{config: c}
	n.own, n.all = widths(c.Features, c.Growth, before)
	n.stem = wired.Conv(b, "layer0", c.Channels, 3, n.own, false)
	in := n.all
	for stage := range stages {
		out := n.own << stage
		for i := range c.Blocks {
			name := fmt.Sprintf("layer%d.%d", stage+1, i)
			l := sharingBlock{stride: 1}
			if stage > 0 && i == 0 {
				l.stride = 2
			}
			l.conv1, l.conv2 = wired.Conv(b, name+".conv1", in, 3, out, false), wired.Conv(b, name+".conv2", out, 3, out, false)
			if l.beside = l.stride != 1 || in != out; l.beside {
				l.short = wired.Conv(b, name+".shortcut", in, 1, out, false)
			}
			n.blocks = append(n.blocks, l)
			in = out
		}
		in = n.all << stage
	}
	n.head = wired.Matrix(b, "linear", n.all<<(stages-1), c.Classes)
	if n.Net, err = b.Build(); err != nil {
		return nil, err
	}
	return n, nil
}

// Sharings is the lateral pass through several classifiers, which read those before them.
type Sharings struct {
	wiring   *wired.Wiring
	input    *wired.Map
	sections []*wired.Section
	logits   []*wired.Map
	images   int
}

// Pass makes the lateral pass of classifiers for up to n images at a time; classifier i has i before it. Those from
// learning on have a backward pass.
func (c SharingConfig) Pass(ws *nn.Workspace, all []*Sharing, n, learning int) *Sharings {
	p := &Sharings{wiring: wired.New(ws, all[0].Net.Info().Engine, n)}
	p.input = p.wiring.Input(c.Channels, c.Height, c.Width, false)
	last := all[len(all)-1].all
	var trunks []*wired.Trunk
	for stage, h, w := 0, c.Height, c.Width; stage < stages; stage++ {
		if stage > 1 { // the first stage keeps the size
			h, w = (h+1)/2, (w+1)/2
		}
		trunks = append(trunks, p.wiring.Trunk(last<<max(stage-1, 0), h, w))
	}
	pooled := p.wiring.Trunk(last<<(stages-1), 1, 1)
	for i, a := range all {
		s := p.wiring.Section(a.Net, i >= learning)
		y := s.InstanceNorm(s.Conv(a.stem, p.input, 1, false), nil, true)
		for stage := range stages {
			y = s.Join(trunks[stage], y)
			for _, l := range a.blocks[stage*c.Blocks : (stage+1)*c.Blocks] {
				y = l.wire(s, y)
			}
		}
		y = s.Join(pooled, s.MeanPool(y))
		p.sections, p.logits = append(p.sections, s), append(p.logits, s.Linear(a.head, y, false))
	}
	return p
}

// wire adds a block.
func (l sharingBlock) wire(s *wired.Section, x *wired.Map) *wired.Map {
	y := s.InstanceNorm(s.Conv(l.conv1, x, l.stride, false), nil, true)
	short := x
	if l.beside {
		short = s.InstanceNorm(s.Conv(l.short, x, l.stride, false), nil, false)
	}
	return s.InstanceNorm(s.Conv(l.conv2, y, 1, false), short, true)
}

// Classify finds the logits of images [B,C,H,W] by all classifiers.
func (p *Sharings) Classify(x *tensor.Tensor) {
	p.images = x.Dim(0)
	p.input.Load(x)
	p.wiring.Forward(p.images)
}

// Logits are what classifier k gave an image [K]. They hold until the next call of Classify.
func (p *Sharings) Logits(k, img int) []float32 { return p.logits[k].Row(img) }

// Learn adds the gradients of classifier k, given those of the logits of all images [B,K].
func (p *Sharings) Learn(k int, d *tensor.Tensor) {
	for img := range p.images {
		copy(p.logits[k].Gradient(img), d.Row(img))
	}
	p.sections[k].Backward()
}

// FLOPs is the number of operations of [Sharings.Classify] for one image.
func (p *Sharings) FLOPs() (sum int64) {
	for _, s := range p.sections {
		sum += s.FLOPs()
	}
	return sum
}
