package report

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"slices"
	"strconv"

	"ocl/internal/count"
	"ocl/run/result"
)

// A page shows so many pairs of classes that are confused most, and so many images of each of their classes, each of at
// most so many pixels a side.
const (
	maxConfused  = 8
	examplesEach = 3
	exampleSide  = 64
)

// maxPageBytes bounds a page with example images, in bytes. A page that is larger without them gets none.
const maxPageBytes = 990_000

// Examples returns images of some classes of the data that a run was tested on: `each` of every class, or as many as
// there are, at most side pixels wide and high, and all of one size. Its error says why there are none and how to
// get them: a sentence of the page, without its full stop.
type Examples func(ctx context.Context, run *result.Result, classes []int, each, side int) ([][]image.Image, error)

// Mistaken returns for each of some pairs of classes test images of the first that a run takes for the second, as many
// as that and as large as those of [Examples]. The learner of the run, which its folder has, predicts with a
// classifier. Its error says why there are none, in words that follow a colon.
type Mistaken func(ctx context.Context, run *result.Result, folder, classifier string, pairs [][2]int, each,
	side int) ([][]image.Image, error)

// maxMistakenRuns bounds the runs of a row that are asked for misclassified images.
const maxMistakenRuns = 3

// confused are the pairs of classes that the best row of a setting confuses most.
type confused struct {
	ID, Title, Caption string
	Note               string // on images that are not shown
	Pairs              []confusedPair
	Images             []exampleClass // of classes of the pairs, each once
	Data               *table
	run                *run   // whose data have the classes
	runs               []*run // of the row
}

// confusedPair is a class, and one that its test images are taken for.
type confusedPair struct {
	True, Taken exampleClass
	Count, Of   int  // so many of all test images of the class
	Wrong       bool // the images of True are those that were taken wrong
}

// Words says how often the pair is confused.
func (p confusedPair) Words() string {
	return fmt.Sprintf("%s of %s, %s %%", count.Number(p.Count), count.Of(p.Of, "test image"),
		count.Percent(float64(p.Count)/float64(p.Of)))
}

// exampleClass is a class with its images beside each other.
type exampleClass struct {
	Class  int
	Name   string
	ID     string       // of the images on the page; "" where there are none
	Source template.URL // of the images
	Width  int          // of one image, in its pixels
	Height int
	Images int
}

// Views are the parts of the picture that have one image each, as viewBox of SVG.
func (c exampleClass) Views() (views []string) {
	for i := range c.Images {
		views = append(views, fmt.Sprintf("%d 0 %d %d", i*c.Width, c.Width, c.Height))
	}
	return views
}

// All is the width of all images beside each other.
func (c exampleClass) All() int { return c.Images * c.Width }

// confused are the pairs of the row with the highest average accuracy, a bound only where nothing else was analysed;
// nil where no class was taken for another one.
func (s *setting) confused() *confused {
	var best *row
	accuracy := func(g *row) float64 {
		return g.metricOf(func(m result.Metrics) *float64 { return m.AverageAccuracy }).Mean
	}
	for _, g := range s.analysed() {
		if best == nil || g.bound == NoBound && best.bound != NoBound || (g.bound == NoBound) == (best.bound == NoBound) &&
			accuracy(g) > accuracy(best) {
			best = g
		}
	}
	if best == nil {
		return nil
	}
	pairs := best.confusedPairs()
	if len(pairs) == 0 {
		return nil
	}
	runs := ""
	if n := len(best.counted()); n > 1 {
		runs = ", in " + count.Of(n, "run") + " together"
	}
	c := &confused{ID: s.id("confused"), Title: best.Short + ": the classes that it confuses most", Pairs: pairs,
		run: best.counted()[0], runs: best.counted()}
	c.Note = "`ocl report` shows images of these classes where the data are at hand."
	c.Caption = fmt.Sprintf("How many test images of a class %s takes for another class after the last task%s. Shown are the largest numbers. %s.",
		best.full(), runs, upper(s.Name))
	c.Data = &table{ID: c.ID, Title: c.Title, Head: headed(numCol("class", "class"), textCol("name", "name"),
		numCol("taken for", "taken_for"), textCol("name", "taken_for_name"),
		numCol("images", "images"), numCol("share, %", "share"))}
	for _, p := range pairs {
		share := float64(p.Count) / float64(p.Of)
		c.Data.Rows = append(c.Data.Rows, append(best.head(), numCell(strconv.Itoa(p.True.Class), float64(p.True.Class)),
			textCell(p.True.Name),
			numCell(strconv.Itoa(p.Taken.Class), float64(p.Taken.Class)), textCell(p.Taken.Name),
			numCell(count.Number(p.Count), float64(p.Count)), numCell(count.Percent(share), share)))
	}
	return c
}

