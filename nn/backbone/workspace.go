package backbone

import (
	"fmt"

	"ocl/internal/kernel"
	"ocl/nn"
	"ocl/nn/internal/conv"
	"ocl/nn/internal/workers"
	"ocl/nn/tensor"
)

// Workspace computes with a backbone, on a team of workers. It is for one goroutine at a time.
type Workspace struct {
	b     *Backbone
	team  *workers.Team
	plan  *plan
	bufs  [][]float32 // of each value; some share one
	table [3][256]float32

	pixels []uint8 // of the pictures at work, the first of which is picture at
	at     int

	own *nn.Workspace // of a network of this project, instead of plan
	x   tensor.Tensor
}

// NewWorkspace makes one with so many workers (at least 1), which computes as many pictures at a time as batch says (at
// least 1), or fewer. Workers and batch change the speed and the memory, and no bit of a result. Close ends the
// workers.
func (b *Backbone) NewWorkspace(workersCount, batch int) *Workspace {
	w := &Workspace{b: b}
	for c := range w.table {
		for v := range w.table[c] {
			w.table[c][v] = (float32(v)/255 - b.info.Mean[c]) / b.info.Std[c]
		}
	}
	if b.own != nil {
		w.own = b.own.Readers(1, max(1, workersCount))[0]
		return w
	}
	w.team = workers.New(workersCount)
	w.plan = newPlan(b, w.team.Size(), b.net.group(batch))
	w.bufs = w.plan.buffers()
	return w
}

// Close ends the workers. Closing twice is harmless.
func (w *Workspace) Close() {
	if w.own != nil {
		w.own.Close()
		return
	}
	w.team.Close()
}

// Features writes the features of n pictures, n ≥ 0, to dst [n,D]. The pixels are [n,3,Side,Side]: all red values of a
// picture row by row, then the green and the blue ones. The features of a picture depend neither on the other pictures
// nor on the workers, to the bit. A feature that is no finite number is an error, which weights of finite but huge
// numbers may give. It panics if the lengths of dst and pixels are not those of n pictures.
func (w *Workspace) Features(dst []float32, pixels []uint8, n int) error {
	return w.run(dst, nil, pixels, n)
}

// Logits is [Workspace.Features] for the logits [n,Classes], which are what the file's own classifier gives before a
// softmax. It panics if the network has none.
func (w *Workspace) Logits(dst []float32, pixels []uint8, n int) error {
	if w.b.info.Classes == 0 {
		panic("backbone: the network has no logits")
	}
	return w.run(nil, dst, pixels, n)
}

// run writes the features or the logits of n pictures; nil is not wanted.
func (w *Workspace) run(features, logits []float32, pixels []uint8, n int) error {
	i := w.b.info
	picture := 3 * i.Side * i.Side
	if len(pixels) != n*picture || features != nil && len(features) != n*i.Features || logits != nil &&
		len(logits) != n*i.Classes {
		panic(fmt.Sprintf("backbone: %d pictures with %d bytes of pixels and room for %d features and %d logits. A picture has %d bytes, %d features and %d logits",
			n, len(pixels), len(features), len(logits), picture, i.Features, i.Classes))
	}
	group := mostGroup
	if w.own == nil {
		group = w.plan.group
	}
	for at := 0; at < n; at += group {
		m := min(group, n-at)
		if w.own != nil {
			w.predict(features, logits, pixels[at*picture:][:m*picture], at, m)
		} else {
			w.compute(features, logits, pixels[at*picture:][:m*picture], at, m)
		}
	}
	if err := finiteRows("feature", features, i.Features); err != nil {
		return err
	}
	return finiteRows("logit", logits, i.Classes)
}

// finiteRows is an error where a value is no finite number.
func finiteRows(what string, values []float32, columns int) error {
	for k, v := range values {
		if v-v != 0 {
			return fmt.Errorf("backbone: picture %d: %s %d is %v. The weights of the file give no finite numbers; use others",
				k/columns, what, k%columns, v)
		}
	}
	return nil
}

