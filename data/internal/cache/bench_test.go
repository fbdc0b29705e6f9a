package cache

import (
	"context"
	"runtime"
	"testing"
)

// BenchmarkMiniImageNet measures a cache of the images of Mini-ImageNet, 6,000 images 3×84×84 in 127 MB, a tenth of them. Pixels are
// constant, so that building takes what hashing and writing take.
func BenchmarkMiniImageNet(b *testing.B) {
	s, _ := small(b, 6000)
	s.Shape = [3]int{3, 84, 84}
	s.Decode = func(i int, dst []uint8) error {
		dst[0], dst[1] = uint8(i), uint8(i>>8)
		return nil
	}
	b.Run("build", func(b *testing.B) {
		b.SetBytes(6000 * 3 * 84 * 84)
		for b.Loop() {
			if _, err := Clean(func(Entry) bool { return true }); err != nil {
				b.Fatal(err)
			}
			mustOpen(b, s).Close()
		}
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			m, err := Open(context.Background(), s)
			if err != nil {
				b.Fatal(err)
			}
			m.Close()
		}
	})
	m := mustOpen(b, s)
	use := func(b *testing.B, before func(i int)) {
		b.ReportAllocs()
		i, buf := 0, make([]uint8, 3*84*84)
		for b.Loop() {
			before(i)
			p, err := m.Image(i, buf)
			if err != nil {
				b.Fatal(err)
			}
			runtime.KeepAlive(p)
			i = (i + 7919) % 6000
		}
	}
	b.Run("first use", func(b *testing.B) { use(b, func(i int) { m.checked[i].Store(false) }) })
	for i := range 6000 {
		if _, err := m.Image(i, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("later use", func(b *testing.B) { use(b, func(int) {}) })
	b.Run("verify", func(b *testing.B) {
		b.SetBytes(6000 * 3 * 84 * 84)
		for b.Loop() {
			if errs := m.Verify(context.Background(), nil); len(errs) > 0 {
				b.Fatal(errs)
			}
		}
	})
}
