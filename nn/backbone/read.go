package backbone

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/internal/limit"
	"ocl/internal/nearest"
	"ocl/nn/internal/conv"
	"ocl/nn/safetensors"
)

// Keys of the metadata.
const (
	keyVersion      = "ocl_backbone" // of the format
	keyArchitecture = "architecture"
	keySide         = "side"
	keyResize       = "resize" // where it is not the side
	keyFilter       = "filter" // where it is not bilinear
	keyMean         = "mean"
	keyStd          = "std"
	keyTrainedOn    = "trained_on"
	keyLicence      = "licence"
	keyFeature      = "feature"
	keyGELU         = "gelu"
	keyPositions    = "positions"
	keyExport       = "ocl_version" // of files that `ocl export` writes
)

// Values of the key filter.
const (
	filterBilinear = "bilinear"
	filterBicubic  = "bicubic"
)

// version is that of the format.
const version = "1"

// again ends messages about files that a conversion mends.
const again = "Make the file again with examples/pytorch/convert.py"

// read makes the backbone of a file of others' weights.
func (b *Backbone) read(f *safetensors.Reader) error {
	m := f.Metadata
	if v := m[keyVersion]; v != version && v != "" {
		return fmt.Errorf("the format has version %.20q, and this program reads version %s. Use a program of the version that made the file, or one of a later one",
			v, version)
	}
	var n *network
	if m[keyVersion] == "" && m[keyArchitecture] == "" && namesTransformer(f) {
		var err error
		if n, err = b.recognise(f); err != nil {
			return err
		}
	} else {
		r, err := b.describe(m)
		if err != nil {
			return err
		}
		a := lookUp(b.info.Architecture)
		if a.vit != nil {
			r.scheme = schemeOf(f, a, b.info.Side, r)
			if r.stored, err = a.vit.positionsOf(f, r.scheme, b.info.Side); err != nil {
				return err
			}
		}
		n = a.layOut(b.info.Side, r)
	}
	said := leftOut(n.leaveOutPrefix(f), n.ignored(f))
	if b.info.Remarks != "" {
		said = append([]string{b.info.Remarks}, said...)
	}
	b.info.Remarks = strings.Join(said, "; ")
	if last := n.layers[len(n.layers)-1]; last.kind == logitsLayer {
		if head, there := f.Find(last.name + ".weight"); there && len(head.Shape) > 0 && head.Shape[0] >= 1 &&
			head.Shape[0] <= limit.KnownClasses {
			n.setClasses(head.Shape[0])
		}
	}
	b.info.Features, b.info.Classes, b.net = n.channels(n.features), n.classes(), n
	if err := n.compare(f, b.info.Architecture); err != nil {
		return fmt.Errorf("%w. Give examples/pytorch/convert.py the name of the architecture that the weights belong to", err)
	}
	return b.load(f)
}

