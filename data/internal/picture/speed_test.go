package picture

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// realFiles reads up to n images of the real Mini-ImageNet, 84×84 JPEGs, or skips.
func realFiles(t testing.TB, n int) [][]byte {
	t.Helper()
	dir := os.Getenv("OCL_DATA")
	if dir == "" {
		t.Skip("OCL_DATA is unset; set it to the folder that holds mini-imagenet/images to use the real images")
	}
	names, err := filepath.Glob(filepath.Join(dir, "mini-imagenet", "images", "*.jpg"))
	if err != nil || len(names) == 0 {
		t.Skipf("OCL_DATA holds no mini-imagenet/images/*.jpg (%v)", err)
	}
	var files [][]byte
	for _, name := range names[:min(n, len(names))] {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
	}
	return files
}

// TestRealMiniImageNet: each of the first images is read, and has the size that its set has.
func TestRealMiniImageNet(t *testing.T) {
	dst := make([]uint8, 3*84*84)
	for i, file := range realFiles(t, 2000) {
		if w, h, format, err := sizeOf(file); w != 84 || h != 84 || format != "JPEG" || err != nil {
			t.Errorf("image %d is %d×%d, %s, %v", i, w, h, format, err)
		}
		if err := Decode(file, dst, 84, 84, Crop); err != nil {
			t.Errorf("image %d: %v", i, err)
		}
	}
}

// BenchmarkDecode decodes real images with as many workers as cores; an operation is one image. kept needs no resizing.
func BenchmarkDecode(b *testing.B) {
	files := realFiles(b, 2000)
	for _, c := range []struct {
		name string
		side int
	}{{"kept", 84}, {"smaller", 32}} {
		b.Run(c.name, func(b *testing.B) {
			var next atomic.Int64
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				dst := make([]uint8, 3*c.side*c.side)
				for p.Next() {
					if err := Decode(files[int(next.Add(1))%len(files)], dst, c.side, c.side, Crop); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
