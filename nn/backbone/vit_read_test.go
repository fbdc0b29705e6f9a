package backbone

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/internal/limit"
	"ocl/nn"
	"ocl/nn/safetensors"
)

// asIs is the file of DINOv2's smallest network as Facebook's source saves it, with one number in place of each block's
// weights but those of the first, so that it is small; nothing computes with it.
func asIs() content {
	a := lookUp("dinov2-vits14")
	c := drawnOf(a, usualSide, 0, reading{scheme: schemes[1], feature: featureClass, gelu: geluErf,
		positions: positionsOffset, stored: 1 + 4*4}, 3)
	c.metadata = nil
	c.tensors = append(c.tensors, safetensors.Tensor{Name: "mask_token", Shape: []int{1, 384},
		Floats: make([]float32, 384)})
	return c
}

// TestForeignFaults: every fault of a file of a library is an error that names it, and what can be left out is said.
func TestForeignFaults(t *testing.T) {
	good := asIs()
	b, err := decode(good.text(t), nn.DefaultEngine())
	if err != nil {
		t.Fatal(err)
	}
	plain := b.Info()
	if plain.Architecture != "dinov2-vits14" || !strings.Contains(plain.Remarks, "mask_token") ||
		b.net.reading.positions != positionsOffset {
		t.Errorf("%+v, positions %s", plain, b.net.reading.positions)
	}
	at := func(c content, name string) *safetensors.Tensor {
		return &c.tensors[slices.IndexFunc(c.tensors, func(t safetensors.Tensor) bool { return t.Name == name })]
	}
	for what, c := range map[string]struct {
		change func(c *content)
		want   []string // of the error, or of the remarks
		fine   bool
	}{
		"module": {func(c *content) {
			for i := range c.tensors {
				c.tensors[i].Name = "module.backbone." + c.tensors[i].Name
			}
		}, []string{`"module.backbone." before the names`, "mask_token"}, true},
		"missing": {func(c *content) { at(*c, "blocks.3.norm1.weight").Name = "blocks.3.before.weight" },
			[]string{"fit none. The nearest: ", "docs/format/backbone.md", "missing: blocks.3.norm1.weight", `unknown: "blocks.3.before.weight"`, "dinov2-vits14 "}, false},
		"shape": {func(c *content) {
			p := at(*c, "blocks.7.mlp.fc1.bias")
			p.Shape, p.Floats = []int{7}, p.Floats[:7]
		}, []string{"another shape: blocks.7.mlp.fc1.bias is [7] instead of [1536]"}, false},
		"registers absent": {func(c *content) {
			c.metadata = map[string]string{keyVersion: version, keyArchitecture: "dinov2-vits14-reg4", keySide: "224",
				keyMean: "[0,0,0]", keyStd: "[1,1,1]", keyTrainedOn: "x", keyLicence: "x", keyFeature: featureClass,
				keyGELU: geluErf, keyPositions: positionsSmooth}
		}, []string{"missing: register_tokens"}, false},
		"no grid": {func(c *content) {
			p := at(*c, "pos_embed")
			p.Shape, p.Floats = []int{15, 384}, p.Floats[:15*384]
		}, []string{"pos_embed has 15 positions", "no square"}, false},
		"numbers": {func(c *content) {
			p := at(*c, "blocks.2.mlp.fc2.bias")
			p.Floats, p.Ints = nil, make([]int64, 384)
		}, []string{"another type: blocks.2.mlp.fc2.bias is I64"}, false},
		"nan": {func(c *content) { at(*c, "cls_token").Floats[3] = float32(math.NaN()) },
			[]string{"cls_token: value 3 is NaN"}, false},
	} {
		c2 := content{metadata: maps.Clone(good.metadata), tensors: slices.Clone(good.tensors)}
		for i := range c2.tensors {
			if n := c2.tensors[i].Name; n == "cls_token" {
				c2.tensors[i].Floats = slices.Clone(c2.tensors[i].Floats)
			}
		}
		c.change(&c2)
		b, err := decode(c2.text(t), nn.DefaultEngine())
		text := fmt.Sprint(err)
		if c.fine && err == nil {
			text = b.Info().Remarks
		}
		for _, part := range c.want {
			if (err == nil) != c.fine || !strings.Contains(text, part) {
				t.Errorf("%s: %s; want %q in it", what, text, part)
			}
		}
	}
	for key, value := range map[string]string{keySide: "225", keyFeature: "projection", keyGELU: "tanh",
		keyPositions: "bilinear", keyResize: "29", keyFilter: "lanczos"} {
		c := drawn("dinov2-vits14", 28, 0, 1)
		c.tensors = c.tensors[:1]
		c.metadata[key] = value
		if _, err := decode(c.text(t), nn.DefaultEngine()); err == nil || !strings.Contains(err.Error(), key+" is ") {
			t.Errorf("%s %s: %v", key, value, err)
		}
	}
}

// TestScaling: a file says how pictures are scaled, one that does not takes them at its side, and the usual of a
// network is known of a file that says nothing.
func TestScaling(t *testing.T) {
	c := asIs()
	b, err := decode(c.text(t), nn.DefaultEngine())
	if err != nil || b.Info().Resize != 256 || !b.Info().Bicubic {
		t.Errorf("as it is: %+v, %v", b.Info(), err)
	}
	c = drawn("dinov2-vits14", 28, 0, 1)
	b, err = decode(c.text(t), nn.DefaultEngine())
	if err != nil || b.Info().Resize != 28 || b.Info().Bicubic {
		t.Errorf("without: %+v, %v", b.Info(), err)
	}
	c.metadata[keyResize], c.metadata[keyFilter] = "32", filterBicubic
	b, err = decode(c.text(t), nn.DefaultEngine())
	if err != nil || b.Info().Resize != 32 || !b.Info().Bicubic {
		t.Errorf("with: %+v, %v", b.Info(), err)
	}
}