// describe fills the info from the metadata, and returns what they say of a vision transformer. All faults are in one
// error.
func (b *Backbone) describe(m map[string]string) (r reading, err error) {
	var missing []string
	keys := []string{keyVersion, keyArchitecture, keySide, keyMean, keyStd, keyTrainedOn, keyLicence}
	a := lookUp(m[keyArchitecture])
	side := limit.BackboneLeastSide
	if a != nil && a.vit != nil {
		keys = append(keys, keyFeature, keyGELU, keyPositions)
		side = a.vit.patch
	}
	for _, key := range keys {
		if m[key] == "" {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return r, fmt.Errorf("the metadata %s of a backbone %s missing. %s", strings.Join(missing, ", "),
			isAre(len(missing)), again)
	}
	b.info = Info{Architecture: m[keyArchitecture], TrainedOn: m[keyTrainedOn], Licence: m[keyLicence],
		Feature: m[keyFeature]}
	r = reading{feature: m[keyFeature], gelu: m[keyGELU], positions: m[keyPositions]}
	var errs []error
	if a == nil {
		var names []string
		for _, a := range architectures {
			names = append(names, a.name)
		}
		errs = append(errs, fmt.Errorf("the architecture %.40q is unknown. %s", b.info.Architecture,
			nearest.Hint(b.info.Architecture, names)))
	}
	if b.info.Side, err = strconv.Atoi(m[keySide]); err != nil || b.info.Side < side || b.info.Side > limit.BackboneSide {
		errs = append(errs, fmt.Errorf("side is %.20q instead of a whole number from %d to %d. %s", m[keySide], side,
			limit.BackboneSide, again))
	} else if a != nil && a.vit != nil && b.info.Side%a.vit.patch != 0 {
		errs = append(errs, fmt.Errorf("side is %d, which is no multiple of the side of a patch, %d. %s", b.info.Side,
			a.vit.patch, again))
	}
	errs = append(errs, b.info.scaling(m))
	if b.info.Mean, err = three(m[keyMean], func(v float64) bool { return math.Abs(v) <= 1 }); err != nil {
		errs = append(errs, fmt.Errorf("mean is %.60q instead of three numbers from -1 to 1. %s", m[keyMean], again))
	}
	if b.info.Std, err = three(m[keyStd], func(v float64) bool { return v >= 1e-3 && v <= 1e3 }); err != nil {
		errs = append(errs, fmt.Errorf("std is %.60q instead of three numbers from 0.001 to 1000. %s", m[keyStd], again))
	}
	if a != nil && a.vit != nil {
		features := []string{featureClass, featureClassMean}
		if a.vit.projected > 0 {
			features = append(features, featureProjection)
		}
		for _, k := range []struct {
			key    string
			values []string
		}{{keyFeature, features}, {keyGELU, []string{geluErf, geluQuick}},
			{keyPositions, []string{positionsOffset, positionsPlain, positionsSmooth}}} {
			if !slices.Contains(k.values, m[k.key]) {
				errs = append(errs, fmt.Errorf("%s is %.40q instead of one of %s. %s", k.key, m[k.key],
					strings.Join(k.values, ", "), again))
			}
		}
	}
	return r, errors.Join(errs...)
}

// scaling fills in how pictures are scaled to the side, which is known.
func (i *Info) scaling(m map[string]string) (err error) {
	i.Resize, i.Bicubic = i.Side, m[keyFilter] == filterBicubic
	if text, said := m[keyResize]; said {
		if i.Resize, err = strconv.Atoi(text); err != nil || i.Resize < i.Side || i.Resize > limit.BackboneSide ||
			(i.Resize-i.Side)%2 != 0 {
			return fmt.Errorf("resize is %.20q instead of the side, %d, or an even number more, up to %d. %s", text, i.Side,
				limit.BackboneSide, again)
		}
	}
	if filter, said := m[keyFilter]; said && filter != filterBilinear && filter != filterBicubic {
		return fmt.Errorf("filter is %.20q instead of %s or %s. %s", filter, filterBilinear, filterBicubic, again)
	}
	return nil
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// three reads a list of three numbers as JSON.
func three(text string, fits func(v float64) bool) (list [3]float32, err error) {
	var all []*float64
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return list, err
	}
	if len(all) != len(list) {
		return list, fmt.Errorf("%d numbers", len(all))
	}
	for i, v := range all {
		if v == nil || !fits(*v) {
			return list, errors.New("a number that does not fit")
		}
		list[i] = float32(*v)
	}
	return list, nil
}

// shape is that of the weights in PyTorch's order.
func (n *network) shape(l *layer) []int {
	ins, outs := n.channels(l.in), n.channels(l.out)
	switch {
	case l.kind == depthwiseLayer:
		ins = 1
	case l.turned:
		return []int{ins, outs}
	case l.flat:
		return []int{outs, ins}
	}
	return []int{outs, ins, l.window.side, l.window.side}
}

// tensors are those that a file has for the network, by the names that it has there.
func (n *network) tensors() (list []safetensors.Info) {
	want := func(name string, shape ...int) {
		names := n.named(name)
		for _, part := range names {
			rows := slices.Clone(shape)
			rows[0] /= len(names)
			list = append(list, safetensors.Info{Name: part, Shape: rows})
		}
	}
	for _, l := range n.layers {
		outs := n.channels(l.out)
		switch l.kind {
		case tokensLayer:
			want("cls_token", outs)
			want("pos_embed", n.reading.stored, outs)
			if l.first > 1 {
				want("reg_token", l.first-1, outs)
			}
		case layerNormLayer:
			want(l.name+".weight", outs)
			want(l.name+".bias", outs)
		case stemLayer, denseLayer, depthwiseLayer, logitsLayer:
			want(l.name+".weight", n.shape(l)...)
			switch {
			case l.norm != "":
				for _, part := range []string{"weight", "bias", "running_mean", "running_var"} {
					want(l.norm+"."+part, outs)
				}
			case !l.unbiased:
				want(l.name+".bias", outs)
			}
			if l.gamma != "" {
				want(l.gamma, outs)
			}
		}
	}
	return list
}

// named is what the file calls a tensor: its parts, which follow each other along the first axis.
func (n *network) named(name string) []string {
	if n.reading.scheme == nil {
		return []string{name}
	}
	return n.reading.scheme.of(name)
}

// leaveOutPrefix leaves out what stands before the names of all tensors of the network, and returns it.
func (n *network) leaveOutPrefix(f *safetensors.Reader) string {
	var names []string
	for _, t := range n.tensors() {
		names = append(names, t.Name)
	}
	return f.LeaveOutPrefix(names)
}

// floatTypes are the types that weights may have.
var floatTypes = []string{"F32", "F64", "F16", "BF16"}

// quantised says where a type is that of weights in steps.
func quantised(name string) string {
	if name == "I8" || name == "U8" || strings.HasPrefix(name, "F8") {
		return " (quantised)"
	}
	return ""
}

// compare lists in one error all tensors that are missing, have another shape or type, or are unknown. Counts of
// batches, which PyTorch's batch norm keeps, are passed over.
func (n *network) compare(f *safetensors.Reader, architecture string) error {
	var missing, shapes, types, unknown []string
	known, ignored := map[string]bool{}, n.ignored(f)
	for _, t := range n.tensors() {
		known[t.Name] = true
		found, there := f.Find(t.Name)
		switch {
		case !there:
			missing = append(missing, t.Name)
		case !slices.Contains(floatTypes, found.Type):
			types = append(types, fmt.Sprintf("%s is %s%s instead of %s", t.Name, found.Type, quantised(found.Type),
				strings.Join(floatTypes, ", ")))
		case !slices.Equal(found.Shape, t.Shape) && (n.reading.scheme == nil || !slices.Equal(bare(found.Shape), t.Shape)):
			shapes = append(shapes, fmt.Sprintf("%s is %v instead of %v", t.Name, found.Shape, t.Shape))
		}
	}
	for _, t := range f.Tensors {
		if !known[t.Name] && !ignored[t.Name] && !strings.HasSuffix(t.Name, ".num_batches_tracked") {
			unknown = append(unknown, fmt.Sprintf("%.60q", t.Name))
		}
	}
	var kinds []string
	for _, k := range []struct {
		kind string
		list []string
	}{{"missing", missing}, {"of another shape", shapes}, {"of another type", types}, {"unknown", unknown}} {
		if len(k.list) > 0 {
			kinds = append(kinds, k.kind+": "+count.Some(k.list))
		}
	}
	if kinds == nil {
		return nil
	}
	noun := "tensors are"
	total := len(missing) + len(shapes) + len(types) + len(unknown)
	if total == 1 {
		noun = "tensor is"
	}
	return fmt.Errorf("%d %s not those of %s (%s)", total, noun, architecture, strings.Join(kinds, "; "))
}

// bare is a shape without the ones before it, such as that of a class token [1,1,D].
func bare(shape []int) []int {
	for len(shape) > 1 && shape[0] == 1 {
		shape = shape[1:]
	}
	return shape
}

// load packs the weights, and folds each batch norm into a factor and a summand for each output.
func (b *Backbone) load(f *safetensors.Reader) error {
	for _, o := range newPlan(b, 1, 1).ops {
		l := o.layer
		switch l.kind {
		case tokensLayer:
			if err := b.net.loadTokens(l, f); err != nil {
				return err
			}
			continue
		case layerNormLayer:
			var err error
			if l.scale, err = b.net.floats(f, l.name+".weight"); err == nil {
				l.shift, err = b.net.floats(f, l.name+".bias")
			}
			if err != nil {
				return err
			}
			continue
		}
		if l.name == "" {
			continue
		}
		w, err := b.net.floats(f, l.name+".weight")
		if err != nil {
			return err
		}
		o.pack(b.order(l, w))
		if err := b.net.fold(l, f); err != nil {
			return err
		}
	}
	return nil
}

// loadTokens makes what tokens begin with: the class token and its position, registers, and the positions of patches.
func (n *network) loadTokens(l *layer, f *safetensors.Reader) error {
	d, grid := n.channels(l.out), n.maps[l.in].rows
	class, err := n.floats(f, "cls_token")
	if err != nil {
		return err
	}
	positions, err := n.floats(f, "pos_embed")
	if err != nil {
		return err
	}
	l.start = slices.Clone(class)
	if side, ofClass := gridOf(n.reading.stored); ofClass {
		for i, v := range positions[:d] {
			l.start[i] += v
		}
		positions = resample(positions[d:], side, grid, d, n.reading.positions)
	} else {
		positions = resample(positions, side, grid, d, n.reading.positions)
	}
	if l.first > 1 {
		registers, err := n.floats(f, "reg_token")
		if err != nil {
			return err
		}
		l.start = append(l.start, registers...)
	}
	l.start = append(l.start, positions...)
	return nil
}

// floats reads a tensor, of which the file may have parts.
func (n *network) floats(f *safetensors.Reader, name string) ([]float32, error) {
	names := n.named(name)
	all, err := finite(f, names[0])
	for _, part := range names[1:] {
		if err != nil {
			break
		}
		var more []float32
		more, err = finite(f, part)
		all = append(all, more...)
	}
	return all, err
}

// finite reads a tensor, whose values must be finite numbers.
func finite(f *safetensors.Reader, name string) ([]float32, error) {
	info, _ := f.Find(name)
	values, err := f.Floats(info)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		if v-v != 0 {
			return nil, fmt.Errorf("%s: value %d is %v. Save weights of finite numbers", name, i, v)
		}
	}
	return values, nil
}

