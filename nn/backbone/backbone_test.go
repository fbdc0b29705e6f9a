package backbone

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/safetensors"
	"ocl/nn/weights"
	"ocl/rng"
)

// content is a file of weights before it is written.
type content struct {
	metadata map[string]string
	tensors  []safetensors.Tensor
}

// drawn is a file of a network of layers with drawn weights. Logits are as many as classes, where there are some.
func drawn(name string, side, classes int, seed uint64) content {
	a := lookUp(name)
	var r reading
	if a.vit != nil {
		r = reading{scheme: schemes[0], feature: featureClass, gelu: geluErf, positions: positionsSmooth, stored: 1 + 4*4}
		if a.vit.projected > 0 {
			r.feature, r.gelu = featureProjection, geluQuick
		}
	}
	return drawnOf(a, side, classes, r, seed)
}

// drawnOf is drawn for an architecture by itself.
func drawnOf(a *architecture, side, classes int, reading reading, seed uint64) content {
	n := a.layOut(side, reading)
	if n.classes() > 0 {
		n.setClasses(classes)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	c := content{metadata: map[string]string{keyVersion: version, keyArchitecture: a.name, keySide: fmt.Sprint(side),
		keyMean: "[0.4,0.5,0.6]", keyStd: "[0.2,0.25,0.3]", keyTrainedOn: "nothing", keyLicence: "none"}}
	if a.vit != nil {
		c.metadata[keyFeature], c.metadata[keyGELU], c.metadata[keyPositions] = reading.feature, reading.gelu,
			reading.positions
	}
	for _, info := range n.tensors() {
		t := safetensors.Tensor{Name: info.Name, Shape: info.Shape}
		t.Floats = make([]float32, t.Len())
		fan := 1
		for _, d := range t.Shape[1:] {
			fan *= d
		}
		for i := range t.Floats {
			switch v := r.NormFloat64(); {
			case strings.HasSuffix(t.Name, "running_var"):
				t.Floats[i] = float32(0.3 + v*v)
			case len(t.Shape) == 1 && (strings.HasSuffix(t.Name, "weight") || strings.HasSuffix(t.Name, "gamma")):
				t.Floats[i] = float32(0.6 + 0.2*v)
			case len(t.Shape) == 1 || strings.HasPrefix(t.Name, "pos"):
				t.Floats[i] = float32(0.3 * v)
			default:
				t.Floats[i] = float32(v * math.Sqrt(2/float64(fan)))
			}
		}
		c.tensors = append(c.tensors, t)
	}
	return c
}

// text is the bytes of the file.
func (c content) text(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := safetensors.Write(&out, c.tensors, c.metadata); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// photos are drawn pictures.
func photos(n, side int) []uint8 {
	r := rand.New(rand.NewPCG(7, 0))
	pixels := make([]uint8, n*3*side*side)
	for i := range pixels {
		pixels[i] = uint8(r.IntN(256))
	}
	return pixels
}

// exactly computes the features and logits of a picture in float64, by the definitions. The names of tensors are
// timm's.
func exactly(c content, n *network, mean, std [3]float32, pixels []uint8) (features, out []float64) {
	tensor := func(name string) []float32 {
		return c.tensors[slices.IndexFunc(c.tensors, func(t safetensors.Tensor) bool { return t.Name == name })].Floats
	}
	maps := make([][]float64, len(n.maps)) // [c][y][x]
	maps[0] = make([]float64, len(pixels))
	for i, v := range pixels {
		k := i / (n.side * n.side)
		maps[0][i] = (float64(v)/255 - float64(mean[k])) / float64(std[k])
	}
	for _, l := range n.layers {
		in, z := n.maps[l.in], n.maps[l.out]
		area, outs := in.rows*in.columns, z.rows*z.columns
		x, y := maps[l.in], make([]float64, z.channels*outs)
		maps[l.out] = y
		switch l.kind {
		case meanLayer:
			for i, v := range x {
				y[i/area] += v / float64(area)
			}
			continue
		case tokensLayer, layerNormLayer, attentionLayer, classLayer, classMeanLayer:
			exactTokens(y, x, in, z, l, n.reading, tensor)
			continue
		}
		var w []float32
		if l.name != "" {
			w = tensor(l.name + ".weight")
		}
		q, taps := l.window, l.window.side*l.window.side
		for i := range y {
			o, oy, ox := i/outs, i%outs/z.columns, i%z.columns
			sum := 0.
			if l.kind == maxPoolLayer {
				sum = math.Inf(-1)
			}
			for t := range taps {
				iy, ix := oy*q.stride-q.before+t/q.side, ox*q.stride-q.before+t%q.side
				if iy < 0 || ix < 0 || iy >= in.rows || ix >= in.columns {
					continue
				}
				at := iy*in.columns + ix
				switch l.kind {
				case maxPoolLayer:
					sum = max(sum, x[o*area+at])
				case depthwiseLayer:
					sum += x[o*area+at] * float64(w[o*taps+t])
				default:
					for ch := range in.channels {
						sum += x[ch*area+at] * float64(w[(o*in.channels+ch)*taps+t])
					}
				}
			}
			if l.norm != "" {
				sum = (sum-float64(tensor(l.norm + ".running_mean")[o]))/math.Sqrt(float64(tensor(l.norm +
					".running_var")[o])+n.epsilon)*
					float64(tensor(l.norm + ".weight")[o]) + float64(tensor(l.norm + ".bias")[o])
			} else if l.name != "" && !l.unbiased {
				sum += float64(tensor(l.name + ".bias")[o])
			}
			if l.gamma != "" {
				sum *= float64(tensor(l.gamma)[o])
			}
			if l.res != none {
				sum += maps[l.res][i]
			}
			switch l.act {
			case relu:
				sum = max(sum, 0)
			case relu6:
				sum = min(max(sum, 0), 6)
			case gelu:
				sum *= 0.5 * math.Erfc(-sum/math.Sqrt2)
			case quickGELU:
				sum /= 1 + math.Exp(-1.702*sum)
			}
			y[i] = sum
		}
	}
	return maps[n.features], maps[n.layers[len(n.layers)-1].out]
}

// exactTokens is exactly for the layers of vision transformers. Values are [channels][tokens].
func exactTokens(y, x []float64, in, out size, l *layer, r reading, tensor func(name string) []float32) {
	from, to := in.rows*in.columns, out.rows*out.columns
	switch l.kind {
	case tokensLayer:
		positions, class, side := tensor("pos_embed"), 0, in.rows
		stored, ofClass := gridOf(r.stored)
		if ofClass {
			class = 1
		}
		grid := resample(positions[class*out.channels:], stored, side, out.channels, r.positions)
		for c := range out.channels {
			for t := range to {
				at := c*to + t
				switch {
				case t == 0:
					y[at] = float64(tensor("cls_token")[c])
					if ofClass {
						y[at] += float64(positions[c])
					}
				case t < l.first:
					y[at] = float64(tensor("reg_token")[(t-1)*out.channels+c])
				default:
					y[at] = x[c*from+t-l.first] + float64(grid[(t-l.first)*out.channels+c])
				}
			}
		}
	case layerNormLayer:
		for t := range to {
			mean, variance := 0., 0.
			for c := range out.channels {
				mean += x[c*to+t] / float64(out.channels)
			}
			for c := range out.channels {
				variance += (x[c*to+t] - mean) * (x[c*to+t] - mean) / float64(out.channels)
			}
			for c := range out.channels {
				y[c*to+t] = (x[c*to+t]-mean)/math.Sqrt(variance+l.epsilon)*float64(tensor(l.name + ".weight")[c]) +
					float64(tensor(l.name + ".bias")[c])
			}
		}
	case attentionLayer:
		width := out.channels / l.heads
		for head := range l.heads {
			for t := range to {
				p, sum := make([]float64, from), 0.
				for j := range p {
					for k := head * width; k < (head+1)*width; k++ {
						p[j] += x[k*from+t] * x[(out.channels+k)*from+j]
					}
					p[j] = math.Exp(p[j] / math.Sqrt(float64(width)))
					sum += p[j]
				}
				for k := head * width; k < (head+1)*width; k++ {
					for j := range p {
						y[k*to+t] += p[j] / sum * x[(2*out.channels+k)*from+j]
					}
				}
			}
		}
	case classLayer:
		for c := range y {
			y[c] = x[c*from]
		}
	case classMeanLayer:
		for c := range in.channels {
			y[c] = x[c*from]
			for t := l.first; t < from; t++ {
				y[in.channels+c] += x[c*from+t] / float64(from-l.first)
			}
		}
	}
}

// TestReference compares every architecture, with drawn weights and small pictures of even and odd maps, with the
// definitions in float64, by every kernel set and both algorithms of convolutions.
func TestReference(t *testing.T) {
	for _, c := range []struct {
		name string
		side int
	}{{"efficientnet-lite0", 32}, {"efficientnet-lite0", 45}, {"efficientnet-lite2", 33}, {"torchvision-resnet18", 45}, {"torchvision-resnet50", 32},
		{"dinov2-vits14-reg4", 28}} {
		if os.Getenv("OCL_LONG") == "" && c.name == "torchvision-resnet50" {
			continue
		}
		file := drawn(c.name, c.side, 11, 1)
		text, pixels := file.text(t), photos(1, c.side)
		var features, out []float64
		for _, set := range nn.Kernels() {
			for _, algorithm := range []string{"direct", "winograd"} {
				if algorithm == "winograd" && (set == "generic" || !strings.HasPrefix(c.name, "torchvision")) {
					continue // it is slow, or has no 3×3 convolution of stride 1
				}
				t.Run(fmt.Sprint(c.name, "/", c.side, "/", set, "/", algorithm), func(t *testing.T) {
					b, err := decode(text, nn.Engine{Kernel: set, Convolution: algorithm})
					if err != nil {
						t.Fatal(err)
					}
					if features == nil {
						features, out = exactly(file, b.net, b.info.Mean, b.info.Std, pixels)
					}
					w := b.NewWorkspace(1, 1)
					defer w.Close()
					got, logits := make([]float32, b.info.Features), make([]float32, b.info.Classes)
					if err := w.Features(got, pixels, 1); err != nil {
						t.Fatal(err)
					}
					near(t, "features", got, features)
					if b.info.Classes == 0 {
						return
					}
					if err := w.Logits(logits, pixels, 1); err != nil {
						t.Fatal(err)
					}
					near(t, "logits", logits, out)
				})
			}
		}
	}
}

func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	const tolerance = 2e-5
	worst, largest := 0., 0.
	for i, v := range want {
		worst, largest = max(worst, math.Abs(float64(got[i])-v)), max(largest, math.Abs(v))
	}
	if !(worst <= tolerance*largest) || !(largest > 1e-3) {
		t.Errorf("%s differ by %.2g of the largest, %.3g", what, worst/largest, largest)
	}
}

// TestSameBits: the features of a picture are the same bits with one, two and three workers, alone and in batches of
// every composition, also where batches are larger than a workspace takes at a time.
func TestSameBits(t *testing.T) {
	for _, name := range []string{"efficientnet-lite0", "torchvision-resnet18", "dinov2-vits14-reg4"} {
		const side, n = 56, 7
		b, err := decode(drawn(name, side, 3, 2).text(t), nn.DefaultEngine())
		if err != nil {
			t.Fatal(err)
		}
		pixels, d := photos(n, side), b.info.Features
		picture := len(pixels) / n
		var want []float32
		for _, workers := range []int{1, 2, 3} {
			for _, batch := range []int{1, 3, 16} {
				w := b.NewWorkspace(workers, batch)
				got := make([]float32, n*d)
				for lo := 0; lo < n; lo += 4 { // 4 and 3
					m := min(4, n-lo)
					if err := w.Features(got[lo*d:][:m*d], pixels[lo*picture:][:m*picture], m); err != nil {
						t.Fatal(err)
					}
				}
				w.Close()
				if want == nil {
					want = got
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: %d workers and batches of %d give other bits", name, workers, batch)
				}
			}
		}
		if slices.Equal(want[:d], want[d:2*d]) {
			t.Errorf("%s: two pictures have the same features", name)
		}
	}
}

// TestOwn: a file of a network of this project gives the outputs of the network.
func TestOwn(t *testing.T) {
	for name, c := range map[string]arch.Config{
		arch.NameResNet18: {NF: 4}, arch.NameMLP: {Hidden: []int{20, 7}},
	} {
		entry, err := arch.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Channels, c.Height, c.Width, c.Classes = 3, 32, 32, 5
		net, err := entry.New(c, rng.New(3, "network/init"))
		if err != nil {
			t.Fatal(err)
		}
		file := content{tensors: weights.Of(net), metadata: map[string]string{keyExport: "1", keyArchitecture: name,
			"shape": "[3,32,32]", "classes": "5",
			"width": "4", "hidden": "[20,7]", keyMean: "[0.5,0.5,0.5]", keyStd: "[0.5,0.25,1]", "data": "glyphs"}}
		b, err := decode(file.text(t), nn.DefaultEngine())
		if err != nil {
			t.Fatal(err)
		}
		w := b.NewWorkspace(2, 4)
		ws := net.NewWorkspace(1)
		pixels := photos(3, 32)
		w2 := Workspace{b: b, own: ws, table: w.table}
		want, got := make([]float32, 3*b.Info().Features), make([]float32, 3*b.Info().Features)
		w2.x.Resize(3, 3, 32, 32)
		for i, v := range pixels {
			k := i / 1024 % 3
			w2.x.Data[i] = (float32(v)/255 - b.info.Mean[k]) / b.info.Std[k]
		}
		copy(want, net.Predict(ws, &w2.x).Features.Data)
		if err := w.Features(got, pixels, 3); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) || b.Info().TrainedOn != "glyphs" {
			t.Errorf("%s: features differ from those of the network, or %+v", name, b.Info())
		}
		logits := make([]float32, 3*5)
		if err := w.Logits(logits, pixels, 3); err != nil || !slices.Equal(logits, net.Predict(ws, &w2.x).Logits.Data) {
			t.Errorf("%s: logits differ from those of the network (%v)", name, err)
		}
		w.Close()
		ws.Close()
		for key, value := range map[string]string{"width": "60000", "hidden": "[60000,60000]", "shape": "[1,32,32]",
			keyStd: "[0,1,1]"} {
			if key == "width" && name != arch.NameResNet18 || key == "hidden" && name != arch.NameMLP {
				continue
			}
			wrong := content{tensors: file.tensors, metadata: map[string]string{}}
			for k, v := range file.metadata {
				wrong.metadata[k] = v
			}
			wrong.metadata[key] = value
			if _, err := decode(wrong.text(t), nn.DefaultEngine()); err == nil {
				t.Errorf("%s: %s=%s was read", name, key, value)
			}
		}
	}
}

