package cache

import (
	"context"
	"runtime"
	"testing"
)

// BenchmarkMiniImageNet measures a cache of the size of Mini-ImageNet, 60,000 images 3×84×84 in 1.27 GB. Pixels are
// constant, so that building takes what hashing and writing take.
func BenchmarkMiniImageNet(b *testing.B) {
	s, _ := small(b, 60000)
	s.Shape, s.Workers = [3]int{3, 84, 84}, 0
	s.Decode = func(i int, dst []uint8) error {
		dst[0], dst[1] = uint8(i), uint8(i>>8)
		return nil
	}
	b.Run("build", func(b *testing.B) {
		b.SetBytes(60000 * 3 * 84 * 84)
		for b.Loop() {
			if _, err := Clean(s.Dir, nil); err != nil {
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
			i = (i + 7919) % 60000
		}
	}
	b.Run("first use", func(b *testing.B) { use(b, func(i int) { m.checked[i].Store(false) }) })
	for i := range 60000 {
		if _, err := m.Image(i, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("later use", func(b *testing.B) { use(b, func(int) {}) })
	b.Run("verify", func(b *testing.B) {
		b.SetBytes(60000 * 3 * 84 * 84)
		for b.Loop() {
			if errs := m.Verify(context.Background(), nil); errs != nil {
				b.Fatal(errs)
			}
		}
	})
}
