package samebits

import "testing"

func TestOf(t *testing.T) {
	for set, want := range map[string]string{"neon": "avx2", "avx2": "avx2", "avx512": "avx512", "generic": "generic", "": "", "x": "x"} {
		if got := Of(set); got != want {
			t.Errorf("the numbers of %q are known by %q, want %q", set, got, want)
		}
	}
	if !Same("neon", "avx2") || !Same("avx2", "neon") || Same("avx2", "generic") || Same("neon", "avx512") || Same("", "avx2") {
		t.Error("the wrong sets are the same")
	}
}

func TestAmong(t *testing.T) {
	x86, arm := []string{"avx512", "avx2", "generic"}, []string{"neon", "generic"}
	for _, c := range []struct {
		sets       []string
		name, want string
	}{
		{x86, "avx2", "avx2"}, {x86, "neon", "avx2"}, {x86, "", ""}, {x86, "sve", "sve"}, {arm, "avx2", "neon"}, {arm, "neon", "neon"},
		{arm, "avx512", "avx512"}, {arm, "generic", "generic"}, {[]string{"generic"}, "neon", "neon"}, {nil, "avx2", "avx2"},
	} {
		if got := Among(c.sets, c.name); got != c.want {
			t.Errorf("among %v, %q runs in the place of %q, want %q", c.sets, got, c.name, c.want)
		}
	}
}
