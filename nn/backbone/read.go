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
	keyMean         = "mean"
	keyStd          = "std"
	keyTrainedOn    = "trained_on"
	keyLicence      = "licence"
	keyExport       = "ocl_version" // of files that `ocl export` writes
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
	if err := b.describe(m); err != nil {
		return err
	}
	at := slices.IndexFunc(architectures, func(a struct {
		name   string
		layers func(n *network)
	}) bool {
		return a.name == b.info.Architecture
	})
	n := newNetwork(b.info.Side, 0)
	architectures[at].layers(n)
	n.leaveOutPrefix(f)
	last := n.layers[len(n.layers)-1]
	if head, there := f.Find(last.name + ".weight"); there && len(head.Shape) > 0 && head.Shape[0] >= 1 &&
		head.Shape[0] <= limit.KnownClasses {
		n.classes = head.Shape[0]
	} else {
		n.classes = 1000
	}
	n.maps[last.out].channels = n.classes
	b.info.Features, b.info.Classes, b.net = n.channels(n.features()), n.classes, n
	if err := n.compare(f, b.info.Architecture); err != nil {
		return err
	}
	return b.load(f)
}

// describe fills the info from the metadata. All faults are in one error.
func (b *Backbone) describe(m map[string]string) error {
	var missing []string
	for _, key := range []string{keyVersion, keyArchitecture, keySide, keyMean, keyStd, keyTrainedOn, keyLicence} {
		if m[key] == "" {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the metadata %s of a backbone %s missing. %s", strings.Join(missing, ", "), isAre(len(missing)),
			again)
	}
	b.info = Info{Architecture: m[keyArchitecture], TrainedOn: m[keyTrainedOn], Licence: m[keyLicence]}
	var names []string
	for _, a := range architectures {
		names = append(names, a.name)
	}
	var errs []error
	if !slices.Contains(names, b.info.Architecture) {
		errs = append(errs, fmt.Errorf("the architecture %.40q is unknown. %s", b.info.Architecture,
			nearest.Hint(b.info.Architecture, names)))
	}
	var err error
	if b.info.Side, err = strconv.Atoi(m[keySide]); err != nil || b.info.Side < limit.BackboneLeastSide ||
		b.info.Side > limit.BackboneSide {
		errs = append(errs, fmt.Errorf("side is %.20q instead of a whole number from %d to %d. %s", m[keySide],
			limit.BackboneLeastSide, limit.BackboneSide, again))
	}
	if b.info.Mean, err = three(m[keyMean], func(v float64) bool { return math.Abs(v) <= 1 }); err != nil {
		errs = append(errs, fmt.Errorf("mean is %.60q instead of three numbers from -1 to 1. %s", m[keyMean], again))
	}
	if b.info.Std, err = three(m[keyStd], func(v float64) bool { return v >= 1e-3 && v <= 1e3 }); err != nil {
		errs = append(errs, fmt.Errorf("std is %.60q instead of three numbers from 0.001 to 1000. %s", m[keyStd], again))
	}
	return errors.Join(errs...)
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
	ins := n.channels(l.in)
	switch l.kind {
	case depthwiseLayer:
		ins = 1
	case logitsLayer:
		return []int{n.channels(l.out), ins}
	}
	return []int{n.channels(l.out), ins, l.window.side, l.window.side}
}

// tensors are those that a file has for the network.
func (n *network) tensors() (list []safetensors.Info) {
	for _, l := range n.layers {
		if l.name == "" {
			continue
		}
		list = append(list, safetensors.Info{Name: l.name + ".weight", Shape: n.shape(l)})
		outs := []int{n.channels(l.out)}
		if l.norm == "" {
			list = append(list, safetensors.Info{Name: l.name + ".bias", Shape: outs})
			continue
		}
		for _, part := range []string{"weight", "bias", "running_mean", "running_var"} {
			list = append(list, safetensors.Info{Name: l.norm + "." + part, Shape: outs})
		}
	}
	return list
}

// leaveOutPrefix leaves out what stands before the names of all tensors of the network.
func (n *network) leaveOutPrefix(f *safetensors.Reader) {
	var names []string
	for _, t := range n.tensors() {
		names = append(names, t.Name)
	}
	f.LeaveOutPrefix(names)
}

// floatTypes are the types that weights may have.
var floatTypes = []string{"F32", "F64", "F16", "BF16"}

// compare lists in one error all tensors that are missing, have another shape or type, or are unknown. Counts of
// batches, which PyTorch's batch norm keeps, are passed over.
func (n *network) compare(f *safetensors.Reader, architecture string) error {
	var missing, shapes, types, unknown []string
	known := map[string]bool{}
	for _, t := range n.tensors() {
		known[t.Name] = true
		found, there := f.Find(t.Name)
		switch {
		case !there:
			missing = append(missing, t.Name)
		case !slices.Contains(floatTypes, found.Type):
			types = append(types, fmt.Sprintf("%s is %s instead of %s", t.Name, found.Type, strings.Join(floatTypes, ", ")))
		case !slices.Equal(found.Shape, t.Shape):
			shapes = append(shapes, fmt.Sprintf("%s is %v instead of %v", t.Name, found.Shape, t.Shape))
		}
	}
	for _, t := range f.Tensors {
		if !known[t.Name] && !strings.HasSuffix(t.Name, ".num_batches_tracked") {
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
	return fmt.Errorf("%d %s not those of %s (%s). Give examples/pytorch/convert.py the name of the architecture that the weights belong to",
		total, noun, architecture, strings.Join(kinds, "; "))
}

// load packs the weights, and folds each batch norm into a factor and a summand for each output.
func (b *Backbone) load(f *safetensors.Reader) error {
	for _, o := range newPlan(b, 1, 1).ops {
		l := o.layer
		if l.name == "" {
			continue
		}
		w, err := finite(f, l.name+".weight")
		if err != nil {
			return err
		}
		o.pack(b.net.order(l, w))
		if err := b.net.fold(l, f); err != nil {
			return err
		}
	}
	return nil
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
func (n *network) order(l *layer, w []float32) []float32 {
	if l.kind == depthwiseLayer {
		return w
	}
	ins, outs, taps := n.channels(l.in), n.channels(l.out), l.window.side*l.window.side
	ordered := make([]float32, len(w))
	for o := range outs {
		for k := range ins * taps {
			ordered[k*outs+o] = w[o*ins*taps+k]
		}
	}
	return ordered
}

// fold makes sum·scale + shift of what follows a sum: with a batch norm scale = γ/√(σ²+ε) and shift = β - μ·scale,
// computed in float64; with a bias that.
func (n *network) fold(l *layer, f *safetensors.Reader) error {
	outs := n.channels(l.out)
	l.scale, l.shift = make([]float32, conv.Reach(outs)), make([]float32, conv.Reach(outs))
	if l.norm == "" {
		bias, err := finite(f, l.name+".bias")
		if err != nil {
			return err
		}
		for o, v := range bias {
			l.scale[o], l.shift[o] = 1, v
		}
		return nil
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
		l.scale[o], l.shift[o] = float32(scale), float32(beta-mu*scale)
	}
	return nil
}
