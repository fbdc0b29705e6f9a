package live

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/internal/edition"
	"ocl/nn/onnx"
	"ocl/nn/safetensors"
	"ocl/run/trained"
)

// exported is what a trainer writes in a format, as version 3.
func exported(t *testing.T, x *Trainer, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	if version, err := x.Export(&b, format); version != 3 || err != nil {
		t.Fatalf("version %d, %v", version, err)
	}
	return b.Bytes()
}

// TestExportIsThatOfTheRun: a trainer of a run exports what `ocl export` does, but for the digest of the checkpoint.
func TestExportIsThatOfTheRun(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"er", "icarl", "lwf"} {
		folder := run(t, method, nil)
		x, err := OpenTrainer(folder, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		published(t, x, 3)
		m, err := trained.Open(t.Context(), folder, trained.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		c, err := m.Exported(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.Digest = ""
		tensors, metadata := c.Weights(edition.Release)
		var weights, model bytes.Buffer
		if err := safetensors.Write(&weights, tensors, metadata); err != nil {
			t.Fatal(err)
		}
		of, err := c.ONNX(edition.Release, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := onnx.Write(&model, of); err != nil {
			t.Fatal(err)
		}
		if got := exported(t, x, Safetensors); !bytes.Equal(got, weights.Bytes()) {
			t.Errorf("%s: other weights than the run's: %s", method, cmp.Diff(string(got[:800]), weights.String()[:800]))
		}
		if got := exported(t, x, ONNX); !bytes.Equal(got, model.Bytes()) {
			t.Errorf("%s: another model than the run's: %d and %d bytes", method, len(got), model.Len())
		}
	}
}

// TestExportIsCutToTheClasses: the head of an export has the outputs that are in use, also where the learner orders
// them otherwise, and what is learned after the publication is not in it.
func TestExportIsCutToTheClasses(t *testing.T) {
	t.Parallel()
	for _, method := range methods {
		x := trainer(t, optionsOf(method))
		observed(t, x, 0, 60, 3)
		published(t, x, 3)
		before, model := exported(t, x, Safetensors), exported(t, x, ONNX)
		observed(t, x, 60, 120, 12)
		if !bytes.Equal(exported(t, x, Safetensors), before) || !bytes.Equal(exported(t, x, ONNX), model) {
			t.Errorf("%s: an export has what is not published", method)
		}
		file, err := safetensors.NewReader(bytes.NewReader(before), int64(len(before)))
		if err != nil {
			t.Fatal(err)
		}
		list := x.core.net.Info().Named
		if bias, there := file.Find(list[len(list)-1].Name); !there || !slices.Equal(bias.Shape, []int{3}) {
			t.Errorf("%s: the head has the biases %+v, want 3", method, bias)
		}
		if !bytes.Contains(before, []byte(`[\"class 0\",\"class 1\",\"class 2\"]`)) {
			t.Errorf("%s: the names of the classes are not in %.600s", method, before)
		}
		if m, _, err := x.publisher.hold(); err != nil || !slices.Equal(m.Names, []string{"class 0", "class 1", "class 2"}) {
			t.Errorf("%s: %q", method, m.Names)
		}
	}
}