// compute runs the layers for m pictures, which are those from at on: the early layers picture by picture, so that
// their large maps stay in the caches, and the late ones for all, so that their weights do.
func (w *Workspace) compute(features, logits []float32, pixels []uint8, at, m int) {
	p := w.plan
	for img := range m {
		w.pixels = pixels[img*3*p.side*p.side:]
		w.at = 0
		if p.early == 0 {
			w.at = img
		}
		w.team.Run(w, p.side)
		for _, o := range p.ops[:p.early] {
			o.run(w, img, 1)
		}
	}
	for _, o := range p.ops[p.early:] {
		if o.layer.kind == logitsLayer && logits == nil {
			break
		}
		o.run(w, 0, m)
	}
	rows(features, w.bufs[p.features], p.layouts[p.features], at, m)
	if logits != nil {
		last := p.ops[len(p.ops)-1].layer.out
		rows(logits, w.bufs[last], p.layouts[last], at, m)
	}
}

// rows copies values of m pictures to dst, whose rows from at on they are.
func rows(dst, src []float32, g conv.Layout, at, m int) {
	if dst == nil {
		return
	}
	for img := range m {
		copy(dst[(at+img)*g.C:][:g.C], src[g.From(img):])
	}
}

// DoChunk implements [workers.Task]: it writes a row of a picture as the network takes it.
func (w *Workspace) DoChunk(_, y int) {
	side, g := w.plan.side, w.plan.layouts[0]
	row := w.bufs[0][g.PixelAt(w.at, y, 0):][:3*side]
	for c := range w.table {
		table, from := &w.table[c], w.pixels[(c*side+y)*side:][:side]
		for x, v := range from {
			row[3*x+c] = table[v]
		}
	}
}

// predict is compute for a network of this project.
func (w *Workspace) predict(features, logits []float32, pixels []uint8, at, m int) {
	side, own := w.b.info.Side, w.b.own
	w.x.Resize(m, 3, side, side)
	for i, v := range pixels {
		w.x.Data[i] = w.table[i/(side*side)%3][v]
	}
	if features != nil {
		copy(features[at*w.b.info.Features:], own.Predict(w.own, &w.x).Features.Data)
	}
	if logits != nil {
		copy(logits[at*w.b.info.Classes:], own.Predict(w.own, &w.x).Logits.Data)
	}
}

const (
	// mostGroup is the most pictures that the late layers take at a time: more share no more of the weights' way through
	// the caches.
	mostGroup = 16
	// mostTransformed is the same for vision transformers, where the tokens of one picture share the weights already.
	mostTransformed = 4
	// earlySide is the smallest map, in pixels, that is computed picture by picture.
	earlySide = 29
)

// group is how many pictures the late layers take at a time for so many in a batch.
func (n *network) group(batch int) int {
	most := mostGroup
	if n.reading.scheme != nil {
		most = mostTransformed
	}
	return min(max(1, batch), most)
}

// plan is the layers made ready for a number of pictures at a time.
type plan struct {
	side, group int
	early       int // the first layers, which take one picture at a time
	layouts     []conv.Layout
	ops         []*op
	last        []int // the last layer that reads each value
	features    value
}

// op is a layer with what computes it.
type op struct {
	*layer
	in, out conv.Layout
	memory  int // floats that it keeps beside its input and output
	pack    func(w []float32)
	forward func(team conv.Team, z, x []float32, images int, f kernel.Finish)
}

// newPlan makes the layers of a network ready for so many workers and pictures at a time. The packed weights are
// shared.
func newPlan(b *Backbone, workersCount, group int) *plan {
	n, m := b.net, &conv.Maker{Set: b.set, Algorithm: b.engine.Convolution, Workers: workersCount, Inference: true}
	p := &plan{side: n.side, group: group, last: make([]int, len(n.maps)), features: n.features}
	for p.early < len(n.layers) && n.maps[n.layers[p.early].in].columns >= earlySide {
		p.early++
	}
	images := make([]int, len(n.maps)) // that each value has room for
	for i, l := range n.layers {
		for _, v := range []value{l.in, l.res, l.out} {
			if v == none {
				continue
			}
			images[v] = max(images[v], 1)
			if i >= p.early {
				images[v] = group
			}
			p.last[v] = max(p.last[v], i)
		}
	}
	for v, s := range n.maps {
		p.layouts = append(p.layouts, layoutOf(s, v == 0, images[v]))
	}
	for i, l := range n.layers {
		images := group
		if i < p.early {
			images = 1
		}
		in, out := layoutOf(n.maps[l.in], l.in == 0, images), layoutOf(n.maps[l.out], false, images)
		p.ops = append(p.ops, newOp(m, l, in, out))
	}
	return p
}

