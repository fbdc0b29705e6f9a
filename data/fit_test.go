package data

import (
	"context"
	"strings"
	"testing"
)

// Info.Fit says what the data sets do.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		name    string
		side    int
		stretch bool
		inner   int
	}{
		{"cifar100", 32, false, 0}, {"folder", 64, false, 0}, {"core50", 128, false, 0}, {"mini-imagenet", 84, true, 0},
		{"mnist", 28, false, 0}, {"mnist", 32, false, 28}, {"fashion-mnist", 64, false, 28},
	} {
		info, err := Lookup(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if stretch, inner := info.Fit(c.side, c.side); stretch != c.stretch || inner != c.inner {
			t.Errorf("%s at %d pixels: stretch %v, inner side %d; want %v, %d", c.name, c.side, stretch, inner, c.stretch,
				c.inner)
		}
	}
}

// TestShapeIsText: the words of Info.Shape are for people alone. They agree with the fields, and other words change
// nothing.
func TestShapeIsText(t *testing.T) {
	for _, info := range Catalogue() {
		if colour := strings.HasPrefix(info.Shape, "3"); colour != info.Colour {
			t.Errorf("%s: %q, but Colour is %v", info.Name, info.Shape, info.Colour)
		}
		other := info
		other.Shape = "in other words"
		side := max(info.MaxSize, 64)
		stretch, inner := info.Fit(side, side)
		if s, i := other.Fit(side, side); s != stretch || i != inner {
			t.Errorf("%s: stretch %v, inner side %d; in other words %v, %d", info.Name, stretch, inner, s, i)
		}
	}
}

// TestRegisteredPads: images are prepared as those of a registered set that pads, whatever its side and its words.
func TestRegisteredPads(t *testing.T) {
	Restore(t)
	Register(Info{Name: "padded", Shape: "grey, 10×10 or more", Size: 10, MinSize: 10, MaxSize: 20, Pads: true,
		Open: func(context.Context, Spec) (*Set, error) { return nil, nil }})
	p, err := NewPreparation(Spec{Name: "padded", Size: 20, Channels: 3}, 3, 20, 20)
	if err != nil || p.side != 10 || !p.grey {
		t.Errorf("side %d before zeros are put around, grey %v, %v; want 10 and grey", p.side, p.grey, err)
	}
}

// Each remedy is one that works, or says that there is none.
func TestRemedy(t *testing.T) {
	for _, c := range []struct {
		set  Set
		to   [3]int
		want string
	}{
		{Set{Name: "cifar100", C: 3, H: 32, W: 32}, [3]int{1, 28, 28},
			"No option makes the colours of a data set grey. Use grey images"},
		{Set{Name: "folder", C: 3, H: 28, W: 28}, [3]int{1, 28, 28},
			"No option makes the colours of a data set grey. Use grey images"},
		{Set{Name: "npz", C: 2, H: 6, W: 6}, [3]int{3, 6, 6}, "No option changes their channels. Use images of 3 channels"},
		{Set{Name: "mnist", C: 1, H: 28, W: 28}, [3]int{3, 28, 28},
			"Use data.channels=3, which makes three equal channels of grey images"},
		{Set{Name: "mnist", C: 1, H: 28, W: 28}, [3]int{3, 32, 32}, "Use data.channels=3 and data.size=32"},
		{Set{Name: "mnist", C: 1, H: 28, W: 28}, [3]int{1, 32, 32}, "Use data.size=32"},
		{Set{Name: "mnist", C: 1, H: 28, W: 28}, [3]int{1, 20, 20},
			"No option makes them 20×20 pixels. Use images of that size"},
		{Set{Name: "mini-imagenet", C: 3, H: 84, W: 84}, [3]int{3, 32, 32},
			"No option makes them 32×32 pixels. Use images of that size"},
		{Set{Name: "folder", C: 3, H: 64, W: 64}, [3]int{3, 40, 20},
			"No option makes them 40×20 pixels. Use images of that size"},
		{Set{Name: "folder", C: 3, H: 64, W: 64}, [3]int{3, 40, 40}, "Use data.size=40"},
	} {
		if got := c.set.Remedy(c.to[0], c.to[1], c.to[2]); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %d×%d×%d to %v: %s", c.set.Name, c.set.C, c.set.H, c.set.W, c.to, got)
		}
	}
}
