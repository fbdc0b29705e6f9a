package trained

import (
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/config"
	"ocl/run/build"
	"ocl/run/train"
)

// A file claims no more memory for its network than it holds, or than a network of an ordinary size needs.
func TestTrainedRefusesImpossibleNetworks(t *testing.T) {
	t.Parallel()
	of := func(method string) config.Config {
		c := config.Default()
		c.Methods, c.Network = []string{method}, config.Network{Name: build.MLP, Hidden: []int{16}}
		return build.Schema().Resolved(c)
	}
	wide, images := of("gdumb"), train.Known{Shape: [3]int{3, 8, 8}, Classes: 100}
	wide.Network.Hidden = []int{1_000_000, 1_000_000}
	broad := of("gdumb")
	broad.Network = config.Network{Name: "resnet18", Width: 4096, Hidden: []int{16}}
	few := of("er")
	few.Stream.Mean, few.Stream.Std = []float64{0.5}, []float64{0.5}
	for name, k := range map[string]struct {
		c      config.Config
		params int // bytes
		want   string
	}{
		"no parameters, a wide perceptron": {wide, -1,
			"parameters or more, and the file has none of them. Use a run with a network of at most 67108864"},
		"no parameters, a wide ResNet":  {broad, -1, "parameters or more, and the file has none of them"},
		"few parameters, a wide ResNet": {broad, 4 << 20, "Use a file that ocl wrote"},
		"a mean for grey images":        {few, 4 << 20, "stream.mean has 1 values for images of 3 channels"},
		"what there is":                 {of("gdumb"), -1, ""},
	} {
		err := checkSize(k.c, images, k.params)
		if (err == nil) != (k.want == "") || err != nil && !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: got %v, want %q", name, err, k.want)
		}
	}
}

// The number of parameters that a file must hold is that of the network, but for biases and the channels of the image.
func TestLeastParameters(t *testing.T) {
	t.Parallel()
	for _, n := range []config.Network{{Name: "resnet18", Width: 20}, {Name: "resnet18", Width: 1},
		{Name: build.MLP, Hidden: []int{30, 7}}, {Name: build.MLP, Hidden: []int{5}}} {
		c := config.Default()
		c.Network = n
		of := ocl.StreamInfo{Channels: 3, Height: 32, Width: 32, Classes: 10}
		net, err := build.NewNetwork(of, c, 0)
		if err != nil {
			t.Fatal(err)
		}
		least, all := 0, len(net.Params())
		if least, err = build.LeastParameters(of, c); err != nil {
			t.Fatal(err)
		}
		if least > all || least < all*8/10 {
			t.Errorf("%+v: %d parameters, of which %d are counted", n, all, least)
		}
	}
}

// Rows of a head are put in the order of their classes; those of classes that have not appeared follow in theirs.
func TestByClass(t *testing.T) {
	if got := byClass([]float32{10, 11, 20, 21, 30, 31, 40, 41}, []ocl.Label{2, 0}, 4); !slices.Equal(got,
		[]float32{20, 21, 30, 31, 10, 11, 40, 41}) {
		t.Errorf("two classes of four: %v", got)
	}
}
