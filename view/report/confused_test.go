package report

import (
	"context"
	"errors"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/run/result"
)

// confusing are two methods with an error analysis, and a bound that is better than both.
func confusing() []fake {
	all := pair(2)
	all = append(all, fake{method: "offline", title: "Offline", memory: -1, seed: 1, level: 0.7, decay: 0.99})
	for i := range all {
		all[i].errors, all[i].perTask = true, 3
	}
	return all
}

// painted is an [Examples] of flat colours, one for each class.
func painted(side int) Examples {
	return func(_ context.Context, _ *result.Result, classes []int, each, _ int) (out [][]image.Image, _ error) {
		for _, k := range classes {
			img := image.NewRGBA(image.Rect(0, 0, side, side))
			for i := range side * side {
				img.SetRGBA(i%side, i/side, color.RGBA{uint8(9 * k), uint8(i), 80, 255})
			}
			out = append(out, slices.Repeat([]image.Image{img}, each))
		}
		return out, nil
	}
}

// TestConfusedPairs: they are those of the best row that is no bound, counted over its runs, the most frequent first.
func TestConfusedPairs(t *testing.T) {
	var runs []*run
	for _, r := range results(confusing()) {
		runs = append(runs, newRun(r, ""))
	}
	for _, r := range runs {
		c := r.ErrorAnalysis.Confusion
		for y := range c {
			clear(c[y])
			c[y][y] = 90
		}
		switch r.Method.Name {
		case "er":
			c[4][7], c[2][1], c[9][3] = 10, 6, 6
		case "offline":
			c[0][1] = 99
		default:
			c[5][6] = 60
		}
	}
	c := studyOf(runs, nil).settings[0].confused()
	if c == nil || len(c.Pairs) != 3 || !strings.Contains(c.Caption,
		"ER, memory 500 takes for another class after the last task, in 2 runs together") {
		t.Fatalf("the confused classes are %+v", c)
	}
	var said []string
	for _, p := range c.Pairs {
		said = append(said, p.True.Name+" > "+p.Taken.Name+": "+p.Words())
	}
	if want := []string{"glyph E > glyph H: 20 of 200 test images, 10.0 %",
		"glyph C > glyph B: 12 of 192 test images, 6.2 %",
		"glyph J > glyph D: 12 of 192 test images, 6.2 %"}; !slices.Equal(said, want) {
		t.Errorf("the pairs are %q, want %q", said, want)
	}
	if line := c.Data.Rows[0]; line[3].Raw != "4" || line[5].Raw != "7" || line[7].Raw != "20" || line[8].Raw != "0.1" {
		t.Errorf("the table begins with %v", line)
	}
	for _, r := range runs {
		r.ErrorAnalysis = nil
	}
	if c := studyOf(runs, nil).settings[0].confused(); c != nil {
		t.Errorf("without an error analysis classes are confused: %+v", c)
	}
}

