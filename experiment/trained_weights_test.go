package experiment

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"ocl"
	"ocl/config"
	"ocl/experiment/build"
	"ocl/experiment/trained"
	"ocl/interop/safetensors"
	"ocl/interop/weights"
	"ocl/learner"
)

// tensorsOf are the tensors of a trained run by name, and its metadata.
func tensorsOf(t *testing.T, c config.Config) (*trained.Model, map[string]safetensors.Tensor, map[string]string) {
	t.Helper()
	folder, _ := trainedRun(t, c)
	model, err := trained.Open(t.Context(), folder, 1)
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
		"format": "pt", "architecture": "mlp", "hidden": "[16]", "shape": "[3,8,8]", "classes": "100", "classifier": "head", "mean": "[0.5,0.5,0.25]", "std": "[0.25,0.5,1]",
		"method": "er", "tricks": "none", "tasks_learned": "5", "steps": "60", "data": "glyphs", "checkpoint": model.Digest, "ocl_version": "1.2.3",
	} {
		if metadata[key] != want {
			t.Errorf("%s is %q, want %q", key, metadata[key], want)
		}
	}
	var names []string
	if err := json.Unmarshal([]byte(metadata["class_names"]), &names); err != nil || !slices.Equal(names, model.ClassNames) || len(names) != 100 {
		t.Errorf("class_names %s, %v", metadata["class_names"], err)
	}
	if _, there := named[weights.Means]; there || len(named) != 4 {
		t.Errorf("%d tensors, class means: %v", len(named), there)
	}
	if _, there := metadata["width"]; there {
		t.Error("a perceptron has a width")
	}
}

// Of learners that predict by class means, the weights have these, and nearest means predict what the learner does.
func TestTrainedMeans(t *testing.T) {
	t.Parallel()
	plain, trick, twice, beside := one("icarl"), one("er"), one("icarl"), one("er")
	trick.Classifiers = []string{config.ClassifierNCM}
	twice.Classifiers = []string{config.ClassifierHead, config.ClassifierNCM}
	beside.Classifiers = twice.Classifiers
	if _, named, metadata := tensorsOf(t, beside); metadata["classifier"] != "head" || len(named[weights.Classes].Ints) < 5 {
		t.Errorf("class means beside the head: %s, %v", metadata["classifier"], named[weights.Classes].Ints)
	}
	for name, c := range map[string]config.Config{"icarl": plain, "icarl, head and ncm": twice, "ncm": trick} {
		model, named, metadata := tensorsOf(t, c)
		means, classes := named[weights.Means], named[weights.Classes]
		n := len(classes.Ints)
		if metadata["classifier"] != "ncm" || n < 5 || !slices.Equal(means.Shape, []int{n, 16}) || !slices.Equal(classes.Shape, []int{n}) {
			t.Fatalf("%s: %s, %v, %v", name, metadata["classifier"], means.Shape, classes.Shape)
		}
		x := mustOpen(t, c, Options{})
		st, err := build.NewStream(x.set, x.Jobs()[0].Config)
		if err != nil {
			t.Fatal(err)
		}
		for b, err := range st.Test(0) {
			if err != nil {
				t.Fatal(err)
			}
			want := make([]ocl.Label, b.Len())
			if err := model.Predict(want, b.X); err != nil {
				t.Fatal(err)
			}
			features := model.Net.PredictFeatures(model.Learner.(learner.Open).Parts().WS, b.X)
			for i := range want {
				if got := nearestMean(features.Row(i), means.Floats, classes.Ints); got != want[i] {
					t.Errorf("%s: the nearest mean is that of class %d, and the learner predicts %d", name, got, want[i])
				}
			}
		}
	}
}

// nearestMean is the class whose mean has the largest product with the features: all means have length 1.
func nearestMean(features, means []float32, classes []int64) ocl.Label {
	best, most := -1, 0.0
	for j := range classes {
		sum := 0.0
		for k, v := range features {
			sum += float64(v) * float64(means[j*len(features)+k])
		}
		if best < 0 || sum > most {
			best, most = j, sum
		}
	}
	return ocl.Label(classes[best])
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
		bias := model.Net.HeadRow(row, k)
		if !slices.Equal(named["linear.weight"].Floats[16*int(y):][:16], row) || named["linear.bias"].Floats[y] != bias {
			t.Errorf("class %d appeared as number %d, and has another row", y, k)
		}
	}
}

// The same run is exported to the same bytes.
func TestWeightsAreDeterministic(t *testing.T) {
	t.Parallel()
	folder, _ := trainedRun(t, one("icarl"))
	var files [2]bytes.Buffer
	for i := range files {
		model, err := trained.Open(t.Context(), folder, i+1)
		if err != nil {
			t.Fatal(err)
		}
		list, metadata, err := model.Weights(t.Context(), "1")
		model.Close()
		if err != nil {
			t.Fatal(err)
		}
		if err := safetensors.Write(&files[i], list, metadata); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Error("two exports differ")
	}
}