// confusedPairs returns the pairs of classes that the row confuses, the most frequent first; of equal ones the pair
// with the lower classes.
func (g *row) confusedPairs() (pairs []confusedPair) {
	k := g.setting.stream.Classes
	for y := range k {
		taken, all := make([]int, k), 0
		for _, r := range g.counted() {
			if r.ErrorAnalysis == nil || y >= len(r.ErrorAnalysis.Confusion) {
				continue
			}
			for p, n := range r.ErrorAnalysis.Confusion[y] {
				taken[p] += n
				all += n
			}
		}
		for p, n := range taken {
			if p != y && n > 0 {
				pairs = append(pairs, confusedPair{exampleClass{Class: y, Name: g.setting.className(y)},
					exampleClass{Class: p, Name: g.setting.className(p)}, n, all, false})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b confusedPair) int { return cmp.Compare(b.Count, a.Count) })
	return pairs[:min(maxConfused, len(pairs))]
}

// confusedBlock is the setting's part of the page.
func (s *setting) confusedBlock() []block {
	if c := s.confused(); c != nil {
		return []block{{Confused: c}}
	}
	return nil
}

// confused returns the confused pairs of all settings.
func (p *page) confused() (all []*confused) {
	for _, s := range p.Sections {
		for _, b := range s.Blocks {
			if b.Confused != nil {
				all = append(all, b.Confused)
			}
		}
	}
	return all
}

// illustrate puts example images into the page, as far as it has room for them.
func (p *page) illustrate(ctx context.Context, examples Examples, mistaken Mistaken) {
	list := p.confused()
	if examples == nil || len(list) == 0 {
		return
	}
	room := maxPageBytes - len(render(p))
	for _, c := range list {
		classes := c.classes()
		images, err := examples(ctx, c.run.Result, classes, examplesEach, exampleSide)
		if err != nil { // where ctx has ended, nothing is written after this
			c.Note = upper(err.Error()) + "."
			continue
		}
		seeds, why := []string(nil), ""
		if mistaken != nil {
			room, seeds, why = c.showMistaken(ctx, mistaken, room)
		}
		room = c.show(classes, images, room)
		c.sayImages(seeds, why)
	}
}

// showMistaken gives the pairs the images that were taken wrong, of the first runs of the row that have some. It
// returns the room that is left, the seeds of these runs, and why there are none.
func (c *confused) showMistaken(ctx context.Context, mistaken Mistaken, room int) (left int, seeds []string,
	why string) {
	for _, r := range c.runs[:min(maxMistakenRuns, len(c.runs))] {
		var wanted [][2]int
		var at []int
		for i, p := range c.Pairs {
			if !p.Wrong {
				wanted, at = append(wanted, [2]int{p.True.Class, p.Taken.Class}), append(at, i)
			}
		}
		if len(wanted) == 0 {
			break
		}
		found, err := mistaken(ctx, r.Result, r.folder, r.classifier, wanted, examplesEach, exampleSide)
		if err != nil {
			why = err.Error()
			break
		}
		used := false
		for k, images := range found {
			if len(images) == 0 {
				continue
			}
			p := &c.Pairs[at[k]]
			e := pictured(fmt.Sprintf("%s-wrong-%d", c.ID, at[k]), images)
			if room-len(e.Source)-2*exampleMarkup < 0 {
				return room, seeds, "the page would be too large"
			}
			room -= len(e.Source) + 2*exampleMarkup
			e.Class, e.Name = p.True.Class, p.True.Name
			c.Images = append(c.Images, e)
			p.True, p.Wrong, used = e, true, true
		}
		if used {
			seeds = append(seeds, strconv.FormatUint(r.seed, 10))
		}
	}
	return room, seeds, why
}

// sayImages says in the caption what the images are, where there are some.
func (c *confused) sayImages(seeds []string, why string) {
	if len(c.Images) == 0 {
		return
	}
	wrong := 0
	for _, p := range c.Pairs {
		if p.Wrong {
			wrong++
		}
	}
	switch {
	case wrong == 0:
		c.Caption += " The images are test images of the two classes, and not those that were taken wrong"
		if why != "" {
			c.Caption += ": " + why
		}
		c.Caption += "."
		return
	case wrong < len(c.Pairs):
		c.Caption += fmt.Sprintf(" With a mark ✗ are test images of the first class that were taken wrong, by the learner of the run with %s, as it is kept; the other images are examples of the classes.",
			seedList(seeds))
	default:
		c.Caption += fmt.Sprintf(" The images of the first class, with a mark ✗, are those that were taken wrong, by the learner of the run with %s, as it is kept; those of the other are examples of it.",
			seedList(seeds))
	}
}

// classes returns the classes of the pairs, each once, in the order of the pairs.
func (c *confused) classes() (classes []int) {
	for _, p := range c.Pairs {
		for _, k := range []int{p.True.Class, p.Taken.Class} {
			if !slices.Contains(classes, k) {
				classes = append(classes, k)
			}
		}
	}
	return classes
}

// show gives the pairs their images, as long as there is room for so many bytes, and returns what is left of it.
func (c *confused) show(classes []int, images [][]image.Image, room int) int {
	c.Note = ""
	for i, k := range classes {
		if i >= len(images) || len(images[i]) == 0 {
			continue
		}
		e := pictured(c.ID+"-"+strconv.Itoa(k), images[i])
		uses := 0
		for _, p := range c.Pairs {
			if p.True.Class == k && !p.Wrong || p.Taken.Class == k {
				uses++
			}
		}
		if uses == 0 {
			continue
		}
		if room -= len(e.Source) + (1+uses)*exampleMarkup; room < 0 {
			c.Note = "Images of the other classes are left out, as the page would be too large."
			return 0
		}
		c.Images = append(c.Images, e)
		for j := range c.Pairs {
			for _, of := range []*exampleClass{&c.Pairs[j].True, &c.Pairs[j].Taken} {
				if of.Class == k && of.ID == "" {
					e.Class, e.Name = k, of.Name
					*of = e
				}
			}
		}
	}
	return room
}

// pictured are images of one size beside each other.
func pictured(id string, images []image.Image) exampleClass {
	size := images[0].Bounds().Size()
	return exampleClass{ID: id, Source: beside(images, size), Width: size.X, Height: size.Y, Images: len(images)}
}

// exampleMarkup bounds the bytes of HTML around the images of a class at each place where the page shows them.
const exampleMarkup = 400

// beside are images of one size beside each other, as PNG or, where it is smaller, as JPEG, inside the page.
func beside(images []image.Image, size image.Point) template.URL {
	all := image.NewRGBA(image.Rect(0, 0, len(images)*size.X, size.Y))
	grey := true
	for i, img := range images {
		draw.Draw(all, image.Rect(i*size.X, 0, (i+1)*size.X, size.Y), img, img.Bounds().Min, draw.Src)
	}
	for at := 0; at < len(all.Pix); at += 4 {
		grey = grey && all.Pix[at] == all.Pix[at+1] && all.Pix[at] == all.Pix[at+2]
	}
	var out image.Image = all
	if grey {
		one := image.NewGray(all.Bounds())
		draw.Draw(one, all.Bounds(), all, image.Point{}, draw.Src)
		out = one
	}
	var exact, small bytes.Buffer
	if err := cmp.Or((&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&exact, out),
		jpeg.Encode(&small, out, &jpeg.Options{Quality: 85})); err != nil {
		panic("report: an image in memory cannot be written: " + err.Error())
	}
	if exact.Len() <= small.Len() {
		return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(exact.Bytes()))
	}
	return template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(small.Bytes()))
}
