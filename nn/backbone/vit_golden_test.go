package backbone

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ocl/nn"
	"ocl/nn/safetensors"
)

// noise, drawnValues and drawnPictures are the formulas of testdata/vits.py.
func noise(i, seed uint32) uint32 {
	x := i*2654435761 + seed
	x ^= x >> 16
	x *= 0x7feb352d
	x ^= x >> 15
	x *= 0x846ca68b
	return x ^ x>>16
}

var scales = regexp.MustCompile(`weight$|gamma$|lambda1$`)

func drawnValues(name string, shape []int) []float32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	n, fan := 1, 1
	for i, d := range shape {
		n *= d
		if i > 0 {
			fan *= d
		}
	}
	scale, base := float32(0.25), float32(0)
	switch {
	case strings.Contains(name, "pos"), strings.Contains(name, "token"), strings.Contains(name, "class_embedding"):
		scale = 0.5
	case len(shape) > 1:
		scale = float32(math.Sqrt(3 / float64(fan)))
	case scales.MatchString(name):
		base = 0.75
	}
	values, seed := make([]float32, n), h.Sum32()
	for i := range values {
		u := float32(noise(uint32(i), seed)>>8)*0x1p-23 - 1
		values[i] = float32(u*scale) + base
	}
	return values
}

func drawnPictures(n, side int) []uint8 {
	pixels := make([]uint8, n*3*side*side)
	for k := range pixels {
		i, c, y, x := k/(3*side*side), k/(side*side)%3, k/side%side, k%side
		wave := x*(3+i) + y*(5+2*c) + x*y>>4*(1+c)
		pixels[k] = uint8(wave + int(noise(uint32(k), 7)>>27))
	}
	return pixels
}

// goldenCase is what testdata/vits.py says of a file of a library.
type goldenCase struct {
	Architecture, GELU string
	Mean, Std          [3]float32
	Tensors            map[string][]int
}

var firstBlock = regexp.MustCompile(`\b(blocks|layer|layers|resblocks)\.0\.`)

// each calls f with every tensor that the library saves.
func (g goldenCase) each(f func(name string, shape []int)) {
	for name, shape := range g.Tensors {
		if !firstBlock.MatchString(name) {
			f(name, shape)
			continue
		}
		for i := range 12 {
			f(firstBlock.ReplaceAllString(name, fmt.Sprintf("$1.%d.", i)), shape)
		}
	}
}

// file is the file that the library saves, without metadata.
func (g goldenCase) file() (c content) {
	g.each(func(name string, shape []int) {
		values := drawnValues(name, shape)
		if g.GELU == geluQuick && len(shape) > 1 {
			for i, v := range values {
				values[i] = asHalf(v)
			}
		}
		c.tensors = append(c.tensors, safetensors.Tensor{Name: name, Shape: shape, Floats: values})
	})
	return c
}

// asHalf rounds a number below 2 to the nearest of 16 bits, ties to even.
func asHalf(v float32) float32 {
	_, exponent := math.Frexp(float64(v))
	unit := math.Ldexp(1, max(exponent, -13)-11)
	return float32(math.RoundToEven(float64(v)/unit) * unit)
}

