package cli

import (
	"strings"
	"testing"
	"time"

	"ocl/data"
)

// A list of caches says of each what it holds and in which state it is; what is removed is named with the room that it
// took.
func TestCachesAreListed(t *testing.T) {
	made := time.Date(2026, 3, 1, 12, 30, 0, 0, time.Local)
	list := []data.CacheFile{
		{Path: "c/1.images", Name: "mini-imagenet", Source: "pictures", Images: 60000, Shape: [3]int{3, 84, 84},
			Bytes: 1_272_000_000, Made: made},
		{Path: "c/2.images", Name: "folder", Source: "\x1bmine", Images: 10, Faults: 2, Shape: [3]int{3, 32, 32},
			Bytes: 31_000, Made: made},
		{Path: "c/3.images", Bytes: 5, Made: made, Fault: "cut"},
	}
	var b strings.Builder
	if err := writeCaches(&b, "c", list); err != nil {
		t.Fatal(err)
	}
	want := `data set       images  shape      size  made              state       source
mini-imagenet  60,000  3×84×84  1.3 GB  2026-03-01 12:30  good        pictures
folder             10  3×32×32  31 kB  2026-03-01 12:30  2 left out  \x1bmine
?                   ?  ?           5 B  2026-03-01 12:30  damaged     c/3.images: cut
3 files, 1.3 GB, in c
`
	if got := squeezed(b.String()); got != squeezed(want) {
		t.Errorf("listed\n%s\nwant\n%s", got, squeezed(want))
	}
	b.Reset()
	if err := writeCleaned(&b, list[1:]); err != nil {
		t.Fatal(err)
	}
	want = "removed c/2.images (folder, 10 images, 31 kB)\nremoved c/3.images (cut, 5 B)\n2 files removed, 31 kB freed\n"
	if b.String() != want {
		t.Errorf("removed\n%s\nwant\n%s", b.String(), want)
	}
}

// squeezed has one space in place of many.
func squeezed(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}
