package live

import (
	"errors"
	"math"
	"reflect"
	"testing"
)

// TestSeen: what was seen of an image is predicted as the image itself is, and its features are those of the image:
// nearly one direction for images that show the same, and another for others. With a pretrained network they are there
// before anything is learned, and stay the same after it.
func TestSeen(t *testing.T) {
	t.Parallel()
	file := pretrained(t, "1")
	for name, o := range map[string]Options{
		"er":              {Method: "er", Memory: 20, Size: 8, Set: []string{"network.name=mlp", "network.hidden=16"}},
		"er, pretrained":  {Method: "er", Memory: 20, Process: Process{Backbone: file}},
		"ncm, pretrained": {Method: "ncm", Process: Process{Backbone: file}},
	} {
		tr := trainer(t, o)
		pictures := [][]byte{noise(100), noise(102), noise(101)}
		var seen [][]byte
		for _, p := range pictures {
			one, err := tr.See(p)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			seen = append(seen, one)
		}
		before, err := tr.Features(seen)
		if pretrained := o.Process.Backbone != ""; pretrained != (err == nil) || !pretrained && !errors.Is(err, ErrNothing) {
			t.Errorf("%s: the features before anything is learned: %v", name, err)
		}
		if _, err := tr.PredictSeen(1, seen); !errors.Is(err, ErrNothing) {
			t.Errorf("%s: a prediction before anything is learned: %v", name, err)
		}
		teach(t, tr, 0, 20)
		want, err := tr.Predict(2, pictures)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := tr.PredictSeen(2, seen); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: what was seen is predicted as %v (%v), and the images as %v", name, got, err, want)
		}
		f, err := tr.Features(seen)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if before != nil && !reflect.DeepEqual(f, before) {
			t.Errorf("%s: learning has changed the features of a pretrained network", name)
		}
		cos := func(a, b []float32) float64 {
			var ab, aa, bb float64
			for i := range a {
				x, y := float64(a[i]), float64(b[i])
				ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
			}
			return ab / math.Sqrt(aa*bb)
		}
		if same, other := cos(f[0], f[1]), cos(f[0], f[2]); same <= other {
			t.Errorf("%s: the features of images of one class are %v alike, and those of two %v", name, same, other)
		}
		for _, bad := range [][][]byte{nil, {seen[0][1:]}} {
			if _, err := tr.PredictSeen(1, bad); err == nil {
				t.Errorf("%s: %d images with too few bytes are predicted", name, len(bad))
			}
			if _, err := tr.Features(bad); err == nil {
				t.Errorf("%s: %d images with too few bytes have features", name, len(bad))
			}
		}
		if _, err := tr.See(pictures[0][1:]); err == nil {
			t.Errorf("%s: too few pixels are seen", name)
		}
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
		_, see := tr.See(pictures[0])
		_, features := tr.Features(seen)
		if !errors.Is(see, ErrClosed) || !errors.Is(features, ErrClosed) {
			t.Errorf("%s: after Close: %v, %v", name, see, features)
		}
	}
}