// TestTransformerGoldens compares every vision transformer with what timm, open_clip, transformers and Facebook's
// source computed of the same drawn weights and pictures (testdata/vits.py): features, and some values behind three
// blocks. Each file has the names, and the tensors without use, of the library that saves it, and no metadata where the
// names tell the architecture.
func TestTransformerGoldens(t *testing.T) {
	const tolerance = 1e-5 // the libraries differ from each other by 1e-6
	text, err := os.ReadFile("testdata/vits.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := safetensors.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	values := func(name string) []float32 {
		info, _ := golden.Find(name)
		v, err := golden.Floats(info)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	pixels := drawnPictures(2, usualSide)
	for _, name := range slices.Sorted(maps.Keys(golden.Metadata)) {
		var g goldenCase
		if json.Unmarshal([]byte(golden.Metadata[name]), &g) != nil {
			continue // a version
		}
		t.Run(name, func(t *testing.T) {
			if testing.Short() && strings.Contains(g.Architecture, "vitb") {
				t.Skip("NOT RUN: the weights take long to draw; run without -short")
			}
			c := g.file()
			if a := g.Architecture; a == "deit-s16" || a == "augreg-vits16" {
				if _, err := decode(c.text(t), nn.DefaultEngine()); err == nil ||
					!strings.Contains(err.Error(), "deit-s16 and of augreg-vits16") {
					t.Errorf("without metadata: %v", err)
				}
				c.metadata = map[string]string{keyVersion: version, keyArchitecture: a, keySide: "224", keyTrainedOn: "x",
					keyLicence: "x", keyFeature: featureClass, keyGELU: g.GELU, keyPositions: positionsSmooth,
					keyMean: listOf(g.Mean), keyStd: listOf(g.Std)}
			}
			b, err := decode(c.text(t), nn.DefaultEngine())
			if err != nil {
				t.Fatal(err)
			}
			if i := b.Info(); i.Architecture != g.Architecture || i.Mean != g.Mean || i.Std != g.Std || i.Side != usualSide ||
				b.net.reading.gelu != g.GELU {
				t.Fatalf("%+v, gelu %s; wanted %s, %s", i, b.net.reading.gelu, g.Architecture, g.GELU)
			}
			t.Logf("%+v", b.Info())
			got := make([]float32, 2*b.info.Features)
			w := b.NewWorkspace(2, 2)
			defer w.Close()
			if err := w.Features(got, pixels, 2); err != nil {
				t.Fatal(err)
			}
			t.Logf("features differ by at most %.2g of the largest", apart(t, "features", got, values(name+".features"),
				tolerance))
			blocks := hidden(b, pixels)
			for block, got := range blocks {
				want := values(name + "." + block) // of both pictures
				apart(t, block, got, want[:len(want)/2], tolerance)
			}
			if len(blocks) != 3 {
				t.Errorf("%d blocks are compared", len(blocks))
			}
		})
	}
}

// TestSchemes: the names of every library are found, also behind what wrappers put before them, and CLIP's vision tower
// by itself.
func TestSchemes(t *testing.T) {
	text, err := os.ReadFile("testdata/vits.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := safetensors.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for name, said := range golden.Metadata {
		var g goldenCase
		if json.Unmarshal([]byte(said), &g) != nil {
			continue
		}
		a := lookUp(g.Architecture)
		wanted := map[string]string{"hub": "Facebook's DINOv2", "timm": "timm", "clip": "CLIP", "face": "Hugging Face's DINOv2"}[strings.Split(name, "-")[0]]
		switch name {
		case "face-b16":
			wanted = "Hugging Face's ViT"
		case "face-clip-b16":
			wanted = "Hugging Face's CLIP"
		}
		for _, prefix := range []string{"", "module.", "model.backbone.", "-visual."} {
			f := &safetensors.Reader{}
			g.each(func(name string, shape []int) {
				if short, alone := strings.CutPrefix(name, "visual."); alone && prefix == "-visual." {
					name = short
				} else if prefix == "-visual." {
					return
				} else {
					name = prefix + name
				}
				f.Tensors = append(f.Tensors, safetensors.Info{Name: name, Shape: shape, Type: "F32"})
			})
			if len(f.Tensors) == 0 {
				continue
			}
			cases++
			r := reading{feature: featureClass}
			if a.vit.projected > 0 {
				r.feature = featureProjection
			}
			if !namesTransformer(f) {
				t.Errorf("%s, %q: no names of a transformer", name, prefix)
			}
			r.scheme = schemeOf(f, a, usualSide, r)
			r.stored, err = a.vit.positionsOf(f, r.scheme, usualSide)
			if faults := a.layOut(usualSide, r).faults(f); r.scheme.name != wanted || faults != 0 || err != nil {
				t.Errorf("%s, %q: %s with %d faults, %v; wanted %s", name, prefix, r.scheme.name, faults, err, wanted)
			}
		}
	}
	if cases != 17*3+3 {
		t.Errorf("%d cases", cases)
	}
}

func listOf(v [3]float32) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// apart is the largest difference, as a part of the largest value.
func apart(t *testing.T, what string, got, want []float32, tolerance float64) float64 {
	t.Helper()
	worst, largest := 0., 0.
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, wanted %d", what, len(got), len(want))
	}
	for i, v := range want {
		d := math.Abs(float64(got[i]) - float64(v))
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		worst, largest = max(worst, d), max(largest, math.Abs(float64(v)))
	}
	if !(worst <= tolerance*largest) || !(largest > 0.1) {
		t.Errorf("%s differ by %.2g of the largest, %.3g", what, worst/largest, largest)
	}
	return worst / largest
}

// hidden is, of the first picture, every 32nd channel of four tokens behind three blocks.
func hidden(b *Backbone, pixels []uint8) map[string][]float32 {
	blocks := map[string][]float32{}
	w := b.NewWorkspace(1, 1)
	defer w.Close()
	w.pixels = pixels
	w.team.Run(w, w.plan.side)
	for _, o := range w.plan.ops {
		o.run(w, 0, 1)
		var block int
		if n, _ := fmt.Sscanf(o.name, "blocks.%d.mlp.fc2", &block); n != 1 || !strings.HasSuffix(o.name, "fc2") ||
			!slices.Contains([]int{0, 5, 10}, block) {
			continue
		}
		name := fmt.Sprintf("block%d", block)
		for _, token := range []int{0, 1, 6, o.out.H - 1} {
			row := w.bufs[o.layer.out][o.out.PixelAt(0, token, 0):]
			for c := 0; c < o.out.C; c += 32 {
				blocks[name] = append(blocks[name], row[c])
			}
		}
	}
	return blocks
}
