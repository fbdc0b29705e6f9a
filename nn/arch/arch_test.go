package arch

import (
	"strings"
	"testing"

	"ocl/rng"
)

func TestLeastSide(t *testing.T) {
	for _, c := range []struct {
		h, w int
		want string // of the error; "" means none
	}{
		{LeastSide, LeastSide, ""},
		{LeastSide - 1, LeastSide,
			"arch: resnet18: images of 24×25 are smaller than 25×25. Use larger images, or an MLP (--network mlp)"},
		{LeastSide, LeastSide - 1, "images of 25×24 are smaller than 25×25"},
	} {
		net, err := ResNet18(Config{Channels: 1, Height: c.h, Width: c.w, Classes: 2, NF: 2}, rng.New(1, "net"))
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d×%d: got %v, want it to say %q", c.h, c.w, err, c.want)
			}
		case err != nil:
			t.Errorf("%d×%d: %v", c.h, c.w, err)
		case net.Info().FeatureDim != 8*2: // one pooled value a channel
			t.Errorf("%d×%d: %d features, want %d", c.h, c.w, net.Info().FeatureDim, 8*2)
		}
	}
}
