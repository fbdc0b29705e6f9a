package nn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ocl/checkpoint"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// grown is a network of the seed with so many outputs.
func grown(t *testing.T, c arch.Config, seed uint64, classes int) *nn.Network {
	t.Helper()
	c.Classes = classes
	net, err := buildOf(c)(c, rng.New(seed, "net"))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// sigmaOf is the scale of a cosine head, nil without one.
func sigmaOf(net *nn.Network) *float32 {
	for _, p := range net.Info().Named {
		if p.Name == "linear.sigma" {
			return &net.Params()[p.Offset]
		}
	}
	return nil
}

// saved is the state of a network.
func saved(t *testing.T, net *nn.Network) *checkpoint.Decoder {
	t.Helper()
	c := checkpoint.NewContainer()
	if err := net.SaveState(c.Encoder()); err != nil {
		t.Fatal(err)
	}
	return c.Decoder()
}

// TestHeirKeepsLogits: the logits of inherited outputs have the same bits, in training mode and by running statistics,
// and the parameters of the others are those that the heir was drawn with.
func TestHeirKeepsLogits(t *testing.T) {
	forEachSet(t, func(t *testing.T) {
		for _, c := range []arch.Config{{Channels: 3, Height: 26, Width: 27, NF: 2},
			{Channels: 1, Height: 3, Width: 5, Hidden: []int{7, 19}},
			{Channels: 1, Height: 3, Width: 5, Hidden: []int{7, 19}, Head: nn.Head{Kind: nn.CosineHead}},
			{Channels: 1, Height: 3, Width: 5}} {
			for _, k := range [][2]int{{1, 2}, {3, 40}, {16, 17}} {
				old, heir, drawn := grown(t, c, 1, k[0]), grown(t, c, 2, k[1]), grown(t, c, 2, k[1])
				x := images(3, c.Channels, c.Height, c.Width, 1)
				ws, other := old.NewWorkspace(1), heir.NewWorkspace(1)
				old.Forward(ws, x, nn.Train) // moves the running statistics
				if s := sigmaOf(old); s != nil {
					*s = 1.25
					old.Changed()
				}
				heir.Inherit(k[0])
				if err := heir.LoadState(saved(t, old)); err != nil {
					t.Fatal(err)
				}
				for _, of := range []struct {
					name string
					a, b interface{ Row(int) []float32 }
				}{
					{"evaluated", old.Predict(ws, x).Logits, heir.Predict(other, x).Logits},
					{"in training mode", old.Forward(ws, x, nn.BatchOnly), heir.Forward(other, x, nn.BatchOnly)},
				} {
					for i := range x.Dim(0) {
						if !slices.Equal(of.b.Row(i)[:k[0]], of.a.Row(i)) {
							t.Errorf("%d to %d outputs, %s: logits of image %d are %v, and were %v", k[0], k[1], of.name, i,
								of.b.Row(i)[:k[0]], of.a.Row(i))
						}
					}
				}
				if s := sigmaOf(heir); s != nil {
					if *s != *sigmaOf(old) {
						t.Errorf("%d to %d outputs: the scale is %v, and was %v", k[0], k[1], *s, *sigmaOf(old))
					}
					*s = *sigmaOf(drawn) // rows have it as a factor
				}
				a, b := make([]float32, heir.Info().FeatureDim), make([]float32, heir.Info().FeatureDim)
				for y := k[0]; y < k[1]; y++ {
					if p, q := nn.HeadRow(heir, a, y), nn.HeadRow(drawn, b, y); p != q || !slices.Equal(a, b) {
						t.Errorf("%d to %d outputs: row %d of the head is not as it was drawn", k[0], k[1], y)
					}
				}
				ws.Close()
				other.Close()
			}
		}
	})
}

// TestHeirFits: vectors beside the parameters have 0 where nothing was inherited, and the numbers that are inherited
// keep their parameter.
func TestHeirFits(t *testing.T) {
	c := arch.Config{Channels: 1, Height: 3, Width: 5, Hidden: []int{7}}
	old, heir := grown(t, c, 1, 4), grown(t, c, 1, 6)
	heir.Inherit(4)
	places := make([]float32, len(old.Params()))
	for i := range places {
		places[i] = float32(i + 1)
	}
	got, err := heir.Fit(places)
	if err != nil {
		t.Fatal(err)
	}
	for p, of := range heir.Info().Named {
		from := old.Info().Named[p]
		for in := range max(1, of.In) {
			for out := range of.Out {
				want := float32(0)
				if out < from.Out {
					want = places[from.Offset+in*from.Out+out]
				}
				if v := got[of.Offset+in*of.Out+out]; v != want {
					t.Errorf("%s, input %d, output %d: %v, want %v", of.Name, in, out, v, want)
				}
			}
		}
	}
	if same, err := heir.Fit(got); err != nil || &same[0] != &got[0] {
		t.Errorf("a vector of its own: %v", err)
	}
	if _, err := heir.Clone().Fit(places); err != nil {
		t.Errorf("a copy of the heir: %v", err)
	}
}

// TestOnlyHeirsInherit: a network that inherits nothing, or from another size, refuses the state of a smaller one.
func TestOnlyHeirsInherit(t *testing.T) {
	c := arch.Config{Channels: 1, Height: 3, Width: 5, Hidden: []int{7}}
	for _, from := range []int{0, 3, 5} {
		net := grown(t, c, 1, 6)
		if from > 0 {
			net.Inherit(from)
		}
		if err := net.LoadState(saved(t, grown(t, c, 1, 4))); err == nil ||
			!strings.Contains(err.Error(), "belongs to another configuration") {
			t.Errorf("an heir of %d outputs takes the state of 4: %v", from, err)
		}
	}
	net := grown(t, c, 1, 6)
	if _, err := net.Fit(make([]float32, 15*7+7)); err == nil { // all but the head
		t.Error("a vector without the head fits")
	}
	for _, from := range []int{0, 7} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, "Inherit at least 1") {
					t.Errorf("%d of 6 outputs: %s", from, got)
				}
			}()
			net.Inherit(from)
		}()
	}
}

// TestCutNetwork: a network that is cut to its first outputs has their logits, bit for bit, and all of them are active.
// Another network is refused.
func TestCutNetwork(t *testing.T) {
	for _, c := range []arch.Config{{Channels: 3, Height: 26, Width: 27, NF: 2},
		{Channels: 1, Height: 3, Width: 5, Hidden: []int{7, 19}},
		{Channels: 1, Height: 3, Width: 5, Hidden: []int{7, 19}, Head: nn.Head{Kind: nn.CosineHead}},
		{Channels: 1, Height: 3, Width: 5}} {
		large, cut := grown(t, c, 1, 40), grown(t, c, 2, 7)
		large.SetActive(7)
		cut.SetActive(2)
		cut.CopyFrom(large)
		x := tensor.New(2, c.Channels, c.Height, c.Width)
		for i := range x.Data {
			x.Data[i] = float32(i%11) / 11
		}
		a, b := large.NewWorkspace(1), cut.NewWorkspace(1)
		defer a.Close()
		defer b.Close()
		if want, got := large.Predict(a, x).Logits, cut.Predict(b, x).Logits; !slices.Equal(got.Data, want.Data) ||
			cut.Info().Classes != 7 {
			t.Errorf("%+v: the logits of %d outputs are %v, want %v", c, cut.Info().Classes, got.Data, want.Data)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v: a network with fewer outputs was taken", c)
				}
			}()
			large.CopyFrom(cut)
		}()
	}
}
