package rng_test

import (
	"slices"
	"testing"

	"ocl/rng"
)

func draw(s *rng.Source, n int) []uint64 {
	v := make([]uint64, n)
	for i := range v {
		v[i] = s.Uint64()
	}
	return v
}

// TestRegression pins what sources draw: every result ever recorded depends on it.
func TestRegression(t *testing.T) {
	for _, c := range []struct {
		seed uint64
		name string
		want []uint64
	}{
		{0, "", []uint64{0x774eeec809f0eb48, 0x5ceecb0d09df55e0, 0xd95c4267b1fafdb}},
		{1, "memory/update", []uint64{0x1cc3468c2c8627a1, 0xc047bffb21b285a6, 0xde7e406f51375679}},
		{18446744073709551615, "stream/order", []uint64{0x606f70d7cd5cb8d4, 0xcf20db65f98870f, 0x67b305ed28199deb}},
	} {
		if got := draw(rng.New(c.seed, c.name), 3); !slices.Equal(got, c.want) {
			t.Errorf("seed %d, %q: drew %#x, want %#x", c.seed, c.name, got, c.want)
		}
	}
	s := rng.New(1, "network/init")
	if got := []int{s.IntN(1000), s.IntN(1000), s.Perm(5)[0]}; !slices.Equal(got, []int{295, 793, 0}) {
		t.Errorf("IntN and Perm: %v", got)
	}
}

// TestNamesAndSeedsAreApart: sources that differ in name or seed share no number, also where the bytes of both together
// would be the same.
func TestNamesAndSeedsAreApart(t *testing.T) {
	seen := map[uint64]string{}
	for seed := range uint64(20) {
		for _, name := range []string{"", "a", "b", "ab", "a\x00"} {
			for _, v := range draw(rng.New(seed, name), 50) {
				if other, dup := seen[v]; dup {
					t.Fatalf("seed %d, %q drew %#x, and so did %s", seed, name, v, other)
				}
				seen[v] = name
			}
		}
	}
}

func TestSaveAndLoad(t *testing.T) {
	s := rng.New(3, "x")
	draw(s, 7)
	s.NormFloat64()
	state, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	want := draw(s, 10)
	other := rng.New(4, "y")
	draw(other, 3)
	if err := other.UnmarshalBinary(state); err != nil {
		t.Fatal(err)
	}
	if got := draw(other, 10); !slices.Equal(got, want) {
		t.Errorf("after loading drew %#x, want %#x", got, want)
	}
	if err := other.UnmarshalBinary(state[:5]); err == nil {
		t.Error("a state cut short was loaded; want an error")
	}
}
