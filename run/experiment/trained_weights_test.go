package experiment

import (
	"encoding/json"
	"slices"
	"testing"

	"ocl/config"
	"ocl/learn/learner"
	"ocl/nn"
	"ocl/nn/safetensors"
	"ocl/nn/weights"
	"ocl/run/trained"
)

// tensorsOf are the tensors of a trained run by name, and its metadata.
func tensorsOf(t *testing.T, c config.Config) (*trained.Model, map[string]safetensors.Tensor, map[string]string) {
	t.Helper()
	folder, _ := trainedRun(t, c)
	model, err := trained.Open(t.Context(), folder, trained.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	list, metadata, err := model.Weights(t.Context(), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]safetensors.Tensor{}
	for _, w := range list {
		named[w.Name] = w
	}
	return model, named, metadata
}

// The weights of a run say what a program needs to predict with them.
func TestTrainedWeights(t *testing.T) {
	t.Parallel()
	c := one("er")
	c.Stream.Mean, c.Stream.Std = []float64{0.5, 0.5, 0.25}, []float64{0.25, 0.5, 1}
	model, named, metadata := tensorsOf(t, c)
	for key, want := range map[string]string{
		"format": "pt", "architecture": "mlp", "hidden": "[16]", "shape": "[3,8,8]", "classes": "100", "classifier": "head",
		"mean": "[0.5,0.5,0.25]", "std": "[0.25,0.5,1]",
		"method": "er", "tricks": "none", "tasks_learned": "5", "steps": "60", "data": "glyphs", "checkpoint": model.Digest,
		"ocl_version": "1.2.3",
	} {
		if metadata[key] != want {
			t.Errorf("%s is %q, want %q", key, metadata[key], want)
		}
	}
	var names []string
	if err := json.Unmarshal([]byte(metadata["class_names"]), &names); err != nil ||
		!slices.Equal(names, model.ClassNames) || len(names) != 100 {
		t.Errorf("class_names %s, %v", metadata["class_names"], err)
	}
	if _, there := named[weights.Means]; there || len(named) != 4 {
		t.Errorf("%d tensors, class means: %v", len(named), there)
	}
	if _, there := metadata["width"]; there {
		t.Error("a perceptron has a width")
	}
}

// Row k of the head of iCaRL's file is that of class k, in whatever order the classes appeared.
func TestHeadOfICaRLIsByClass(t *testing.T) {
	t.Parallel()
	model, named, _ := tensorsOf(t, one("icarl"))
	order := model.Learner.(*learner.ICaRL).Order()
	if len(order) != 100 || slices.IsSorted(order) {
		t.Fatalf("%d classes appeared, in the order %v", len(order), order)
	}
	row := make([]float32, 16)
	for k, y := range order {
		bias := nn.HeadRow(model.Net, row, k)
		if !slices.Equal(named["linear.weight"].Floats[16*int(y):][:16], row) || named["linear.bias"].Floats[y] != bias {
			t.Errorf("class %d appeared as number %d, and has another row", y, k)
		}
	}
}
