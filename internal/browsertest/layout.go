package browsertest

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"github.com/chromedp/chromedp"
)

//go:embed layout.js
var layout string

// near is by how many pixels a box may differ from its reference. Boxes are measured in the font of the figures, so
// what machines have installed does not matter. What remains between versions of Chromium is the rounding of heights of
// lines and of widths of letters, below a pixel for each edge. The smallest space between two parts of a page has four
// pixels, so nothing can move unseen.
const near = 3

// Screens are the sizes at which the layout of pages is compared: of a phone and of a screen.
func Screens() [][2]int64 { return slices.Clone(screens) }

// Glance fails the test unless the first screen of a page shows a headline of one line, the ranked chart and the three
// figures, nothing is wider than the window, and no two labels of a chart overlap. It says what is wrong in the fonts
// of this machine.
func (b *Browser) Glance(t testing.TB, path string, screen [2]int64) {
	t.Helper()
	v := b.settled(t, path, screen, nil)
	for _, fault := range v.faults("layout.glance().concat(layout.overlaps(), ocl.overflow())") {
		t.Errorf("%dx%d: %s", screen[0], screen[1], fault)
	}
}

// Layout is where the parts of a page are that matter, a line for each, in the font of the figures.
func (b *Browser) Layout(t testing.TB, path string, screen [2]int64) []string {
	t.Helper()
	fonts := map[string]string{
		"400": base64.StdEncoding.EncodeToString(liberationsansregular.TTF),
		"700": base64.StdEncoding.EncodeToString(liberationsansbold.TTF),
	}
	return b.settled(t, path, screen, fonts).faults("layout.boxes()")
}

// settled is a page that is laid out as a whole.
func (b *Browser) settled(t testing.TB, path string, screen [2]int64, fonts map[string]string) *view {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	given, err := json.Marshal(fonts)
	if err != nil {
		t.Fatal(err)
	}
	v := b.open(t, path, screen[0], screen[1], schemes[0])
	v.run(chromedp.Evaluate(layout, nil), chromedp.Evaluate(fmt.Sprintf("layout.settle(%s)", given), nil, awaited))
	return v
}

// CompareLayout fails the test where a layout, lines of [Browser.Layout], is not that of a file. With update it writes
// the file.
func CompareLayout(t testing.TB, path string, got []string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(strings.Join(got, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	for _, fault := range differences(got, strings.Split(strings.TrimSpace(string(text)), "\n")) {
		t.Errorf("%s: %s", path, fault)
	}
}

// differences says which boxes differ.
func differences(got, want []string) (faults []string) {
	names, boxes := parsed(got)
	wanted, references := parsed(want)
	if !slices.Equal(names, wanted) {
		return []string{fmt.Sprintf("its parts are %q, want %q", names, wanted)}
	}
	for i, box := range boxes {
		for k, n := range box {
			if d := n - references[i][k]; d < -near || d > near {
				faults = append(faults, fmt.Sprintf("%s is at %v, want %v within %d (left edge, distance to the part above, width, height)",
					names[i], box, references[i], near))
				break
			}
		}
	}
	return faults
}

// parsed are the names and the boxes of lines.
func parsed(lines []string) (names []string, boxes [][4]int) {
	for _, line := range lines {
		words := strings.Fields(line)
		at := max(0, len(words)-4)
		var box [4]int
		for i, word := range words[at:] {
			box[i], _ = strconv.Atoi(word) // a line that is cut off differs
		}
		names, boxes = append(names, strings.Join(words[:at], " ")), append(boxes, box)
	}
	return names, boxes
}