// TestManyTensors: a header with more names than any network has is not compared with all of them.
func TestManyTensors(t *testing.T) {
	c := content{tensors: []safetensors.Tensor{{Name: "pos_embed", Shape: []int{1}, Floats: []float32{1}}}}
	for i := range limit.BackboneTensors {
		c.tensors = append(c.tensors, safetensors.Tensor{Name: fmt.Sprint("x.", i), Shape: []int{1}, Floats: []float32{1}})
	}
	if _, err := decode(c.text(t), nn.DefaultEngine()); err == nil || !strings.Contains(err.Error(),
		"has 4097 tensors; at most 4096") {
		t.Errorf("%v", err)
	}
}

// TestTransformerLayers: the layers of a vision transformer have the weights by which it computes.
func TestTransformerLayers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.safetensors")
	c := asIs()
	if err := os.WriteFile(path, c.text(t), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := Open(path, nn.DefaultEngine())
	if err != nil {
		t.Fatal(err)
	}
	layers, err := b.Layers(path)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for i, l := range layers {
		kinds[l.Kind]++
		o := b.net.layers[i]
		outs := b.net.channels(o.out)
		switch {
		case l.Kind == Product && (len(l.Weight) != b.net.channels(o.in)*outs || len(l.Bias) != outs):
			t.Errorf("%s has %d weights and %d biases", l.Name, len(l.Weight), len(l.Bias))
		case l.Name == "blocks.1.mlp.fc2": // weights [out, in] times LayerScale
			w := c.tensors[slices.IndexFunc(c.tensors, func(t safetensors.Tensor) bool { return t.Name == l.Name+".weight" })]
			if want := w.Floats[5*1536+7] * o.scale[5]; l.Weight[7*outs+5] != want {
				t.Errorf("weight from 7 to 5 is %g, wanted %g", l.Weight[7*outs+5], want)
			}
		}
	}
	want := map[string]int{Convolution: 1, Tokens: 1, LayerNorm: 25, Product: 48, Attention: 12, ClassToken: 1}
	if !maps.Equal(kinds, want) {
		t.Errorf("%v, wanted %v", kinds, want)
	}
	if parameters, work := b.Work(); parameters != 22_056_192-(1370-17)*384 || work < 5e9 || work > 6e9 {
		t.Errorf("%d parameters, %d multiply-adds", parameters, work)
	}
}

// TestSixteenBits: weights of 16 bits are read as the numbers that they are, and those of eight are refused by name.
func TestSixteenBits(t *testing.T) {
	c := asIs()
	for i, tensor := range c.tensors {
		c.tensors[i].Floats = slices.Clone(tensor.Floats)
		for k, v := range tensor.Floats { // numbers that both types of 16 bits hold
			c.tensors[i].Floats[k] = math.Float32frombits(math.Float32bits(asHalf(v)) &^ 0xffff)
			if v := c.tensors[i].Floats[k]; v != asHalf(v) {
				c.tensors[i].Floats[k] = 0
			}
		}
	}
	pixels := photos(1, usualSide)
	features := func(text []byte) ([]float32, error) {
		b, err := decode(text, nn.DefaultEngine())
		if err != nil {
			return nil, err
		}
		w := b.NewWorkspace(1, 1)
		defer w.Close()
		got := make([]float32, b.Info().Features)
		return got, w.Features(got, pixels, 1)
	}
	want, err := features(c.text(t))
	if err != nil {
		t.Fatal(err)
	}
	for kind, bytes := range map[string]int{"F16": 2, "BF16": 2, "I8": 1, "F8_E4M3": 1} {
		got, err := features(c.as(t, kind, bytes))
		switch {
		case bytes == 1:
			if err == nil || !strings.Contains(err.Error(), kind+" (quantised)") {
				t.Errorf("%s: %v", kind, err)
			}
		case err != nil || !slices.Equal(got, want):
			t.Errorf("%s: other features, %v", kind, err)
		}
	}
}

// as is the file with numbers of another type, which it must hold exactly where they have two bytes.
func (c content) as(t *testing.T, kind string, width int) []byte {
	t.Helper()
	header, values := map[string]any{}, []byte{}
	for _, tensor := range c.tensors {
		begin := len(values)
		for _, v := range tensor.Floats {
			bits := math.Float32bits(v)
			switch kind {
			case "BF16":
				values = binary.LittleEndian.AppendUint16(values, uint16(bits>>16))
			case "F16":
				values = binary.LittleEndian.AppendUint16(values, halfBits(v))
			default:
				values = append(values, 0)
			}
		}
		header[tensor.Name] = map[string]any{"dtype": kind, "shape": tensor.Shape,
			"data_offsets": []int{begin, len(values)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_ = binary.Write(&out, binary.LittleEndian, uint64(len(text)))
	out.Write(text)
	out.Write(values)
	return out.Bytes()
}

// halfBits are those of a number below 2 that 16 bits hold exactly.
func halfBits(v float32) uint16 {
	sign := uint16(0)
	if math.Signbit(float64(v)) {
		sign, v = 0x8000, -v
	}
	if v == 0 {
		return sign
	}
	fraction, exponent := math.Frexp(float64(v))
	if exponent < -13 {
		return sign | uint16(math.Ldexp(float64(v), 24))
	}
	return sign | uint16(exponent+14)<<10 | uint16(fraction*2048)&1023
}
