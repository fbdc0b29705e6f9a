package cli

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ocl/config"
	"ocl/data"
	"ocl/run/experiment"
	"ocl/view/report"
)

// TestExamplesOfMNIST: with the real digits, the images in a report are those of the test half, pixel for pixel.
func TestExamplesOfMNIST(t *testing.T) {
	all := os.Getenv(dataVariable)
	if _, err := os.Stat(filepath.Join(all, "mnist")); all == "" || err != nil {
		t.Skip("NOT RUN: " + dataVariable +
			" names no folder with mnist, so images in a report are tested on drawn data alone")
	}
	c := config.Default()
	c.Data.Name, c.Data.Dir, c.Data.TrainPerClass, c.Data.TestPerClass = "mnist", filepath.Join(all, "mnist"), 6, 5
	c.Methods, c.Memory, c.Stream.Tasks, c.Network.Name, c.Network.Hidden = []string{"er"}, 20, 5, "mlp", []int{8}
	out := t.TempDir()
	if _, err := experiment.Run(t.Context(), c, experiment.Options{Out: out}); err != nil {
		t.Fatal(err)
	}
	w, err := report.Write(t.Context(), []string{out}, out, report.Options{Examples: (&examples{stderr: io.Discard}).of})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(w.Page)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`<image id="confused-(\d+)" width="(\d+)" height="28" href="data:image/png;base64,([^"]*)"`).FindAllSubmatch(page,
		-1)
	if len(found) < 2 {
		t.Fatalf("the page has %d pictures of classes", len(found))
	}
	set, err := experiment.OpenData(t.Context(), c, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found {
		text, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(m[3]), "&#43;", "+"))
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		first, err := set.Take(set.Test, firstOf(set, string(m[1])))
		if err != nil || len(first) != 1 || string(m[2]) != "84" {
			t.Fatalf("class %s has a picture that is %s pixels wide and %d images: %v", m[1], m[2], len(first), err)
		}
		for i, want := range first[0][:28*28] {
			if grey, _, _, _ := img.At(i%28, i/28).RGBA(); uint8(grey) != want {
				t.Fatalf("class %s: pixel %d is %d, want %d", m[1], i, uint8(grey), want)
			}
		}
	}
}

// firstOf is the place of the first test image of a class.
func firstOf(set *data.Set, class string) []int32 {
	for i, y := range set.Test.Y {
		if class == string('0'+y) {
			return []int32{int32(i)}
		}
	}
	return nil
}

// TestMistakenImages: the kept learner takes as many test images of a class for another one as the result counted, and
// the images are those.
func TestMistakenImages(t *testing.T) {
	c := config.Default()
	c.Data.Name, c.Data.TrainPerClass, c.Data.TestPerClass = "glyphs", 2, 3
	c.Methods, c.Memory, c.Stream.Tasks, c.Network.Name, c.Network.Hidden = []string{"er"}, 20, 5, "mlp", []int{8}
	out := t.TempDir()
	results, err := experiment.Run(t.Context(), c, experiment.Options{Out: out, KeepCheckpoint: true})
	if err != nil {
		t.Fatal(err)
	}
	r := results[0]
	var pairs [][2]int
	for y, row := range r.ErrorAnalysis.Confusion {
		for k, n := range row {
			if n > 1 && y != k {
				pairs = append(pairs, [2]int{y, k})
			}
		}
	}
	if len(pairs) == 0 {
		t.Fatal("no two images of a class are taken for another one")
	}
	shown := &examples{stderr: io.Discard}
	found, err := shown.mistaken(t.Context(), r, out, "head", pairs, 3, 64)
	if err != nil {
		t.Fatal(err)
	}
	for i, pair := range pairs {
		if n := r.ErrorAnalysis.Confusion[pair[0]][pair[1]]; len(found[i]) != n {
			t.Errorf("%d images of class %d are taken for %d, want %d", len(found[i]), pair[0], pair[1], n)
		}
	}
	if _, err := shown.mistaken(t.Context(), r, t.TempDir(), "head", pairs, 3, 64); err == nil ||
		!strings.Contains(err.Error(), "the learner of the run is not at hand") {
		t.Errorf("without a learner: %v", err)
	}
}
