package experiment

import (
	"encoding/base64"
	"testing"

	"ocl/run/result"
)

// TestExpertsInTheResult: the experts of a run with their tasks, as many parameters as they have together, and pictures
// of all of them; a run of another method has none.
func TestExpertsInTheResult(t *testing.T) {
	t.Parallel()
	c := one("cndpm")
	if err := Schema().Set(&c, "method.cndpm.log_alpha", "1e6"); err != nil { // every sample is stored
		t.Fatal(err)
	}
	r := mustRun(t, c, Options{})[0]
	x := r.Experts
	steps, samples := 0, 0
	for _, task := range r.Stream.Tasks {
		samples += task.Train
	}
	if x == nil || len(x.List) != samples/30 {
		t.Fatalf("%+v, want an expert for each 30 of %d samples", x, samples)
	}
	parameters := 0
	for i, e := range x.List {
		parameters += e.Parameters
		if e.Stored != 30 || e.Count < 31-1e-9 || e.Step <= steps || e.Task != (e.Step-1)/12 {
			t.Errorf("expert %d: %+v", i, e)
		}
		steps = e.Step
	}
	if parameters != r.Resources.Parameters {
		t.Errorf("%d parameters, and the run has %d", parameters, r.Resources.Parameters)
	}
	p := x.Pictures
	if p == nil || len(p.Experts) != min(len(x.List), result.MostPictured) || p.Images != 4 || p.Height != 12 ||
		p.Width != 12 {
		t.Fatalf("pictures of %+v", p)
	}
	pixels, err := base64.StdEncoding.DecodeString(p.Pixels)
	if err != nil {
		t.Fatal(err)
	}
	dark, light := 0, 0
	for _, v := range pixels[:12*12*3] { // an original: a white glyph
		if v < 50 {
			dark++
		} else if v > 150 {
			light++
		}
	}
	if dark == 0 || light == 0 {
		t.Errorf("the first image has %d dark and %d light values of %d", dark, light, 12*12*3)
	}
	if r := mustRun(t, one("er"), Options{})[0]; r.Experts != nil {
		t.Errorf("er has %+v", r.Experts)
	}
}
