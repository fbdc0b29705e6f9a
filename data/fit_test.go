package data

import "testing"

// What a program that prepares images itself is told is what the data sets do.
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
			t.Errorf("%s at %d pixels: stretch %v, inner side %d; want %v, %d", c.name, c.side, stretch, inner, c.stretch, c.inner)
		}
	}
}
