package report

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/draw"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/view/chart"
)

// picture is an image on the page: what it is a picture of, in words, and a PNG file.
type picture struct {
	ID, Title, Caption, Alt string
	Width, Height           int // on the page, in its pixels
	Source                  template.URL
}

// experts are the figures of methods that make experts: of each row those of its first run.
func (s *setting) experts() (blocks []block) {
	for _, g := range s.rows {
		for _, r := range g.counted() {
			if r.Experts == nil || len(r.Experts.List) == 0 {
				continue
			}
			blocks = append(blocks, block{Figure: g.expertsFigure(r)})
			if p := g.picture(r); p != nil {
				blocks = append(blocks, block{Picture: p})
			}
			break
		}
	}
	return blocks
}

// expertsFigure shows the number of samples that each expert of a run has learned.
func (g *row) expertsFigure(r *run) *figure {
	f := &figure{ID: "experts-" + g.slug, Bars: &chart.Bars{Parts: []string{"stored for it", "learned later"}, Say: whole}}
	f.Data = &table{ID: f.ID, Head: headed(numCol("expert", "expert"), numCol("step", "step"), textCol("task", "task"),
		numCol("stored", "stored"),
		numCol("learned later", "later"), numCol("parameters", "parameters"))}
	names := g.setting.taskNames()
	parameters := 0
	var words []string
	for i, e := range r.Experts.List {
		later := max(0, e.Count-1-float64(e.Stored))
		parameters += e.Parameters
		task, when := "before", "from before the run"
		if e.Task >= 0 {
			task, when = names[e.Task], "from task "+names[e.Task]
		}
		stack := chart.Stack{Label: "expert " + strconv.Itoa(i+1), Look: g.style, Parts: []float64{float64(e.Stored), later},
			Text: fmt.Sprintf("%s, step %s: %s stored, %s learned later", when, count.Number(e.Step),
				count.Of(e.Stored, "sample"), whole(later))}
		words = append(words, stack.Label+" "+stack.Text)
		f.Bars.Bars = append(f.Bars.Bars, stack)
		f.Data.Rows = append(f.Data.Rows, append(g.head(), numCell(strconv.Itoa(i+1), float64(i+1)),
			cell{Text: count.Number(e.Step), Raw: strconv.Itoa(e.Step)}, textCell(task),
			numCell(count.Number(e.Stored), float64(e.Stored)), numCell(whole(later), later),
			cell{Text: count.Number(e.Parameters), Raw: strconv.Itoa(e.Parameters)}))
	}
	f.Title = g.Label + ": samples of each expert"
	f.Caption = fmt.Sprintf("How many samples each expert of %s has learned, seed %d: those it was made of in full colour, those that it learned later lighter, by its responsibility for them. "+
		"Together the experts have %s parameters. Samples that were stored when the run ended are not counted.", g.full(),
		r.Config.Seed, count.Number(parameters))
	f.Alt = "Bar chart of experts. " + strings.Join(words, "; ") + "."
	return f
}

// whole prints a number of samples that need not be whole.
func whole(v float64) string { return count.Number(int(v + 0.5)) }

// pictureGap is between the images of a picture, and pictureScale what they are enlarged by on the page.
const (
	pictureGap   = 2
	pictureScale = 2
)

// picture is the reconstructions of some experts of a run, a line for each; nil where there are none.
func (g *row) picture(r *run) *picture {
	p := r.Experts.Pictures
	if p == nil {
		return nil
	}
	pixels, err := base64.StdEncoding.DecodeString(p.Pixels)
	if err != nil { // a result that was read is in order
		return nil
	}
	w, h := p.Width+pictureGap, p.Height+pictureGap
	img := image.NewRGBA(image.Rect(0, 0, 2*p.Images*w+pictureGap, len(p.Experts)*h+pictureGap))
	draw.Draw(img, img.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	for row := range p.Experts {
		for col := range 2 * p.Images {
			for y := range p.Height {
				for x := range p.Width {
					v := pixels[(((row*2*p.Images+col)*p.Height+y)*p.Width+x)*3:]
					img.SetRGBA(pictureGap+col*w+x, pictureGap+row*h+y, color.RGBA{v[0], v[1], v[2], 255})
				}
			}
		}
	}
	var experts []string
	for _, k := range p.Experts {
		experts = append(experts, strconv.Itoa(k+1))
	}
	return &picture{
		ID: "reconstructions-" + g.slug, Title: g.Label + ": what its autoencoders make of images",
		Caption: fmt.Sprintf("Images that experts of %s were made of, seed %d, each followed by its reconstruction. From top to bottom, the experts %s. "+
			"An expert without a sharp reconstruction can still tell its images from others.", g.full(), r.Config.Seed,
			count.And(experts)),
		Alt: fmt.Sprintf("%s with %s each, and their reconstructions, which are smoother.",
			count.Of(len(p.Experts), "expert"), count.Of(p.Images, "image")),
		Width: pictureScale * img.Bounds().Dx(), Height: pictureScale * img.Bounds().Dy(),
		Source: embedded(img),
	}
}
