package stream_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ocl"
	"ocl/data"
	"ocl/data/stream"
)

// core50 opens a tree of frames, of 8×8 pixels to be quick.
func core50(t *testing.T, frames ...string) *data.Set {
	t.Helper()
	t.Setenv("OCL_CACHE", t.TempDir())
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range frames {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set, err := data.Open(t.Context(), data.Spec{Name: "core50", Dir: dir, Size: 8})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// everyCell is a frame of each object in each session.
func everyCell() []string {
	var frames []string
	for s := range 11 {
		for o := range 50 {
			frames = append(frames, fmt.Sprintf("s%d/o%d/C_%02d_%02d_100.png", s+1, o+1, s+1, o+1))
		}
	}
	return frames
}

// TestCORe50Scenarios: the streams of CORe50 are its scenarios NC and NI in the official order, of which the protocol
// survey keeps 7 of 9 and 6 of 8 tasks. NC has a test set for each task, NI one for all.
func TestCORe50Scenarios(t *testing.T) {
	set := core50(t, everyCell()...)
	for _, c := range []struct {
		kind         string
		order        int
		tasks, kept  int
		train, test  []int // images of the kept tasks
		firstClasses []ocl.Label
		common       bool
	}{
		{"classes", 0, 9, 7, []int{40, 40, 40, 40, 40, 40, 40}, []int{15, 15, 15, 15, 15, 15, 15},
			[]ocl.Label{2, 7, 12, 17, 22}, false},
		{"classes", 9, 9, 7, []int{40, 40, 40, 40, 40, 40, 40}, []int{15, 15, 15, 15, 15, 15, 15},
			[]ocl.Label{28, 33, 38, 43, 48}, false},
		{"domains", 3, 8, 6, []int{50, 50, 50, 50, 50, 50}, []int{150, 150, 150, 150, 150, 150}, nil, true},
	} {
		keep, err := stream.Protocol("survey", c.tasks)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := stream.Split(set, stream.Options{Kind: c.kind, Batch: 10, Official: c.order})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(whole.Info().Tasks); n != c.tasks {
			t.Errorf("%s: %d tasks, want %d", c.kind, n, c.tasks)
		}
		s, err := stream.Split(set, stream.Options{Kind: c.kind, Batch: 10, Official: c.order, Keep: keep})
		if err != nil {
			t.Fatal(err)
		}
		info := s.Info()
		var train, test []int
		for _, task := range info.Tasks {
			train, test = append(train, task.Train), append(test, task.Test)
		}
		if len(info.Tasks) != c.kept || !slices.Equal(train, c.train) || !slices.Equal(test, c.test) ||
			info.CommonTest != c.common || s.Original(0) != 2 {
			t.Errorf("%s: %d tasks from %d on, %v training and %v test images, common %v", c.kind, len(info.Tasks),
				s.Original(0), train, test, info.CommonTest)
		}
		if c.firstClasses != nil && !slices.Equal(info.Tasks[0].Classes, c.firstClasses) {
			t.Errorf("%s: order %d learns %v third, want %v", c.kind, c.order, info.Tasks[0].Classes, c.firstClasses)
		}
	}
}
