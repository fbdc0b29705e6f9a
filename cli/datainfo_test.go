package cli

import (
	"strings"
	"testing"

	"ocl/data"
)

// A constant channel has a deviation that a config takes.
func TestStatsOfAConstantChannel(t *testing.T) {
	var b strings.Builder
	if err := writeStats(&b, &data.Set{Name: "s", C: 2},
		data.Stats{Images: 1, Mean: []float64{0.5, 0.123456}, Std: []float64{0, 1e-7}}); err != nil {
		t.Fatal(err)
	}
	want := "# s: 1 training image, pixels from 0 to 1\n# channel 1 has one value everywhere: its deviation is 0, and 1 stands in its place\n" +
		"stream:\n  mean: [0.5, 0.1235]\n  std: [1, 1e-07]\n"
	if b.String() != want {
		t.Errorf("%s\nwant %s", b.String(), want)
	}
}

// What is in a data set is said with the names of its classes, tasks and domains, as far as they can be printed and are
// not too many.
func TestContentsNameTheTasks(t *testing.T) {
	set := &data.Set{Name: "csv", C: 3, H: 8, W: 9, Classes: 2, ClassNames: []string{"wren", "a\x1bb"}, Tasks: 2,
		TaskNames: []string{"spring", "autumn"},
		Digest:    "sha256:5", Notes: []string{"l.csv lists the images", "a part"}, Train: data.Split{Y: make([]int32, 1200)},
		Test: data.Split{Y: []int32{0}}}
	for k := range 42 {
		set.Domains = append(set.Domains, strings.Repeat("d", k%2+1))
	}
	var b strings.Builder
	set.Reading = "l.csv lists the images"
	if err := writeContents(&b, data.Info{Readings: []string{"list", "list:COLUMN"}}, set); err != nil {
		t.Fatal(err)
	}
	want := "data set csv reading l.csv lists the images. To choose another, add data.reading=list or list:COLUMN. images 1,200 for training, 1 for testing, 3×8×9 classes 2: wren, a\\x1bb tasks 2: spring, autumn domains 42: " +
		strings.Repeat("d, dd, ", 19) + "d, dd, and 2 more digest sha256:5 note a part."
	if got := strings.Join(strings.Fields(b.String()), " "); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

// The description of each data set has all that its entry in the catalogue says, in lines of at most 100 columns.
func TestDescriptionsFit(t *testing.T) {
	for _, info := range data.Catalogue() {
		text := infoText(info)
		for _, field := range []string{info.Title, info.Source, info.Licence, info.Citation, info.Example, info.Shape} {
			if first := strings.Fields(field)[0]; !strings.Contains(text, first) {
				t.Errorf("%s: the text lacks %q", info.Name, first)
			}
		}
		for line := range strings.Lines(text) {
			if columns(line) > 101 {
				t.Errorf("%s: line of %d columns: %s", info.Name, columns(line), line)
			}
		}
	}
}
