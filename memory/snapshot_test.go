package memory_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/memory"
	"ocl/tensor"
)

// TestSnapshotKeepsItsImages: a state that was saved stays what it was while images are replaced, also by wider ones, and
// while several states are kept. Once they are released, their room is used again.
func TestSnapshotKeepsItsImages(t *testing.T) {
	shape, seen := [3]int{3, 16, 16}, 0
	m := memory.NewStore(64, shape)
	fill := func(slots []int, value float32) {
		x := tensor.New(len(slots), 3, 16, 16)
		for i := range x.Data {
			x.Data[i] = value
		}
		m.Put(ocl.Batch{X: x, Y: make([]ocl.Label, len(slots))}, slots)
		seen += len(slots)
	}
	all := make([]int, 64)
	for i := range all {
		all[i] = i
	}
	pixel := func(k int) float32 { return float32(k) / 255 }
	fill(all, pixel(1))
	var kept []*checkpoint.Container
	var want [][]byte
	take := func() {
		c := checkpoint.NewContainer()
		if err := m.SaveState(c.Encoder()); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, c)
		section := "pixels"
		if c.Decoder().Len(section) < 0 {
			section = "images"
		}
		b, err := c.Decoder().Bytes(section)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, bytes.Clone(b))
	}
	check := func() {
		t.Helper()
		for i, c := range kept {
			section := "pixels"
			if c.Decoder().Len(section) < 0 {
				section = "images"
			}
			if b, err := c.Decoder().Bytes(section); err != nil || !bytes.Equal(b, want[i]) {
				t.Errorf("state %d has changed (%v)", i, err)
			}
		}
	}
	take()
	fill([]int{3, 4, 3}, pixel(2))
	take()
	fill(all[:10], pixel(3))
	fill([]int{5, 60}, 0.3) // no 8-bit pixel
	take()
	fill(all, pixel(4))
	check()
	kept[2].Release() // before the older ones: what it holds may be theirs
	kept, want = kept[:2], want[:2]
	fill(all, pixel(5))
	check()
	kept[0].Release()
	kept[1].Release()
	kept = nil

	x, y := tensor.New(64, 3, 16, 16), make([]ocl.Label, 64)
	const states = 50
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range states {
		c := checkpoint.NewContainer()
		if err := m.SaveState(c.Encoder()); err != nil {
			t.Fatal(err)
		}
		m.Put(ocl.Batch{X: x, Y: y}, all) // while it is kept
		c.Release()
	}
	runtime.ReadMemStats(&after)
	// A state is lists of slots. The images, 48 KiB, go to the room that the last but one state gave back.
	if n := (after.TotalAlloc - before.TotalAlloc) / states; n > 24<<10 {
		t.Errorf("%d bytes were allocated for a state and 64 images", n)
	}
	back := memory.NewStore(64, shape)
	c := checkpoint.NewContainer()
	if err := m.SaveState(c.Encoder()); err != nil {
		t.Fatal(err)
	}
	if err := back.LoadState(c.Decoder()); err != nil {
		t.Fatal(err)
	}
	again := checkpoint.NewContainer()
	if err := back.SaveState(again.Encoder()); err != nil || !again.Equal(c) {
		t.Errorf("saved and loaded as something else (%v)", err)
	}
}

// BenchmarkCheckpoint writes checkpoints of a full memory of 10,000 images: the first one, and later ones for which some
// images were replaced. It reports the bytes that a checkpoint adds to the folder.
func BenchmarkCheckpoint(b *testing.B) {
	for _, side := range []int{32, 84} {
		for _, replaced := range []int{10000, 1000, 100, 0} {
			b.Run(fmt.Sprintf("side=%d/replaced=%d", side, replaced), func(b *testing.B) {
				const capacity = 10000
				m := memory.NewStore(capacity, [3]int{3, side, side})
				x := tensor.New(1, 3, side, side)
				put := func(slot int) {
					for i := range x.Data {
						x.Data[i] = float32(byte(i*slot+m.Seen())) / 255
					}
					m.Put(ocl.Batch{X: x, Y: []ocl.Label{0}}, []int{slot})
				}
				for slot := range capacity {
					put(slot)
				}
				folder := b.TempDir()
				dir, err := checkpoint.OpenDir(folder)
				if err != nil {
					b.Fatal(err)
				}
				step := 0
				save := func() {
					c := checkpoint.NewContainer()
					if err := m.SaveState(c.Encoder()); err != nil {
						b.Fatal(err)
					}
					if _, err := dir.Save(step, c); err != nil {
						b.Fatal(err)
					}
					c.Release()
					step++
				}
				save()
				written := int64(0)
				known := map[string]bool{}
				look := func() {
					files, _ := filepath.Glob(filepath.Join(folder, "*"))
					for _, f := range files {
						if !known[f] {
							known[f] = true
							written += sizeOf(b, f)
						}
					}
				}
				look()
				written = 0
				for b.Loop() {
					b.StopTimer()
					for i := range replaced {
						put((i*capacity/replaced + 7*step) % capacity)
					}
					b.StartTimer()
					save()
					b.StopTimer()
					look()
					b.StartTimer()
				}
				b.ReportMetric(float64(written)/float64(b.N), "bytes/op")
			})
		}
	}
}

// sizeOf is the length of a file.
func sizeOf(b *testing.B, path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}
