// Package weights carries the weights of networks to other programs and back, under the names and in the shapes that
// users of PyTorch expect: a tensor for each parameter and for each running statistic. Start at [Of] and [Match].
package weights

import (
	"fmt"
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/nn"
	"ocl/nn/safetensors"
)

// Names of the tensors that a file has besides those of the network.
const (
	Means   = "ncm.means"   // [classes with a mean, features]
	Classes = "ncm.classes" // the class of each row
)

// Of lists the parameters of a network and its running statistics, in the order of the network.
func Of(net *nn.Network) (list []safetensors.Tensor) {
	for _, p := range net.Info().Named {
		values := make([]float32, p.Len())
		p.ToTorch(values, net.Params()[p.Offset:][:p.Len()])
		list = append(list, safetensors.Tensor{Name: p.Name, Shape: p.Shape(), Floats: values})
	}
	for _, p := range net.Info().Statistics {
		list = append(list, safetensors.Tensor{Name: p.Name, Shape: p.Shape(),
			Floats: slices.Clone(net.Running()[p.Offset:][:p.Len()])})
	}
	return list
}

// Start is the weights of a file that networks of one shape start from.
type Start struct {
	Prefix    string // that the names in the file have and that was left out; "" is none
	OtherHead string // note for the user if the file has a head for another number of classes; "" if the head fits

	values map[string][]float32 // in PyTorch's order; without a head that does not fit
}

// Match reads the weights of a file for networks of the shape of net. Names and shapes must be those of [Of], but a
// head for another number of classes, or of another kind, is left out: it starts as the network has it. What stands
// before all names is left out. Counts of batches that PyTorch's batch norm keeps, and class means, are passed over.
// All differences are in one error. A value that is not a finite number, or a negative variance, is an error.
func Match(net *nn.Network, f *safetensors.Reader) (*Start, error) {
	wanted := slices.Concat(net.Info().Named, net.Info().Statistics)
	names := make([]string, len(wanted))
	for i, p := range wanted {
		names[i] = p.Name
	}
	s := &Start{values: map[string][]float32{}, Prefix: f.LeaveOutPrefix(names)}
	anew := s.otherHead(net, f)
	var theirs []string
	if anew == nil {
		anew, theirs = s.otherKind(net, f)
	}
	if err := compare(wanted, anew, theirs, f); err != nil {
		return nil, err
	}
	for _, p := range wanted {
		if slices.Contains(anew, p.Name) {
			continue
		}
		info, _ := f.Find(p.Name)
		values, err := f.Floats(info)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			if v-v != 0 {
				return nil, fmt.Errorf("%s: value %d is %v. Save weights of finite numbers", p.Name, i, v)
			}
			if v < 0 && strings.HasSuffix(p.Name, ".running_var") {
				return nil, fmt.Errorf("%s: value %d is %v, but a variance is not negative. Save the network again", p.Name, i, v)
			}
		}
		s.values[p.Name] = values
	}
	return s, nil
}

// otherHead names the parameters of the head where the file has one for another number of classes.
func (s *Start) otherHead(net *nn.Network, f *safetensors.Reader) []string {
	classes, names := 0, []string(nil)
	for _, p := range net.Info().Named {
		if !p.Classes {
			continue
		}
		found, there := f.Find(p.Name)
		if !there || len(found.Shape) == 0 || names != nil && found.Shape[0] != classes ||
			!slices.Equal(found.Shape[1:], p.Shape()[1:]) {
			return nil
		}
		classes, names = found.Shape[0], append(names, p.Name)
	}
	if names == nil || classes == net.Info().Capacity {
		return nil
	}
	s.OtherHead = fmt.Sprintf("the file has a head for %d classes, but there are %d. The head (%s) starts from drawn weights",
		classes, net.Info().Capacity, strings.Join(names, ", "))
	return names
}

// otherKind names the parameters of the head, and those of the file's, where that has a head of another kind.
func (s *Start) otherKind(net *nn.Network, f *safetensors.Reader) (own, theirs []string) {
	missing := false
	for _, l := range net.Info().Layers {
		if !l.Head {
			continue
		}
		for _, p := range []nn.Param{l.Weight, l.Bias, l.Scale} {
			if p.Name == "" {
				continue
			}
			own = append(own, p.Name)
			if _, there := f.Find(p.Name); !there {
				missing = true
			}
		}
	}
	for _, name := range heads {
		if _, there := f.Find(name); there && !slices.Contains(own, name) {
			theirs = append(theirs, name)
		}
	}
	if !missing || theirs == nil {
		return nil, nil
	}
	s.OtherHead = fmt.Sprintf("the file has a head of another kind (%s). The head (%s) starts from drawn weights",
		strings.Join(theirs, ", "), strings.Join(own, ", "))
	return own, theirs
}

// heads are the tensors of the heads of the networks of this module.
var heads = []string{"linear.weight", "linear.bias", "linear.sigma", "head.0.weight", "head.0.bias", "head.2.weight",
	"head.2.bias"}

// compare returns an error that lists which tensors are missing, have another shape or are unknown. Names in passed are
// not compared, and those in extra may be there.
func compare(wanted []nn.Param, passed, extra []string, f *safetensors.Reader) error {
	var missing, shapes, unknown []string
	known := map[string]bool{Means: true, Classes: true}
	for _, name := range extra {
		known[name] = true
	}
	for _, p := range wanted {
		known[p.Name] = true
		info, there := f.Find(p.Name)
		switch {
		case slices.Contains(passed, p.Name):
		case !there:
			missing = append(missing, p.Name)
		case !slices.Equal(info.Shape, p.Shape()):
			shapes = append(shapes, fmt.Sprintf("%s is %v instead of %v", p.Name, info.Shape, p.Shape()))
		}
	}
	for _, info := range f.Tensors {
		if !known[info.Name] && !strings.HasSuffix(info.Name, ".num_batches_tracked") {
			unknown = append(unknown, fmt.Sprintf("%.60q", info.Name))
		}
	}
	n := len(missing) + len(shapes) + len(unknown)
	if n == 0 {
		return nil
	}
	var kinds []string
	for _, k := range []struct {
		kind string
		list []string
	}{{"missing", missing}, {"of another shape", shapes}, {"unknown", unknown}} {
		if len(k.list) > 0 {
			kinds = append(kinds, k.kind+": "+count.Some(k.list))
		}
	}
	noun := "tensors do"
	if n == 1 {
		noun = "tensor does"
	}
	return fmt.Errorf("%d %s not fit the network (%s). Rename or reshape them in PyTorch as docs/interop.md says, or choose the network of "+
		"the file with --network, network.width and network.hidden", n, noun, strings.Join(kinds, "; "))
}

// Into sets the parameters and running statistics of a network of the matched shape. If head is false, the head of the
// network is not changed.
func (s *Start) Into(net *nn.Network, head bool) {
	named := net.Info().Named
	for i, p := range named {
		if values, ok := s.values[p.Name]; ok && (head || i < len(named)-2) {
			p.FromTorch(net.Params()[p.Offset:][:p.Len()], values)
		}
	}
	for _, p := range net.Info().Statistics {
		copy(net.Running()[p.Offset:][:p.Len()], s.values[p.Name])
	}
	net.Changed()
}
