package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/draw"
	_ "image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ocl"
	"ocl/data"
	"ocl/learn/learner"
	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/run/experiment"
	"ocl/run/trained"
)

// smallRun runs a method on drawn images and returns the folder of its experiment.
func smallRun(t *testing.T, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "small")
	args = append([]string{"run", "--data", "glyphs", "data.size=8", "data.train_per_class=4", "data.test_per_class=2",
		"--tasks", "2", "--network", "mlp",
		"network.hidden=5", "--memory", "12", "--quiet", "--no-report", "--out", out}, args...)
	var stdout, faults bytes.Buffer
	if code := execute(t.Context(), args, &stdout, &faults); code != exitDone {
		t.Fatalf("exit code %d: %s", code, faults.String())
	}
	return out
}

// The model lies beside the run's folder where nobody says, and the same run gives the same bytes.
func TestExportONNX(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"er": {"--method", "er", "--classifiers", "head,ncm"}, "icarl": {"--method", "icarl"}, "gdumb": {"--method", "gdumb"},
		"ncm":             {"--method", "er", "--classifiers", "ncm,head"},
		"icarl, head,ncm": {"--method", "icarl", "--classifiers", "head,ncm"},
	} {
		run := smallRun(t, args...)
		path, err := exportONNX(t.Context(), run, "", exportSource{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if folder := strings.TrimSuffix(path, ".onnx"); filepath.Dir(path) != run ||
			!exists(filepath.Join(folder, "result.json")) {
			t.Errorf("%s: %s is written", name, path)
		}
		first, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(t.TempDir(), "other.onnx")
		if path, err = exportONNX(t.Context(), run, other, exportSource{}); err != nil || path != other {
			t.Errorf("%s: %s, %v", name, path, err)
		}
		if second, err := os.ReadFile(other); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s: %d bytes, and then %d others (%v)", name, len(first), len(second), err)
		}
		for output, want := range map[string]bool{
			"logits": name == "er" || name == "gdumb" || name == "ncm", "scores": name != "gdumb",
			"ncm_label": name == "er" || name == "icarl, head,ncm", "head_label": name == "ncm",
			"class_names": true, "sha256:": true, "tasks_learned": true,
		} {
			if got := bytes.Contains(first, []byte(output)); got != want {
				t.Errorf("%s: the file has %s: %v, want %v", name, output, got, want)
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// What cannot be exported leaves the file as it was.
func TestExportONNXRefuses(t *testing.T) {
	folder := t.TempDir()
	out := filepath.Join(folder, "model.onnx")
	if err := os.WriteFile(out, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := exportONNX(t.Context(), folder, out, exportSource{}); err == nil ||
		!strings.Contains(err.Error(), "there is no run here") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := exportONNX(t.Context(), folder, folder, exportSource{}); err == nil ||
		!strings.Contains(err.Error(), "this is a folder. Give the name of a file") {
		t.Errorf("to a folder: %v", err)
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != "before" {
		t.Errorf("%q, %v", b, err)
	}
}

// onnxCase is what check.py compares: images of the test set, or files of other sizes, and what ocl says of them.
type onnxCase struct {
	Shape  [4]int            `json:"shape"` // of the images
	Files  []string          `json:"files"`
	Values []string          `json:"values"` // outputs whose numbers are compared
	Labels map[string]string `json:"labels"` // outputs of labels, and the values that decide on each
}

// TestONNXRuntimeAgrees exports trained runs and lets onnxruntime classify real images: OCL_ONNX_RUNS are their
// folders, OCL_ONNX_PYTHON is a Python with the packages that nn/onnx/testdata/check.py names.
func TestONNXRuntimeAgrees(t *testing.T) {
	python, folders := os.Getenv("OCL_ONNX_PYTHON"), filepath.SplitList(os.Getenv("OCL_ONNX_RUNS"))
	if python == "" || len(folders) == 0 {
		t.Skip("NOT RUN: OCL_ONNX_PYTHON or OCL_ONNX_RUNS is unset; nn/onnx/testdata/check.py says how to compare with onnxruntime")
	}
	t.Setenv("OCL_CACHE", t.TempDir())
	for _, run := range folders {
		trained, err := trained.Open(t.Context(), run, trained.Options{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer trained.Close()
		dir := t.TempDir()
		if _, err := exportONNX(t.Context(), run, filepath.Join(dir, "model.onnx"), exportSource{}); err != nil {
			t.Fatal(err)
		}
		set, err := experiment.OpenData(t.Context(), trained.Config, experiment.Options{})
		if err != nil {
			t.Fatal(err)
		}
		const most = 1000
		compareONNX(t, python, dir, trained, set.Test, max(1, set.Test.Len()/most), nil)
		if real := os.Getenv("OCL_DATA"); real != "" && set.C == 3 {
			names, folder := otherSizes(t, real, dir)
			other, err := data.Open(t.Context(), data.Spec{Name: "folder", Dir: folder, Size: set.H})
			if err != nil {
				t.Fatal(err)
			}
			compareONNX(t, python, dir, trained, other.Test, 1, names)
		}
	}
}

// otherSizes writes images of many sizes, cut out of 3×3 photographs, as PNG files into the folders of a data set,
// whose test half has the files that are named.
func otherSizes(t *testing.T, real, dir string) (names []string, folder string) {
	t.Helper()
	photos, err := filepath.Glob(filepath.Join(real, "mini-imagenet", "images", "*.jpg"))
	if err != nil || len(photos) < 9 {
		t.Fatalf("%d photographs (%v)", len(photos), err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 202 {
		canvas := image.NewNRGBA(image.Rect(0, 0, 252, 252))
		for k := range 9 {
			f, err := os.Open(photos[r.IntN(len(photos))])
			if err != nil {
				t.Fatal(err)
			}
			photo, _, err := image.Decode(f)
			f.Close()
			if err != nil {
				t.Fatal(err)
			}
			draw.Draw(canvas, image.Rect(k%3*84, k/3*84, k%3*84+84, k/3*84+84), photo, photo.Bounds().Min, draw.Src)
		}
		w, h := 20+r.IntN(233), 20+r.IntN(233)
		part := canvas.SubImage(image.Rect(0, 0, w, h).Add(image.Pt(r.IntN(253-w), r.IntN(253-h))))
		var b bytes.Buffer
		if err := png.Encode(&b, part); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("sizes/test/a/%03d.png", i)
		if i < 2 { // the other half has to have images
			name = fmt.Sprintf("sizes/train/%c/%03d.png", 'a'+i, i)
		} else {
			names = append(names, name)
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return names, filepath.Join(dir, "sizes")
}

// compareONNX writes every step-th image of a split with what ocl says of it, and lets check.py compare.
func compareONNX(t *testing.T, python, dir string, trained *trained.Model, split data.Split, step int, files []string) {
	t.Helper()
	net, parts := trained.Net, trained.Learner.(learner.Open).Parts()
	in := net.Info().Input
	c, h, w := in[0], in[1], in[2]
	size := c * h * w
	n := split.Len() / step
	info, err := data.Lookup(trained.Config.Data.Name)
	if err != nil {
		t.Fatal(err)
	}
	iw, ih := w, h // of the images before they are padded
	if _, inner := info.Fit(h, w); inner > 0 {
		iw, ih = inner, inner
	}
	var images, pixels []uint8
	x := tensor.New(n, c, h, w)
	for i := range n {
		img, err := split.Images.Image(i*step, make([]uint8, size))
		if err != nil {
			t.Fatal(err)
		}
		pixels = append(pixels, img...)
		for at, v := range img {
			x.Data[i*size+at] = trained.Info.Pixels[at/(h*w)][v]
			if y, x := at/w%h-(h-ih)/2, at%w-(w-iw)/2; y >= 0 && y < ih && x >= 0 && x < iw {
				images = append(images, v)
			}
		}
	}
	rules, err := trained.Rules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := net.Predict(parts.WS, x)
	out = nn.Outputs{Logits: copied(out.Logits), Features: copied(out.Features)} // the workspace is used again
	spec := onnxCase{Shape: [4]int{n, c, ih, iw}, Files: files, Labels: map[string]string{}}
	for i, rule := range rules {
		labels, label, by := make([]ocl.Label, n), "label", "logits"
		if i > 0 {
			label = rule.Classifier + "_label"
		}
		if rule.Classes == nil {
			writeRaw(t, dir, "logits.f32", out.Logits.Data)
		} else {
			by = "scores"
			writeRaw(t, dir, "scores.f32", scoresOf(out.Features, rule, net.Info().Classes))
		}
		switch {
		case i == 0:
			_, err = trained.Classifiers.Predict(trained.Learner, x)
			copy(labels, trained.Classifiers.Labels[0])
		case rule.Classes == nil:
			err = trained.Learner.(learner.Open).Decide(labels, out)
		default:
			var ncm learner.NCM
			if err = ncm.Fit(t.Context(), net, parts.WS, parts.Memory); err == nil {
				err = ncm.Classify(labels, out.Features)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		writeRaw(t, dir, label+".i32", labels)
		spec.Values, spec.Labels[label] = append(spec.Values, by), by
	}
	writeRaw(t, dir, "images.u8", images)
	writeRaw(t, dir, "pixels.u8", pixels)
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "case.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(python, "../nn/onnx/testdata/check.py", "compare", dir).CombinedOutput()
	t.Logf("%s, %d files of other sizes: %s", filepath.Base(trained.Folder), len(files), said)
	if err != nil {
		t.Errorf("%s: %v", trained.Folder, err)
	}
}

// scoresOf are what the model calls scores, in float64: −‖φ/‖φ‖ − μ‖².
func scoresOf(features *tensor.Tensor, rule trained.Rule, classes int) []float32 {
	var all []float32
	for i := range features.Dim(0) {
		f, length := features.Row(i), 0.0
		for _, v := range f {
			length += float64(v) * float64(v)
		}
		row := make([]float32, classes)
		for k := range row {
			row[k] = -1e9
		}
		for j, k := range rule.Classes {
			distance := 0.0
			for d, v := range f {
				x := float64(v)/math.Sqrt(length) - float64(rule.Means[j*len(f)+d])
				distance += x * x
			}
			row[k] = float32(-distance)
		}
		all = append(all, row...)
	}
	return all
}

func copied(t *tensor.Tensor) *tensor.Tensor {
	c := tensor.New(t.Shape...)
	copy(c.Data, t.Data)
	return c
}

func writeRaw(t *testing.T, dir, name string, v any) {
	t.Helper()
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
