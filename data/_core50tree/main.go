// Core50tree writes a folder tree like that of CORe50, with all of its 164,866 frames under their official names: drawings
// of 50 things in 11 places instead of photographs. The real frames are 4 GB that one has to download; the tree has the
// same number of files and pixels, so that whole runs can be tried and timed without them. Run it with
//
//	go run ./data/_core50tree -out DIR
//
// A thing has the shape of its category and a pattern of its own, a place has a background and a light of its own, and a
// film moves the thing along a path. Equal arguments give equal files.
package main

import (
	"bytes"
	"context"
	"flag"
	"image"
	"image/color"
	"image/png"
	"log"
	"os"
	"path/filepath"

	"ocl/data/internal/cache"
	"ocl/data/internal/core50"
)

const side = 128 // pixels

func main() {
	log.SetFlags(0)
	out := flag.String("out", "", "folder in which core50_128x128 is made")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		log.Fatal("core50tree: no folder is given. Use -out DIR")
	}
	cells := core50.All()
	err := cache.Each(context.Background(), len(cells), 0, 0, nil, func(i int, _ []uint8) error {
		return film(filepath.Join(*out, "core50_128x128", filepath.FromSlash(cells[i].Folder())), cells[i])
	})
	if err != nil {
		log.Fatalf("core50tree: %v", err)
	}
}

// film writes the frames of a cell into a folder.
func film(folder string, c core50.Cell) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	img := image.NewPaletted(image.Rect(0, 0, side, side), palette(c))
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	for f := c.First(); f < core50.Frames; f++ {
		draw(img, c, f)
		var buf bytes.Buffer
		if err := encoder.Encode(&buf, img); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, c.Name(f)), buf.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// The colours of a palette: two of the place, two of the thing.
const (
	ground = iota
	stripe
	body
	mark
)

// palette has the colours of a cell. The light of a session dims all of them.
func palette(c core50.Cell) color.Palette {
	light := 130 + 125*(c.Session*5%11)/10
	shade := func(r, g, b int) color.Color {
		return color.RGBA{uint8(r * light / 255), uint8(g * light / 255), uint8(b * light / 255), 255}
	}
	s, kind := c.Session, (c.Object-1)%5
	things := [5][3]int{{230, 60, 50}, {60, 200, 80}, {70, 110, 240}, {235, 200, 60}, {200, 90, 220}}[kind]
	return color.Palette{
		shade(40+s*37%120, 40+s*53%120, 40+s*71%120),
		shade(70+s*67%120, 70+s*31%120, 70+s*43%120),
		shade(things[0], things[1], things[2]),
		shade(255-things[0]/2, 255-things[1]/2, 255-things[2]/2),
	}
}

// draw draws a frame: stripes of the session, and the thing where its path has led it.
func draw(img *image.Paletted, c core50.Cell, frame int) {
	category, kind := (c.Object-1)/5, (c.Object-1)%5
	width := 6 + c.Session*7%19
	cx := side/2 + wave(frame*3+c.Session*29)/6
	cy := side/2 + wave(frame*2+c.Object*17)/6
	radius := 34 + wave(frame+c.Session*11)/10
	for y := range side {
		row := img.Pix[y*img.Stride:][:side]
		for x := range row {
			at := x
			if c.Session%2 == 0 {
				at = y
			}
			v := uint8(ground)
			if (at+frame/8)/width%2 == 1 {
				v = stripe
			}
			// u and w go from -100 to 100 across the thing.
			if u, w := 100*(x-cx)/radius, 100*(y-cy)/radius; inside(category, u, w) {
				v = body
				if marked(kind, u, w) {
					v = mark
				}
			}
			row[x] = v
		}
	}
}

// wave goes up and down between -100 and 100 with a period of 400.
func wave(t int) int {
	t %= 400
	return max(t, 400-t) - 300
}

// inside says whether a point belongs to the shape of a category.
func inside(category, u, w int) bool {
	au, aw, d := max(u, -u), max(w, -w), u*u+w*w
	switch category {
	case 0:
		return d < 90*90
	case 1:
		return au < 50 && aw < 95
	case 2:
		return au < 22 && aw < 95 || aw < 22 && au < 95
	case 3:
		return au+aw < 100
	case 4:
		return d < 95*95 && d > 50*50
	case 5:
		return aw < 90 && 2*au < 90+w
	case 6:
		return au < 80 && aw < 80
	case 7:
		return aw < 28 && au < 98
	case 8:
		return aw < 90 && 2*au < 90-w
	}
	return au < 90 && aw < 90 && max(u-w, w-u) < 40
}

// marked says whether a point of a thing has its second colour; each of the five things of a category has a pattern.
func marked(kind, u, w int) bool {
	switch kind {
	case 0:
		return u*u+w*w < 30*30
	case 1:
		return (u+200)/25%2 == 1
	case 2:
		return (w+200)/25%2 == 1
	case 3:
		return ((u+200)/30+(w+200)/30)%2 == 1
	}
	return u > 0
}
