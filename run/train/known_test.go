package train

import (
	"strings"
	"testing"

	"ocl/checkpoint"
)

// An impossible description of the images is refused before anything is allocated for it.
func TestTrainedRefusesImpossibleImages(t *testing.T) {
	t.Parallel()
	for _, s := range []Known{
		{Shape: [3]int{1, 8, 1 << 40}, Classes: 10}, {Shape: [3]int{0, 8, 8}, Classes: 10},
		{Shape: [3]int{1, 8, 8}, Classes: -1},
		{Shape: [3]int{1, 8, 8}, Classes: 3, ClassNames: []string{"a"}},
		{Shape: [3]int{1, 8, 8}, Classes: 3, Learned: []int{0, 3}},
	} {
		c := checkpoint.NewContainer()
		if err := (checkpoint.Parts{checkpoint.JSON(knownSection, &s)}).SaveState(c.Encoder()); err != nil {
			t.Fatal(err)
		}
		if _, err := readKnown(c.Decoder()); err == nil || !strings.Contains(err.Error(), "Use a file that ocl wrote") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
