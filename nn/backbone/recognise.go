package backbone

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/internal/limit"
	"ocl/nn/safetensors"
)

// usual is what a file of a vision transformer does not say of itself.
type usual struct {
	of                 string // the architecture
	gelu               string
	resize             int // the shorter side of what a picture is scaled to, bicubically
	mean, std          [3]float32
	trainedOn, licence string
}

var (
	imageNetMean, imageNetStd = [3]float32{0.485, 0.456, 0.406}, [3]float32{0.229, 0.224, 0.225}
	halves                    = [3]float32{0.5, 0.5, 0.5}
	clipMean                  = [3]float32{0.48145466, 0.4578275, 0.40821073}
	clipStd                   = [3]float32{0.26862954, 0.26130258, 0.27577711}
)

// usualSide is that of the pictures of all of them, in pixels.
const usualSide = 224

// usuals are those of the published weights.
var usuals = []usual{
	{"dinov2-vits14", geluErf, 256, imageNetMean, imageNetStd, "LVD-142M", "Apache-2.0"},
	{"dinov2-vits14-reg4", geluErf, 256, imageNetMean, imageNetStd, "LVD-142M", "Apache-2.0"},
	{"dinov2-vitb14", geluErf, 256, imageNetMean, imageNetStd, "LVD-142M", "Apache-2.0"},
	{"dinov2-vitb14-reg4", geluErf, 256, imageNetMean, imageNetStd, "LVD-142M", "Apache-2.0"},
	{"deit-s16", geluErf, 248, imageNetMean, imageNetStd, "ImageNet-1k", "Apache-2.0"},
	{"augreg-vits16", geluErf, 248, halves, halves, "ImageNet-21k", "Apache-2.0"},
	{"augreg-vitb16", geluErf, 248, halves, halves, "ImageNet-21k", "Apache-2.0"},
	{"clip-vitb32", geluQuick, 224, clipMean, clipStd, "WebImageText", "MIT"},
	{"clip-vitb32", geluErf, 224, clipMean, clipStd, "LAION-2B", "MIT"},
	{"clip-vitb16", geluQuick, 224, clipMean, clipStd, "WebImageText", "MIT"},
	{"clip-vitb16", geluErf, 224, clipMean, clipStd, "LAION-2B", "MIT"},
}

// namesTransformer says whether a file without metadata of ours may hold a vision transformer: it has its positions,
// whatever stands before their name.
func namesTransformer(f *safetensors.Reader) bool {
	return slices.ContainsFunc(schemes, func(s *scheme) bool {
		return slices.ContainsFunc(f.Tensors, func(t safetensors.Info) bool { return called(t, s.of("pos_embed")[0]) })
	})
}

// called says whether a tensor has a name, whatever stands before it.
func called(t safetensors.Info, name string) bool {
	return t.Name == name || strings.HasSuffix(t.Name, "."+name)
}

// recognise finds the architecture of a file of a library as it is, by names and shapes, and fills the info from
// usuals. A file that fits no architecture, or two whose pictures differ, is an error.
func (b *Backbone) recognise(f *safetensors.Reader) (*network, error) {
	type candidate struct {
		a      *architecture
		r      reading
		faults int
		grid   error // of the positions
	}
	if n := len(f.Tensors); n > limit.BackboneTensors {
		return nil, fmt.Errorf("the file says no architecture and has %d tensors; at most %d are compared with those of known networks. Use a file of one network",
			n, limit.BackboneTensors)
	}
	var best []candidate
	for i := range architectures {
		a := &architectures[i]
		if a.vit == nil {
			continue
		}
		r := reading{feature: featureClass}
		if a.vit.projected > 0 {
			r.feature = featureProjection
		}
		r.scheme = schemeOf(f, a, usualSide, r)
		var grid error
		if r.stored, grid = a.vit.positionsOf(f, r.scheme, usualSide); grid != nil {
			r.stored = 1
		}
		r.positions = r.scheme.positions
		if a.vit.registers > 0 {
			r.positions = r.scheme.smooth
		}
		c := candidate{a, r, a.layOut(usualSide, r).faults(f), grid}
		if len(best) > 0 && c.faults < best[0].faults {
			best = nil
		}
		if len(best) == 0 || c.faults == best[0].faults {
			best = append(best, c)
		}
	}
	c := best[0]
	if c.grid != nil {
		return nil, c.grid
	}
	if c.faults == 0 && len(best) > 1 { // and not near to several
		var names []string
		for _, c := range best {
			names = append(names, c.a.name)
		}
		return nil, fmt.Errorf("the tensors are those of %s, which take pictures in other ways, and the file does not say which. Say it with `python3 examples/pytorch/convert.py ARCHITECTURE FILE -o OUT.safetensors`",
			strings.Join(names, " and of "))
	}
	if c.faults > 0 {
		n := c.a.layOut(usualSide, c.r)
		n.leaveOutPrefix(f)
		return nil, fmt.Errorf("the file says no architecture, and its tensors fit none. The nearest: %w. Use a file of a network that docs/format/backbone.md lists",
			n.compare(f, c.a.name))
	}
	c.r.gelu = geluErf
	if c.a.vit.projected > 0 {
		quick, err := fitsHalf(f, c.r.scheme)
		if err != nil {
			return nil, err
		}
		if quick {
			c.r.gelu = geluQuick
		}
	}
	u := usuals[slices.IndexFunc(usuals, func(u usual) bool { return u.of == c.a.name && u.gelu == c.r.gelu })]
	b.info = Info{Architecture: c.a.name, Side: usualSide, Resize: u.resize, Bicubic: true, Mean: u.mean, Std: u.std,
		TrainedOn: u.trainedOn, Licence: u.licence, Feature: c.r.feature, Remarks: fmt.Sprintf(
			"the file has the names of %s and says nothing else; it is taken for %s, trained on %s, licence %s, with the middle %d pixels of pictures made %d, bicubically, mean %v, deviation %v, GELU %s, positions %s",
			c.r.scheme.name, c.a.name, u.trainedOn, u.licence, usualSide, u.resize, u.mean, u.std, c.r.gelu, c.r.positions)}
	return c.a.layOut(usualSide, c.r), nil
}