// TestBadFiles: every fault of a file is an error that names what is wrong, all faults of a kind at once.
func TestBadFiles(t *testing.T) {
	const name = "torchvision-resnet18"
	good := drawn(name, 32, 3, 1)
	for what, c := range map[string]struct {
		change func(c *content)
		want   []string
	}{
		"another architecture": {func(c *content) { c.metadata[keyArchitecture] = "torchvision-resnet50" },
			[]string{"missing: ", "another shape: ", "convert.py"}},
		"unknown architecture": {func(c *content) { c.metadata[keyArchitecture] = "resnet19" }, []string{"unknown"}},
		"missing, shape, unknown": {func(c *content) {
			c.tensors[0].Name = "other"
			c.tensors[1].Shape = []int{8, 8}
		}, []string{"3 tensors", "missing: ", "another shape: ", `unknown: "other"`}},
		"type": {func(c *content) {
			c.tensors[1].Floats, c.tensors[1].Ints = nil, make([]int64, 64)
		}, []string{"another type: ", "I64"}},
		"nan":      {func(c *content) { c.tensors[0].Floats[5] = float32(math.NaN()) }, []string{"value 5 is NaN"}},
		"infinite": {func(c *content) { c.tensors[2].Floats[0] = float32(math.Inf(1)) }, []string{"value 0 is +Inf"}},
		"variance": {func(c *content) { c.tensors[4].Floats[0] = -1 }, []string{"bn1.running_var", "not negative"}},
		"no metadata": {func(c *content) { c.metadata = nil },
			[]string{keyArchitecture, keySide, keyMean, keyLicence, "are missing"}},
		"one is missing": {func(c *content) { delete(c.metadata, keyLicence) }, []string{"licence of a backbone is missing"}},
		"version":        {func(c *content) { c.metadata[keyVersion] = "2" }, []string{"version"}},
		"all lie": {func(c *content) {
			c.metadata[keySide], c.metadata[keyMean], c.metadata[keyStd] = "9999999", "[1,2]", "[0.1,0,0.1]"
		}, []string{"side is", "mean is", "std is"}},
		"null": {func(c *content) { c.metadata[keyMean] = "[null,0,0]" }, []string{"mean is"}},
	} {
		c2 := drawn(name, 32, 3, 1)
		c.change(&c2)
		_, err := decode(c2.text(t), nn.DefaultEngine())
		for _, part := range c.want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v; want %q in it", what, err, part)
			}
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "b.safetensors")
	text := good.text(t)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := Open(path, nn.DefaultEngine())
	if err != nil || !strings.HasPrefix(b.Digest(), "sha256:") || b.Info().Classes != 3 || b.Info().Features != 512 ||
		b.Engine() != nn.DefaultEngine() {
		t.Fatalf("%v, %v", b, err)
	}
	if err := os.WriteFile(path, text[:len(text)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, nn.DefaultEngine()); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that is cut: %v", err)
	}
	pipe := filepath.Join(dir, "pipe")
	switch err := makePipe(pipe); {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		t.Fatal(err)
	default:
		if _, err := Open(pipe, nn.DefaultEngine()); err == nil || !strings.Contains(err.Error(), "a pipe") {
			t.Errorf("a pipe: %v", err)
		}
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 2<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(large, nn.DefaultEngine()); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("a file of 2 GB: %v", err)
	}
}

