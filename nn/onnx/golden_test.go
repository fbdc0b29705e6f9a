package onnx_test

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/data"
	"ocl/internal/goldentest"
	"ocl/learn/calibrate"
	"ocl/learn/learner"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/onnx"
	"ocl/nn/tensor"
	"ocl/rng"
)

var update = flag.Bool("update", false, "write testdata/*.onnx; check.py then writes what onnxruntime makes of them")

// small are the models of testdata, which are drawn.
func small(t *testing.T) map[string]onnx.Model {
	t.Helper()
	resnet, err := arch.ResNet18(arch.Config{Channels: 3, Height: 25, Width: 25, Classes: 4, NF: 1},
		rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	mlp, err := arch.MLP(arch.Config{Channels: 1, Height: 9, Width: 9, Classes: 3, Hidden: []int{6, 5}},
		rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	src := rng.New(1, "golden")
	between := func(low, high float64) float32 { return float32(low + float64((high-low)*src.Float64())) }
	for _, net := range []*nn.Network{resnet, mlp} {
		for _, p := range net.Info().Named {
			if p.In == 0 {
				for i := range p.Len() {
					net.Params()[p.Offset+i] += between(-0.1, 0.3)
				}
			}
		}
		for _, p := range net.Info().Statistics {
			for i := range p.Len() {
				low, high := -0.1, 0.1 // of means
				if strings.HasSuffix(p.Name, "var") {
					low, high = 0.1, 0.4
				}
				net.Running()[p.Offset+i] = between(low, high)
			}
		}
		net.Changed()
	}
	means := make([]float32, 2*mlp.Info().FeatureDim)
	for class := range 2 {
		sum, mean := 0.0, means[class*mlp.Info().FeatureDim:][:mlp.Info().FeatureDim]
		for i := range mean {
			mean[i] = between(0, 1)
			sum += float64(float64(mean[i]) * float64(mean[i]))
		}
		for i := range mean {
			mean[i] = float32(float64(mean[i]) / math.Sqrt(sum))
		}
	}
	sure := &onnx.Calibration{Temperature: 0.7, Slope: 0.8, Normalise: true, Unknown: 0.35}
	for i := range mlp.Info().FeatureDim * mlp.Info().FeatureDim {
		sure.Whitening = append(sure.Whitening, between(-0.2, 0.2))
		if i%(mlp.Info().FeatureDim+1) == 0 {
			sure.Whitening[i] += 1
		}
	}
	for range 30 {
		sure.Known = append(sure.Known, between(0.2, 0.6))
	}
	sure.Means = means
	known := make([]float32, 40)
	for i := range known {
		known[i] = 2 + float32(i)/20
	}
	return map[string]onnx.Model{
		"sure": {
			Net: mlp, Fit: onnx.Stretch, Inner: 8, Version: "0", Rules: []onnx.Rule{{Name: "head"}}, Sure: sure,
		},
		"energy": {
			Net: mlp, Fit: onnx.Stretch, Inner: 8, Version: "0", Rules: []onnx.Rule{{Name: "head"}},
			Sure: &onnx.Calibration{Temperature: 2, Slope: 1, Unknown: 0.5, Known: known},
		},
		"resnet18": {
			Net: resnet, Mean: []float64{0.5, 0.4, 0.3}, Std: []float64{0.25, 0.2, 0.3},
			ClassNames: []string{"ant", "bee", "cow", "doe"},
			Rules:      []onnx.Rule{{Name: "head"}}, Version: "0", Facts: []onnx.Fact{{Key: "checkpoint", Value: "none"}},
		},
		"mlp": {
			Net: mlp, Fit: onnx.Stretch, Inner: 8, Version: "0",
			Rules: []onnx.Rule{{Name: "ncm", Means: &onnx.Means{Classes: []int{0, 2}, Values: means}}, {Name: "head"}},
		},
	}
}

func written(t *testing.T, m onnx.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := onnx.Write(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// run is what onnxruntime made of some images.
type run struct {
	Shape   [4]int // of Images
	Images  []byte
	Pixels  []byte // prepared [N,C,H,W]
	Outputs map[string][]float64
}

// The bytes of a model are those that onnxruntime was given, and its answers are those of the network.
func TestGolden(t *testing.T) {
	for name, m := range small(t) {
		path := filepath.Join("testdata", name+".onnx")
		got := written(t, m)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes are written, and the file has %d others (%v). After a change that is meant, use -update and check.py",
				path, len(got), len(want), err)
		}
		for _, r := range runs(t, name) {
			t.Run(fmt.Sprintf("%s/%v", name, r.Shape), func(t *testing.T) { sameAnswers(t, m, r) })
			if in := m.Net.Info().Input; in[0] == 3 {
				t.Run(fmt.Sprintf("%s/%v/pixels", name, r.Shape), func(t *testing.T) { samePixels(t, r, in[1]) })
			}
		}
	}
}

func runs(t *testing.T, name string) []run {
	t.Helper()
	var g struct{ Cases []run }
	goldentest.Read(t, filepath.Join("testdata", name+".json"), &g)
	if len(g.Cases) < 5 {
		t.Fatalf("%s: %d cases", name, len(g.Cases))
	}
	return g.Cases
}

// sameAnswers compares onnxruntime's outputs with those of the network for the pixels that the graph prepared.
func sameAnswers(t *testing.T, m onnx.Model, r run) {
	in := m.Net.Info().Input
	n, k := r.Shape[0], m.Net.Info().Classes
	x := tensor.New(n, in[0], in[1], in[2])
	for i, v := range r.Pixels {
		x.Data[i] = float32(v) / 255
		if m.Mean != nil {
			ch := i / (in[1] * in[2]) % in[0]
			x.Data[i] = float32((float64(v)/255 - m.Mean[ch]) / m.Std[ch])
		}
	}
	ws := m.Net.NewWorkspace(1)
	defer ws.Close()
	out := m.Net.Predict(ws, x)
	best := map[string][]float64{} // values by which a label is chosen
	for i, rule := range m.Rules {
		output, want := "logits", make([]float64, 0, n*k)
		for img := range n {
			if rule.Means == nil {
				for _, v := range out.Logits.Row(img) {
					want = append(want, float64(v))
				}
			} else {
				output = "scores"
				want = append(want, scores(out.Features.Row(img), rule.Means, k)...)
			}
		}
		for j, v := range r.Outputs[output] {
			if diff := math.Abs(v - want[j]); !(diff <= 1e-5*max(1, math.Abs(want[j]))) {
				t.Errorf("%s[%d]: onnxruntime has %v, and the network %v", output, j, v, want[j])
			}
		}
		label := "label"
		if i > 0 {
			label = rule.Name + "_label"
		}
		best[label] = want
		if len(r.Outputs[output]) != n*k || len(r.Outputs[label]) != n {
			t.Errorf("%d %s and %d labels of %d images", len(r.Outputs[output]), output, len(r.Outputs[label]), n)
		}
	}
	if m.Sure != nil {
		surely(t, m, out, r)
	}
	for label, values := range best {
		for img, got := range r.Outputs[label] {
			row := values[img*k:][:k]
			if want := slices.Index(row, slices.Max(row)); int(got) != want {
				t.Errorf("%s of image %d: onnxruntime has %v, and ocl %d", label, img, got, want)
			}
		}
	}
	for img := range n {
		if sum := 0.0; r.Outputs["probabilities"] != nil {
			for _, p := range r.Outputs["probabilities"][img*k:][:k] {
				sum += p
			}
			if !(math.Abs(sum-1) <= 1e-6) {
				t.Errorf("the probabilities of image %d add up to %v", img, sum)
			}
		}
	}
}

// surely compares the probabilities, the familiarity and what is unknown with what package calibrate makes.
func surely(t *testing.T, m onnx.Model, out nn.Outputs, r run) {
	k, d := m.Net.Info().Classes, m.Net.Info().FeatureDim
	known := slices.Sorted(slices.Values(m.Sure.Known))
	c := &learner.Calibration{Calibration: &calibrate.Calibration{Temperature: m.Sure.Temperature, Slope: m.Sure.Slope,
		Known: known}, Normalise: m.Sure.Normalise}
	for img := range out.Logits.Dim(0) {
		features, s := out.Features.Row(img), make([]float64, k)
		c.Scores(s, out.Logits.Row(img), features)
		score := c.Energy(s)
		if m.Sure.Means != nil {
			z, length := make([]float64, d), 0.0
			for i := range d {
				for j, v := range features {
					z[i] += float64(m.Sure.Whitening[i*d+j]) * float64(v)
				}
				length += z[i] * z[i]
			}
			most, all := math.Inf(-1), 0.0
			for mean := range slices.Chunk(m.Sure.Means, d) {
				sum := 0.0
				for j, v := range z {
					sum += v * float64(mean[j])
				}
				most, all = max(most, sum/math.Sqrt(length)), all+sum/math.Sqrt(length)
			}
			score = most - all/4 // of two means
		}
		c.Probabilities(s, s)
		for j, want := range s {
			if got := r.Outputs["probabilities"][img*k+j]; math.Abs(got-want) > 1e-5 {
				t.Errorf("probability %d of image %d: onnxruntime has %v, and ocl %v", j, img, got, want)
			}
		}
		want := c.Rank(score)
		if got := r.Outputs["familiarity"][img]; math.Abs(got-want) > 1e-6 {
			t.Errorf("familiarity of image %d: onnxruntime has %v, and ocl %v", img, got, want)
		}
		if got := r.Outputs["unknown"][img] == 1; got != (want <= m.Sure.Unknown) {
			t.Errorf("image %d: onnxruntime says unknown %v, and the familiarity is %v", img, got, want)
		}
	}
}

// scores are −‖φ/‖φ‖ − μ‖².
func scores(features []float32, means *onnx.Means, classes int) []float64 {
	length := 0.0
	for _, v := range features {
		length += float64(v) * float64(v)
	}
	all := slices.Repeat([]float64{onnx.NoMean}, classes)
	for i, class := range means.Classes {
		all[class] = 0
		for j, v := range features {
			d := float64(v)/math.Sqrt(length) - float64(means.Values[i*len(features)+j])
			all[class] -= d * d
		}
	}
	return all
}

// samePixels compares what the graph prepared with what a data set of image files makes of the same image: no pixel
// differs by more than 1, the rounding of onnxruntime's weights.
func samePixels(t *testing.T, r run, side int) {
	dir := t.TempDir()
	t.Setenv("OCL_CACHE", t.TempDir())
	n, h, w := r.Shape[0], r.Shape[2], r.Shape[3]
	for i := range n {
		img := image.NewNRGBA(image.Rect(0, 0, w, h))
		for at := range h * w {
			rgb := r.Images[i*3*h*w:]
			img.Set(at%w, at/w, color.NRGBA{rgb[at], rgb[h*w+at], rgb[2*h*w+at], 255})
		}
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		for _, half := range []string{"train/a", "train/b", "test/a", "test/b"} {
			if err := os.MkdirAll(filepath.Join(dir, half), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, half, fmt.Sprintf("%03d.png", i)), b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	set, err := data.Open(t.Context(), data.Spec{Name: "folder", Dir: dir, Size: side, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]uint8, set.ImageLen())
	for i := range n {
		want, err := set.Train.Images.Image(i, buf)
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range r.Pixels[i*len(want):][:len(want)] {
			if d := int(v) - int(want[j]); d < -1 || d > 1 {
				t.Fatalf("image %d, byte %d: onnxruntime has %d, and ocl %d", i, j, v, want[j])
			}
		}
	}
}