// fitsHalf says whether CLIP's patches are exact in 16 bits, as those that OpenAI published are.
func fitsHalf(f *safetensors.Reader, s *scheme) (bool, error) {
	name := s.of("patch_embed.proj.weight")[0]
	for _, t := range f.Tensors {
		if !called(t, name) {
			continue
		}
		values, err := f.Floats(t)
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(values, func(v float32) bool {
			const more = 1 << 13 // the digits that float32 has beyond those of a normal number of 16 bits
			subnormal := math.Abs(float64(v)) < 0x1p-14 && math.Mod(float64(v), 0x1p-24) == 0
			return math.Float32bits(v)%more != 0 && !subnormal
		}), nil
	}
	return false, nil
}

// schemeOf is the scheme by which most tensors of an architecture are there.
func schemeOf(f *safetensors.Reader, a *architecture, side int, r reading) *scheme {
	best, least := schemes[0], math.MaxInt
	for _, s := range schemes {
		if s.clip && a.vit.projected == 0 {
			continue
		}
		r.scheme, r.stored = s, 1
		if faults := a.layOut(side, r).missing(f); faults < least || faults == least && s.marks(f) {
			best, least = s, faults
		}
	}
	return best
}

// missing is how many tensors of the network are not in the file, whatever their shapes.
func (n *network) missing(f *safetensors.Reader) (count int) {
	g := *f
	n.leaveOutPrefix(&g)
	for _, t := range n.tensors() {
		if _, there := g.Find(t.Name); !there {
			count++
		}
	}
	return count
}

// faults is how many tensors are missing, have another shape, or are unknown.
func (n *network) faults(f *safetensors.Reader) (count int) {
	g := *f
	n.leaveOutPrefix(&g)
	ignored, wanted := n.ignored(&g), n.tensors()
	found := 0
	for _, t := range wanted {
		info, there := g.Find(t.Name)
		if there {
			found++
		}
		if !there || !slices.Equal(bare(info.Shape), bare(t.Shape)) {
			count++
		}
	}
	return count + len(g.Tensors) - found - len(ignored)
}

// marks says whether a file has a tensor that only the scheme's library saves, beside names that others have too.
func (s *scheme) marks(f *safetensors.Reader) bool {
	return s.mark != "" && slices.ContainsFunc(f.Tensors, func(t safetensors.Info) bool { return called(t, s.mark) })
}

// ignored are the names of tensors that the network's scheme knows and that no feature needs.
func (n *network) ignored(f *safetensors.Reader) map[string]bool {
	names := map[string]bool{}
	if n.reading.scheme == nil {
		return names
	}
	wanted := map[string]bool{}
	for _, t := range n.tensors() {
		wanted[t.Name] = true
	}
	for _, t := range f.Tensors {
		for _, begin := range n.reading.scheme.ignored {
			if !wanted[t.Name] && (t.Name == begin || strings.HasSuffix(begin, ".") && strings.HasPrefix(t.Name, begin)) {
				names[t.Name] = true
			}
		}
	}
	return names
}

// positionsOf is how many rows the positions of a file have. Without positions it is the number of the network's own.
// A number that is no grid, with or without a class token, is an error.
func (v vit) positionsOf(f *safetensors.Reader, s *scheme, side int) (int, error) {
	name := s.of("pos_embed")[0]
	for _, t := range f.Tensors {
		shape := bare(t.Shape)
		if !called(t, name) || len(shape) != 2 || shape[1] != v.width {
			continue
		}
		if grid, _ := gridOf(shape[0]); grid == 0 {
			return 0, fmt.Errorf("%s has %d positions, which are no square of patches, with or without a class token. Use weights for square pictures",
				t.Name, shape[0])
		}
		return shape[0], nil
	}
	grid := side / v.patch
	return 1 + grid*grid, nil
}

// gridOf is the side of a square of positions, and whether there is one more, of the class token; a side of 0 is no
// square.
func gridOf(rows int) (side int, ofClass bool) {
	for _, classes := range []int{0, 1} {
		side := int(math.Round(math.Sqrt(float64(rows - classes))))
		if side > 0 && side*side == rows-classes {
			return side, classes == 1
		}
	}
	return 0, false
}

// textTower is from how many on tensors that no feature needs are those of a text tower.
const textTower = 100

// leftOut says what was left out of a file.
func leftOut(prefix string, ignored map[string]bool) (parts []string) {
	if prefix != "" {
		parts = append(parts, fmt.Sprintf("%.60q before the names of tensors is left out", prefix))
	}
	switch n := len(ignored); {
	case n > 0 && n >= textTower:
		parts = append(parts, fmt.Sprintf("the text tower, of %d tensors, is left out", n))
	case n > 0:
		parts = append(parts, fmt.Sprintf("%s that no feature needs %s left out: %s", count.Of(n, "tensor"), isAre(n),
			count.Some(slices.Sorted(maps.Keys(ignored)))))
	}
	return parts
}

// Is says whether a file is one of others' weights for this package, or may be: it has metadata of
// docs/format/backbone.md, or names of a vision transformer.
func Is(f *safetensors.Reader) bool { return f.Metadata[keyVersion] != "" || namesTransformer(f) }