// TestNotFinite: weights of huge numbers make features that are none, which is an error.
func TestNotFinite(t *testing.T) {
	c := drawn("torchvision-resnet18", 32, 3, 1)
	for i := range c.tensors[0].Floats {
		c.tensors[0].Floats[i] = 3e38
	}
	b, err := decode(c.text(t), nn.DefaultEngine())
	if err != nil {
		t.Fatal(err)
	}
	w := b.NewWorkspace(1, 1)
	defer w.Close()
	if err := w.Features(make([]float32, 512), photos(1, 32), 1); err == nil ||
		!strings.Contains(err.Error(), "picture 0: feature") {
		t.Errorf("%v", err)
	}
}

// TestPrefixedNames: a file whose names all have a prefix is the same network, also for its layers.
func TestPrefixedNames(t *testing.T) {
	c := drawn("torchvision-resnet18", 32, 3, 1)
	plain, err := decode(c.text(t), nn.DefaultEngine())
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.tensors {
		c.tensors[i].Name = "_orig_mod.module." + c.tensors[i].Name
	}
	path := filepath.Join(t.TempDir(), "b.safetensors")
	if err := os.WriteFile(path, c.text(t), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := Open(path, nn.DefaultEngine())
	if err != nil {
		t.Fatal(err)
	}
	info := b.Info()
	if info.Remarks != `"_orig_mod.module." before the names of tensors is left out` {
		t.Errorf("it says %q of the prefix", info.Remarks)
	}
	if info.Remarks = ""; info != plain.Info() {
		t.Fatalf("%+v, wanted %+v", info, plain.Info())
	}
	if layers, err := b.Layers(path); err != nil || len(layers) < 20 || len(layers[0].Weight) == 0 {
		t.Errorf("%d layers, %v", len(layers), err)
	}
}

// TestOtherFormats: a file of PyTorch says what it is and what to do.
func TestOtherFormats(t *testing.T) {
	for text, want := range map[string]string{
		"PK\x03\x04\x00\x00resnet18/data.pkl": "this is a file of torch.save, and not a backbone. `python3 examples/pytorch/convert.py ARCHITECTURE FILE -o OUT.safetensors` makes one",
		"\x80\x02\x8a\nl\xfc\x9cF\xf9 j":      "this is a file of torch.save of PyTorch before 1.6, or another pickle, and not a backbone",
	} {
		if _, err := decode([]byte(text), nn.DefaultEngine()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
