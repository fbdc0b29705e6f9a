package chart

import (
	"bytes"
	"compress/zlib"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samples is a chart of each kind.
func samples() map[string]Chart {
	return map[string]Chart{"lines": known(), "bars": stacks(), "heat": matrix()}
}

func pngOf(t *testing.T, d *Drawing) (at func(Point) color.NRGBA, width, height int) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(d.PNG()))
	if err != nil {
		t.Fatal(err)
	}
	return func(p Point) color.NRGBA {
		return color.NRGBAModel.Convert(img.At(int(2*p.X), int(2*p.Y))).(color.NRGBA)
	}, img.Bounds().Dx(), img.Bounds().Dy()
}

// alike says that two colours differ by rounding at most.
func alike(a, b color.NRGBA) bool {
	d := func(x, y uint8) bool { return max(x, y)-min(x, y) <= 2 }
	return d(a.R, b.R) && d(a.G, b.G) && d(a.B, b.B)
}

// over is a colour with an opacity on white.
func over(c color.NRGBA, opacity float64) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8(math.Round(255 + opacity*(float64(v)-255))) }
	return color.NRGBA{mix(c.R), mix(c.G), mix(c.B), 255}
}

func middle(a, b Point) Point { return Point{(a.X + b.X) / 2, (a.Y + b.Y) / 2} }

// TestPNGHasInkAtTheMarks looks at the pixels where the drawing says that something is.
func TestPNGHasInkAtTheMarks(t *testing.T) {
	d := Draw(known(), Wide)
	at, w, h := pngOf(t, d)
	if w != 1440 || h != 800 {
		t.Errorf("the picture has %d × %d pixels, want two for each of 720 × 400", w, h)
	}
	er, mir := ParseHex(blue.Light), ParseHex(red.Light)
	line, band := d.of(Line, "ER")[0].Points, d.of(Band, "ER")[0].Points
	zero := d.of(Zero)[0].Points
	for what, c := range map[string]struct {
		at   Point
		want color.NRGBA
	}{
		"marker of ER":      {d.of(Dot, "ER")[1].Points[0], er},
		"marker of MIR":     {d.of(Dot, "MIR")[1].Points[0], mir},
		"line of ER":        {middle(line[0], line[1]), er},
		"inside of a band":  {middle(band[1], line[2]), over(er, 0.18)},
		"paper":             {Point{right - 20, top + 5}, color.NRGBA{255, 255, 255, 255}},
		"line at 0":         {Point{zero[0].X + 200, zero[0].Y - 0.2}, ParseHex("#57606A")},
		"band in MIR's gap": {Point{left + 0.5*(right-left), bottom - 0.3*(bottom-top)}, over(er, 0.18)},
	} {
		if got := at(c.at); !alike(got, c.want) {
			t.Errorf("%s: the pixel at %.1f is %v, want %v", what, c.at, got, c.want)
		}
	}
	// A dashed line has gaps.
	ends := d.of(Line, "MIR")[0].Points
	ink := 0
	for i := range 100 {
		f := 0.1 + 0.8*float64(i)/100
		if alike(at(Point{ends[0].X + f*(ends[1].X-ends[0].X), ends[0].Y + f*(ends[1].Y-ends[0].Y)}), mir) {
			ink++
		}
	}
	if ink < 55 || ink > 85 {
		t.Errorf("of a line with dashes of 8 and gaps of 3 pixels %d %% is inked", ink)
	}
	// A text is where it should be: ink inside its box, none right of it.
	label := d.extent(d.of(Label, "MIR")[0])
	inked := func(x0, x1 float64) bool {
		for x := x0; x < x1; x += 0.5 {
			for y := label.y0; y < label.y1; y += 0.5 {
				if at(Point{x, y}).R < 100 {
					return true
				}
			}
		}
		return false
	}
	if !inked(label.x0, label.x0+3) || !inked(label.x1-6, label.x1) || inked(label.x1+0.5, 720) {
		t.Error("the label is not in the box that was measured for it")
	}
}

