package report

import (
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/result"
)

// TestSpecialStreams: the page says how images are disturbed and which part of the data was used, and rows of another
// stream stand apart.
func TestSpecialStreams(t *testing.T) {
	f := fake{method: "er", title: "ER", memory: 10, seed: 1, tasks: 2, perTask: 2, level: 0.5, decay: 0.5}
	plain, shifted := sized(f, 5, 4, "a"), sized(f, 5, 4, "a")
	s := &shifted.Config.Stream
	s.Shift = config.Shift{Kind: "blur+occlusion", BlurStrengths: []float64{0, 1}, Blur: config.BlurCrossImage,
		Occlusion: config.OcclusionPerImage}
	shifted.Parent = &result.Parent{Run: "er-m10-s1-aaaaaaaa", Checkpoint: "sha256:0123456789abcdef", Tasks: 3,
		Steps: 1200, Classes: 7}
	s.TaskSignals, s.Blurry, s.LongTail = false, 0.2, 0.05
	shifted.Stream.Notes = []string{"a part: 20 of 100 images"}
	if text := streamText(newRun(plain, "x")); text != "" {
		t.Errorf("a plain stream is %q", text)
	}
	st := studyOf([]*run{newRun(plain, "x"), newRun(shifted, "y")}, nil)
	if len(st.settings) != 2 {
		t.Fatalf("%d streams, want 2", len(st.settings))
	}
	var text strings.Builder
	for _, f := range st.settings[1].facts() {
		text.WriteString(f.Name + ": " + f.Value + "\n")
	}
	for _, want := range []string{
		"images disturbed by blur and occlusion (blur of strength 0,1), the square in its own place on each image, blurred across neighbouring images",
		"; learned after 3 earlier tasks; no task signals",
		"Parent: er-m10-s1-aaaaaaaa, 3 tasks and 1,200 steps, 7 classes, checkpoint sha256:0123456789ab",
		"20.0 % of each task's images", "the rarest with 5.0 % of the images", "Data: a part: 20 of 100 images\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the facts lack %q:\n%s", want, text.String())
		}
	}
}
