package data_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ocl/config"
	"ocl/data"
	"ocl/run/experiment"
)

// stripes are images of two classes, 4×4 pixels: upright and lying stripes.
func stripes(context.Context, data.Spec) (*data.Set, error) {
	set := &data.Set{Name: "stripes", C: 1, H: 4, W: 4, Classes: 2, ClassNames: []string{"upright", "lying"}}
	for _, half := range []*data.Split{&set.Train, &set.Test} {
		var pixels []uint8
		for i := range 40 {
			y := i % 2
			half.Y = append(half.Y, int32(y))
			for at := range 16 {
				pixels = append(pixels, uint8(255*([2]int{at % 4, at / 4}[y]%2)))
			}
		}
		half.Images = data.Block{Pixels: pixels, Size: 16}
	}
	return set, nil
}

// TestRegister: a registered data set is learned by its name.
func TestRegister(t *testing.T) {
	data.Restore(t)
	data.Register(data.Info{Name: "two-stripes", Summary: "upright and lying stripes", Classes: 2, Size: 4, Open: stripes})
	c := config.Default()
	c.Data.Name, c.Methods, c.Network.Name, c.Network.Hidden, c.Stream.Tasks, c.Memory = "two-stripes", []string{"er"},
		"mlp", []int{8}, 2, 20
	results, err := experiment.Run(context.Background(), c, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := results[0]; r.Stream.Classes != 2 || r.Provenance.DataDigest == "" || r.Provenance.Registered != nil {
		t.Errorf("the result has %d classes, the digest %q and is of %v", r.Stream.Classes, r.Provenance.DataDigest,
			r.Provenance.Registered)
	}
}

// lazy are images that another module reads when they are asked for, n bytes of each.
type lazy struct {
	data.Images
	n int
}

func (l lazy) Image(i int, buf []uint8) ([]uint8, error) {
	pixels, err := l.Images.Image(i, buf)
	return pixels[:l.n], err
}

// TestRegisteredImages: images need not be in memory for a part of them to be used, and a set that Open returns twice
// is not changed.
func TestRegisteredImages(t *testing.T) {
	data.Restore(t)
	whole, err := stripes(t.Context(), data.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	whole.Train.Images = lazy{whole.Train.Images, 16}
	data.Register(data.Info{Name: "two-stripes",
		Open: func(context.Context, data.Spec) (*data.Set, error) { return whole, nil }})
	for _, c := range []struct{ perClass, channels, images, c int }{{0, 0, 40, 1}, {3, 3, 6, 3}, {0, 0, 40, 1}} {
		set, err := data.Open(t.Context(), data.Spec{Name: "two-stripes", TrainPerClass: c.perClass, Channels: c.channels})
		if err != nil || set.Train.Len() != c.images || set.C != c.c {
			t.Fatalf("%+v: %+v, %v", c, set, err)
		}
	}
	if whole.C != 1 || whole.Train.Len() != 40 || whole.Digest != "" {
		t.Errorf("the set of Open has now %d channels, %d images and the digest %q", whole.C, whole.Train.Len(), whole.Digest)
	}
}

// panicOf is what a call panics with.
func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

func TestRegisterRefuses(t *testing.T) {
	data.Restore(t)
	data.Register(data.Info{Name: "two-stripes", Open: stripes})
	for want, info := range map[string]data.Info{
		"there is no name":        {Open: stripes},
		`"a b" cannot be a name`:  {Name: "a b", Open: stripes},
		"there is no Open":        {Name: "x"},
		"the name MNIST is taken": {Name: "MNIST", Open: stripes},
		"register_test.go:":       {Name: "two-stripes", Open: stripes},
	} {
		if got := panicOf(func() { data.Register(info) }); !strings.Contains(got, want) ||
			!strings.Contains(got, "Register at") {
			t.Errorf("panic %q, want %q", got, want)
		}
	}
}

// TestRegisteredSetsAreChecked: a set that does not fit itself is an error, not a panic later.
func TestRegisteredSetsAreChecked(t *testing.T) {
	data.Restore(t)
	changes := map[string]func(*data.Set){
		"1 or 3 channels": func(s *data.Set) { s.C = 5 }, "labels from 0 to 1": func(s *data.Set) { s.Test.Y[3] = 2 },
		"another number of images":     func(s *data.Set) { s.Train.Y = s.Train.Y[:7] },
		"no training image of class 1": func(s *data.Set) { clear(s.Train.Y) },
		"3 of their tasks":             func(s *data.Set) { s.Train.Task = make([]int32, 3) },
		"but 1 strengths":              func(s *data.Set) { s.Test.Strength = make([]float32, 1) },
		"the domain 0 for":             func(s *data.Set) { s.Test.Domain = make([]int32, 40) },
		"Size is 0":                    func(s *data.Set) { s.Train.Images = data.Block{Pixels: make([]uint8, 640)} },
		"has 3 bytes instead of 16":    func(s *data.Set) { s.Train.Images = lazy{s.Train.Images, 3} },
	}
	var change func(*data.Set)
	data.Register(data.Info{Name: "broken", Open: func(ctx context.Context, spec data.Spec) (*data.Set, error) {
		set, err := stripes(ctx, spec)
		if change == nil {
			return nil, err
		}
		change(set)
		return set, err
	}})
	if _, err := data.Open(context.Background(), data.Spec{Name: "broken"}); err == nil ||
		!strings.Contains(err.Error(), "no set and no error") {
		t.Errorf("no set: %v", err)
	}
	for want, c := range changes {
		change = c
		if _, err := data.Open(context.Background(), data.Spec{Name: "broken"}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
