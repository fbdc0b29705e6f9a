package backbone

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"

	"ocl/nn"
)

// TestAVX2FeaturesEverywhere: a kernel set with AVX2's bits makes the features that AVX2 makes: those of convolutions,
// of depthwise ones and of attention.
func TestAVX2FeaturesEverywhere(t *testing.T) {
	if err := (nn.Engine{Kernel: "avx2"}).Check(); err != nil {
		t.Skipf("no kernels here have AVX2's bits: %v", err)
	}
	for _, c := range []struct {
		name      string
		side      int
		algorithm string
		hash      string // of AVX2 on amd64
	}{
		{"efficientnet-lite0", 45, "direct", "db5732b1001fcf4d"},
		{"torchvision-resnet18", 45, "direct", "4f549386e1dab6d8"},
		{"torchvision-resnet18", 45, "winograd", "0f2f320d98c360cb"},
		{"dinov2-vits14-reg4", 28, "direct", "c02e04b1bdc17fe9"},
	} {
		t.Run(c.name+"/"+c.algorithm, func(t *testing.T) {
			file := drawn(c.name, c.side, 11, 1)
			b, err := decode(file.text(t), nn.Engine{Kernel: "avx2", Convolution: c.algorithm})
			if err != nil {
				t.Fatal(err)
			}
			w := b.NewWorkspace(1, 1)
			defer w.Close()
			features := make([]float32, b.info.Features)
			if err := w.Features(features, photos(1, c.side), 1); err != nil {
				t.Fatal(err)
			}
			h := sha256.New()
			_ = binary.Write(h, binary.LittleEndian, features) // a hash has no errors
			if got := fmt.Sprintf("%x", h.Sum(nil)[:8]); got != c.hash {
				t.Errorf("the features are %s, but must be %s", got, c.hash)
			}
		})
	}
}
