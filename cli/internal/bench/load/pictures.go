package load

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
)

// className is the label of a class.
func className(k int) string { return fmt.Sprintf("load-%d", k) }

// drawings are n pictures of c×size×size values: stripes whose direction and width tell the class, with noise.
func drawings(n, c, size int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([][]byte, n)
	for i := range all {
		k, b := i%classes, make([]byte, 0, c*size*size)
		for range c {
			for y := range size {
				for x := range size {
					v := 60 + 30*((x*(k%3)+y*(k/3)+x)/(2+k%4)%3) + r.IntN(60)
					b = append(b, byte(v))
				}
			}
		}
		all[i] = b
	}
	return all
}

// batches are bodies of n pictures each.
func batches(pictures [][]byte, n int) [][]byte {
	all := make([][]byte, len(pictures))
	for i := range all {
		for k := range n {
			all[i] = append(all[i], pictures[(i+k)%len(pictures)]...)
		}
	}
	return all
}

// photographs are n JPEG files of 640×480: smooth colours with noise, which take about as many bytes and as long to
// decode as photographs.
func photographs(n int) ([][]byte, error) {
	r := rand.New(rand.NewPCG(3, 4))
	all := make([][]byte, n)
	for i := range all {
		m := image.NewRGBA(image.Rect(0, 0, 640, 480))
		for y := range 480 {
			for x := range 640 {
				noise := r.IntN(24)
				m.SetRGBA(x, y, color.RGBA{uint8((x+40*i)%200 + noise), uint8((y+x/2)%200 + noise), uint8((x+y)/6%200 + noise),
					255})
			}
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 85}); err != nil {
			return nil, err
		}
		all[i] = b.Bytes()
	}
	return all, nil
}
