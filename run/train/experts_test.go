package train

import (
	"testing"

	"ocl/nn/tensor"
)

// TestPicture: large images become the means of their pixels, and a grey one has three equal channels.
func TestPicture(t *testing.T) {
	x := tensor.New(2, 1, 64, 36)
	for i := range x.Row(1) {
		y, column := i/36, i%36
		x.Row(1)[i] = float32(y%2)*0.5 + float32(column%2)*0.1 // means 0.3
	}
	x.Row(1)[0] = 9
	got, h, w := appendPicture(nil, x, 1)
	if h != 32 || w != 18 || len(got) != 32*18*3 {
		t.Fatalf("%d×%d, %d values", h, w, len(got))
	}
	if got[0] != 255 || got[3] != 77 || got[4] != 77 || got[5] != 77 {
		t.Errorf("values %v, want 255 and then 77", got[:6])
	}
}