// layoutOf is how a value lies in memory.
func layoutOf(s size, picture bool, images int) conv.Layout {
	if picture {
		return conv.DenseLayout(s.channels, s.rows, s.columns, images, s.border)
	}
	return conv.ChannelLastLayout(s.channels, s.rows, s.columns, images).Bordered(s.border)
}

func newOp(m *conv.Maker, l *layer, in, out conv.Layout) *op {
	o := &op{layer: l, in: in, out: out}
	switch l.kind {
	case stemLayer:
		c := m.Stem(in, out, l.window.taps(), &l.packed)
		o.pack, o.forward = c.PackForward, c.Forward
	case depthwiseLayer:
		c := m.Depthwise(in, out, l.window.taps(), &l.packed)
		o.pack, o.forward = c.PackForward, c.Forward
	case maxPoolLayer:
		c := m.MaxPool(in, out, l.window.taps())
		o.forward = func(team conv.Team, z, x []float32, images int, _ kernel.Finish) { c.Forward(team, z, x, images) }
	case meanLayer:
		c := &means{set: m.Set, in: in, out: out}
		o.forward = c.forward
	case attentionLayer:
		c := m.Attention(in, out, l.heads)
		o.memory = c.Memory()
		o.forward = func(team conv.Team, z, x []float32, images int, _ kernel.Finish) { c.Forward(team, z, x, images) }
	case tokensLayer, layerNormLayer, classLayer, classMeanLayer:
		o.forward = newTokenOp(m.Set, l, in, out).forward
	default:
		c := m.Make(in, out, conv.Window{Taps: l.window.side * l.window.side, Stride: l.window.stride}, &l.packed)
		o.pack, o.forward = c.PackForward, c.Forward
		if l.act == gelu || l.act == quickGELU {
			t := newTokenOp(m.Set, l, in, out)
			o.forward = func(team conv.Team, z, x []float32, images int, f kernel.Finish) {
				c.Forward(team, z, x, images, f)
				t.forward(team, z, x, images, f)
			}
		}
	}
	return o
}

// run computes the layer for some pictures, which are those of the workspace from img on. A value that has room for one
// picture holds that one.
func (o *op) run(w *Workspace, img, images int) {
	place := func(v value) []float32 {
		g := w.plan.layouts[v]
		if g.N == 1 {
			return w.bufs[v]
		}
		return w.bufs[v][g.From(img):]
	}
	f := kernel.Finish{Scale: o.scale, Shift: o.shift, Relu: o.act == relu || o.act == relu6}
	if o.act == relu6 {
		f.Most = 6
	}
	if o.res != none {
		f.Res = place(o.res)
	}
	o.forward(w.team, place(o.layer.out), place(o.layer.in), images, f)
}

// buffers makes room for the values. The borders of maps stay zero.
func (p *plan) buffers() [][]float32 {
	of, rooms := p.rooms()
	made, all := make([][]float32, len(rooms)), make([][]float32, len(of))
	for r, g := range rooms {
		made[r] = make([]float32, g.Size())
	}
	for v, r := range of {
		if r >= 0 {
			all[v] = made[r]
		}
	}
	return all
}

// means is the mean over all pixels of each channel.
type means struct {
	set      *kernel.Set
	in, out  conv.Layout
	dst, src []float32
}

func (t *means) forward(team conv.Team, dst, src []float32, images int, _ kernel.Finish) {
	t.dst, t.src = dst, src
	team.Run(t, images)
}

// DoChunk implements [workers.Task].
func (t *means) DoChunk(_, img int) {
	sum := t.dst[t.out.From(img):][:t.in.C]
	clear(sum)
	t.set.ChannelLastSums(sum, t.src[t.in.From(img):], t.in.Pixels(), t.in.PixelStride)
	for c := range sum {
		sum[c] /= float32(t.in.Pixels())
	}
}