// TestExamples: images of the classes are in the page once each, and where there are none the page says why, and is
// written all the same.
func TestExamples(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, confusing())
	written := func(ctx context.Context, e Examples) (page, out string, err error) {
		out = t.TempDir()
		if _, err := Write(ctx, []string{dir}, out, Options{Known: methods, Examples: e}); err != nil {
			return "", out, err
		}
		text, err := os.ReadFile(filepath.Join(out, "report.html"))
		return string(text), out, err
	}
	page, out, err := written(t.Context(), painted(9))
	if err != nil {
		t.Fatal(err)
	}
	checkPage(t, page, out)
	_, section, _ := strings.Cut(page, `<figure class="confused"`)
	section, _, _ = strings.Cut(section, "</figure>")
	images, uses, pairs := strings.Count(section, `href="data:image/png;base64,`),
		strings.Count(section, `<use href="#confused-`), strings.Count(section, `<th scope="row">`)
	if pairs != maxConfused || images < 2 || images > 2*maxConfused || uses != 2*pairs*examplesEach ||
		!strings.Contains(section, `<svg viewBox="18 0 9 9">`) || !strings.Contains(section, "The images are test images") {
		t.Errorf("%d pairs have %d images in %d places:\n%s", pairs, images, uses, section)
	}
	plain, _, err := written(t.Context(), nil)
	if err != nil || strings.Contains(plain, `class="examples"`) ||
		!strings.Contains(plain, "shows images of these classes where the data are at hand") ||
		strings.Contains(plain, "The images are test images") {
		t.Errorf("without examples the page has some, or does not say how to get them: %v", err)
	}
	page, _, err = written(t.Context(), func(context.Context, *result.Result, []int, int, int) ([][]image.Image, error) {
		return nil, errors.New("the data are away")
	})
	if err != nil || !strings.Contains(page, `<p class="note">The data are away.</p>`) ||
		strings.Contains(page, `class="examples"`) {
		t.Errorf("without data the page does not say why: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, out, err = written(ctx, func(context.Context, *result.Result, []int, int, int) ([][]image.Image, error) {
		cancel()
		return nil, context.Canceled
	})
	if _, there := os.Stat(filepath.Join(out, "report.html")); !errors.Is(err, context.Canceled) || there == nil {
		t.Errorf("a report whose data were being opened was stopped, and: %v, %v", err, there)
	}
	// Noise, of which a page has no room for all.
	noise := func(_ context.Context, _ *result.Result, classes []int, each, _ int) (out [][]image.Image, _ error) {
		state := uint32(1)
		for range classes {
			img := image.NewRGBA(image.Rect(0, 0, 300, 300))
			for i := range img.Pix {
				state = state*1664525 + 1013904223
				img.Pix[i] = uint8(state>>24) | uint8(i%4/3*255)
			}
			out = append(out, slices.Repeat([]image.Image{img}, each))
		}
		return out, nil
	}
	page, _, err = written(t.Context(), noise)
	if err != nil || len(page) > 1_000_000 || !strings.Contains(page, "data:image/jpeg;base64,") ||
		!strings.Contains(page, "Images of the other classes are left out") {
		t.Errorf("a page of large images has %d bytes: %v", len(page), err)
	}
}

// TestMistaken: the confused class has the images that were taken wrong, of as many runs as are needed; the caption
// says whose they are, and without them why.
func TestMistaken(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, confusing())
	written := func(m Mistaken) (section string) {
		out := t.TempDir()
		if _, err := Write(t.Context(), []string{dir}, out,
			Options{Known: methods, Examples: painted(9), Mistaken: m}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(out, "report.html"))
		if err != nil {
			t.Fatal(err)
		}
		checkPage(t, string(text), out)
		_, section, _ = strings.Cut(string(text), `<figure class="confused"`)
		section, _, _ = strings.Cut(section, "</figure>")
		return section
	}
	var asked []int
	wrong := func(ctx context.Context, r *result.Result, folder, classifier string, pairs [][2]int, each,
		side int) (out [][]image.Image, _ error) {
		asked = append(asked, len(pairs))
		if !strings.Contains(filepath.Base(folder), "er-") || classifier != ownRule || each != examplesEach {
			t.Errorf("asked for %d images of %s, predicted by %s", each, folder, classifier)
		}
		for i := range pairs {
			var images []image.Image
			if int(r.Config.Seed) == 1 != (i%2 == 0) { // the first run has half of them
				images = []image.Image{image.NewRGBA(image.Rect(0, 0, 11, 11))}
			}
			out = append(out, images)
		}
		return out, nil
	}
	section := written(wrong)
	if !slices.Equal(asked, []int{8, 4}) || strings.Count(section, ` class="wrong"`) != 6 ||
		strings.Count(section, `id="confused-wrong-`) != 6 ||
		!strings.Contains(section,
			"With a mark ✗ are test images of the first class that were taken wrong, by the learner of the run with seeds 1 and 2, as it is kept") {
		t.Errorf("the runs were asked for %v pairs:\n%s", asked, section)
	}
	section = written(func(context.Context, *result.Result, string, string, [][2]int, int, int) ([][]image.Image, error) {
		return nil, errors.New("the learner is away")
	})
	if strings.Contains(section, `class="wrong"`) ||
		!strings.Contains(section, "not those that were taken wrong: the learner is away.") {
		t.Errorf("without a learner the page says\n%s", section)
	}
}