// order is weights [out][in][tap] as [in][tap][out], and those of a depthwise convolution as they are.
func (b *Backbone) order(l *layer, w []float32) []float32 {
	if l.kind == depthwiseLayer || l.turned {
		return w
	}
	outs := b.net.channels(l.out)
	ins := len(w) / outs
	ordered := make([]float32, len(w))
	b.set.Transpose(ordered, outs, w, ins, outs, ins)
	return ordered
}

// fold makes sum·scale + shift of what follows a sum: with a batch norm scale = γ/√(σ²+ε) and shift = β - μ·scale,
// computed in float64; with a bias that, times the
// layer's gamma.
func (n *network) fold(l *layer, f *safetensors.Reader) error {
	outs := n.channels(l.out)
	l.scale, l.shift = make([]float32, conv.Reach(outs)), make([]float32, conv.Reach(outs))
	if l.norm == "" {
		for o := range outs {
			l.scale[o] = 1
		}
		var err error
		if l.gamma != "" {
			if l.scale, err = n.floats(f, l.gamma); err != nil {
				return err
			}
			l.scale = append(l.scale, make([]float32, conv.Reach(outs)-outs)...)
		}
		if l.unbiased {
			return nil
		}
		bias, err := n.floats(f, l.name+".bias")
		for o, v := range bias {
			l.shift[o] = v * l.scale[o]
		}
		return err
	}
	var parts [4][]float32
	for i, part := range []string{"weight", "bias", "running_mean", "running_var"} {
		var err error
		if parts[i], err = finite(f, l.norm+"."+part); err != nil {
			return err
		}
	}
	for o := range outs {
		gamma, beta, mu, variance := float64(parts[0][o]), float64(parts[1][o]), float64(parts[2][o]), float64(parts[3][o])
		if variance < 0 {
			return fmt.Errorf("%s.running_var: value %d is %v, but a variance is not negative. Save the network again", l.norm,
				o, variance)
		}
		scale := gamma / math.Sqrt(variance+n.epsilon)
		l.scale[o], l.shift[o] = float32(scale), float32(beta-float64(mu*scale))
	}
	return nil
}
