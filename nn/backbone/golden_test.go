package backbone

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"ocl/nn/safetensors"

	"ocl/nn"
)

// upscaled are the first test images of CIFAR-100, with pixels repeated until an image has the side.
func upscaled(t testing.TB, n, side int) []uint8 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(os.Getenv("OCL_DATA"), "cifar-100-binary", "test.bin"))
	if err != nil {
		t.Skip("NOT RUN: OCL_DATA is unset or holds no cifar-100-binary; set it to the folder that holds it to compare with PyTorch")
	}
	const record, small = 2 + 3*32*32, 32
	var pixels []uint8
	for row := range n * 3 * side {
		line := text[row/(3*side)*record+2+(row/side%3*small+row%side*small/side)*small:][:small]
		for x := range side {
			pixels = append(pixels, line[x*small/side])
		}
	}
	return pixels
}

// TestGolden compares features and logits of fifty real pictures with those of PyTorch, which testdata/golden.py wrote,
// for the real weights of EfficientNet-Lite. OCL_BACKBONES names a folder with efficientnet-lite0.safetensors, 1 and 2,
// which examples/pytorch/convert.py writes.
func TestGolden(t *testing.T) {
	for _, name := range []string{"lite0", "lite1", "lite2"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(os.Getenv("OCL_BACKBONES"), "efficientnet-"+name+".safetensors")
			if _, err := os.Stat(path); os.Getenv("OCL_BACKBONES") == "" || err != nil {
				t.Skipf("NOT RUN: OCL_BACKBONES is unset or holds no %s; make it with examples/pytorch/convert.py to compare with PyTorch",
					filepath.Base(path))
			}
			compareGolden(t, path, "testdata/"+name+".safetensors")
		})
	}
}

// TestGoldenFiles compares any backbone with any such file, with OCL_GOLDEN=BACKBONE:GOLDEN.
func TestGoldenFiles(t *testing.T) {
	paths := filepath.SplitList(os.Getenv("OCL_GOLDEN"))
	if len(paths) != 2 {
		t.Skip("NOT RUN: OCL_GOLDEN is unset; set it to the path of a backbone, a colon, and what testdata/golden.py wrote for it")
	}
	compareGolden(t, paths[0], paths[1])
}

func compareGolden(t *testing.T, backbone, golden string) {
	const pictures, tolerance = 50, 1e-4
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(backbone, nn.DefaultEngine())
	if err != nil {
		t.Fatal(err)
	}
	pixels := upscaled(t, pictures, b.Info().Side)
	w := b.NewWorkspace(2, 16)
	defer w.Close()
	features, logits := make([]float32, pictures*b.Info().Features), make([]float32, pictures*b.Info().Classes)
	if err := w.Features(features, pixels, pictures); err != nil {
		t.Fatal(err)
	}
	outputs := map[string][]float32{"features": features}
	if b.Info().Classes > 0 {
		if err := w.Logits(logits, pixels, pictures); err != nil {
			t.Fatal(err)
		}
		outputs["logits"] = logits
	}
	for name, got := range outputs {
		info, there := f.Find(name)
		if !there {
			t.Fatalf("%s: no %s", golden, name)
		}
		want, err := f.Floats(info)
		if err != nil {
			t.Fatal(err)
		}
		columns := len(want) / pictures
		step := (len(got)/pictures + columns - 1) / columns
		worst, largest := 0., 0.
		for i, v := range want {
			at := i/columns*(len(got)/pictures) + i%columns*step
			d := math.Abs(float64(got[at]) - float64(v))
			if math.IsNaN(d) {
				d = math.Inf(1)
			}
			worst, largest = max(worst, d), max(largest, math.Abs(float64(v)))
		}
		t.Logf("%s, %s: %d of each picture differ by at most %.2g of the largest, %.3g", b.Info().Architecture, name, columns,
			worst/largest, largest)
		if !(worst <= tolerance*largest) {
			t.Errorf("%s differ by %.2g, and the largest is %.3g", name, worst, largest)
		}
	}
}