// contents are the drawing operators of a PDF's page.
func contents(t *testing.T, pdf []byte) string {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?s)stream\r?\n(.*?)\r?\nendstream`).FindAllSubmatch(pdf, -1) {
		r, err := zlib.NewReader(bytes.NewReader(m[1]))
		if err != nil {
			continue
		}
		b, err := io.ReadAll(r)
		if err == nil && bytes.Contains(b, []byte(" Td (")) {
			return string(b)
		}
	}
	t.Fatal("the PDF has no page with text")
	return ""
}

// TestPDFHasThePaths: the page's operators have the drawing's points, in points from the lower left corner.
func TestPDFHasThePaths(t *testing.T) {
	d := Draw(known(), Wide)
	b := d.PDF("A title", "A text")
	if again := Draw(known(), Wide).PDF("A title", "A text"); !bytes.Equal(again, b) {
		t.Error("the same drawing gives another PDF, such as by its date")
	}
	page := contents(t, b)
	place := func(p Point) string { return fmt.Sprintf("%.2f %.2f", 0.75*p.X, 0.75*(d.Height-p.Y)) }
	var line strings.Builder
	for i, p := range d.of(Line, "ER")[0].Points {
		line.WriteString(place(p) + []string{" m\n", " l\n"}[min(i, 1)])
	}
	forty := d.of(Tick)[3]
	end := Point{forty.Points[0].X - 2*1139.0/2048*13, forty.Points[0].Y} // it is anchored at its end, and has two digits
	for what, want := range map[string]string{
		"mark 40":          "BT " + place(end) + " Td",
		"line of ER":       line.String(),
		"its width":        "1.50 w",
		"its colour":       "0.000 0.447 0.698 RG",
		"dashes of MIR":    "[6.00 2.25]",
		"label's baseline": "BT " + place(d.of(Label, "MIR")[0].Points[0]) + " Td",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the PDF lacks the %s: %s", what, want)
		}
	}
	// Bars are closed, so that their outline is too.
	d = Draw(stacks(), Wide)
	if strings.Count(contents(t, d.PDF("", "")), "\nh\n") != 2*len(d.of(Bar)) {
		t.Error("bars are not closed when they are filled and when they are outlined")
	}
	if !bytes.Contains(b, []byte("/MediaBox [0 0 540.00 300.00]")) {
		t.Error("the page is not as large as the drawing")
	}
}

// geometry is what an SVG draws and where, without colours.
func geometry(t *testing.T, svg string) []string {
	t.Helper()
	var out []string
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			if e.Name.Local == "metadata" { // for the page's script alone
				if err := d.Skip(); err != nil {
					t.Fatal(err)
				}
				continue
			}
			line := ""
			for _, a := range e.Attr {
				switch a.Name.Local {
				case "d", "x", "y", "text-anchor", "font-size", "stroke-dasharray", "data-s":
					line += " " + a.Name.Local + "=" + a.Value
				}
			}
			switch head, ways, found := strings.Cut(line, " d=M"); {
			case e.Name.Local == "path" && found: // of several markers each
				for way := range strings.SplitSeq(ways, "M") {
					out = append(out, e.Name.Local+head+" d=M"+way)
				}
			case e.Name.Local == "path" || e.Name.Local == "text" || e.Name.Local == "g":
				out = append(out, e.Name.Local+line)
			}
		case xml.CharData:
			if text := strings.TrimSpace(string(e)); text != "" {
				out = append(out, text)
			}
		}
	}
}

// TestPageAndFileAreOneDrawing: what the page shows inline is what an SVG file of the same layout holds.
func TestPageAndFileAreOneDrawing(t *testing.T) {
	for name, c := range samples() {
		d := Draw(c, Wide)
		inline, file := geometry(t, d.Inline("wide", "x", "T", "D")), geometry(t, string(d.SVG("T", "D")))
		if name == "lines" && len(inline) < 60 {
			t.Errorf("%s: only %d elements and texts", name, len(inline))
		}
		if diff := cmp.Diff(inline, file); diff != "" {
			t.Errorf("%s (-inline +file):\n%s", name, diff)
		}
	}
}

// TestSVGHasThePoints: coordinates are written in pixels, with one decimal.
func TestSVGHasThePoints(t *testing.T) {
	d := Draw(known(), Wide)
	svg := string(d.SVG("T", "D"))
	for _, want := range []string{
		// left is 29.7 and right 670; 100 is at 27, 0 at 356.3.
		` d="M29.7 27L189.8 191.7L349.8 274L509.9 191.7L670 109.3"`,
		` stroke="#0072B2" stroke-width="2"`, ` stroke-dasharray="8 3"`,
		`<title>ER</title>`, `<title>ER, 2: 50 ± 10</title>`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the SVG lacks %s", want)
		}
	}
	if !strings.Contains(d.Inline("wide", "x", "T", "D"), `<g class="m-b" data-s="ER"><path class="band" d="`) {
		t.Error("the inline SVG does not leave the colour of a band to the stylesheet")
	}
}

// TestEveryRoleHasItsClass: the stylesheet of a page knows all that is drawn on it.
func TestEveryRoleHasItsClass(t *testing.T) {
	sheet, seen := StyleSheet(), map[string]bool{}
	for role, r := range roles {
		if r.class == "" || seen[r.class] {
			t.Errorf("role %d has class %q, which is none or another's", role, r.class)
		}
		seen[r.class] = true
		if r.fill != own && !strings.Contains(sheet, "."+r.class+"{") {
			t.Errorf("the stylesheet lacks .%s", r.class)
		}
	}
	for _, want := range []string{".band{fill:var(--c);fill-opacity:0.18}",
		".thin{fill:none;stroke:var(--c);stroke-width:0.75;stroke-opacity:0.45}",
		".ring{fill:var(--bg);stroke:var(--c);stroke-width:1.25}"} {
		if !strings.Contains(sheet, want) {
			t.Errorf("the stylesheet lacks %s:\n%s", want, sheet)
		}
	}
}

// TestAnyText: names from files may hold anything, and every file is still one.
func TestAnyText(t *testing.T) {
	for _, name := range []string{"<script>&\"'", "犬 😀 ↓ é", "\x00\x1b[31m\n", "\xff\xfe", "(\\)",
		strings.Repeat("long ", 200), strings.Repeat("x", 2000)} {
		l := known()
		l.Series[0].Label, l.YLabel = name, name
		d := Draw(l, File(name))
		d.PNG()
		if b := d.PDF(name, name); !bytes.HasSuffix(bytes.TrimSpace(b), []byte("%%EOF")) {
			t.Errorf("%q: the PDF is incomplete", name)
		}
		for _, svg := range []string{string(d.SVG(name, name)), d.Inline("wide", "x", name, name)} {
			if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil || strings.Contains(svg, "<script>") {
				t.Errorf("%q: the SVG is not well formed or holds a script: %v", name, err)
			}
		}
	}
}
