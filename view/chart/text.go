package chart

import (
	"strings"
	"sync"
	"unicode"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// family names the font of figures in SVG: Liberation Sans, or one of those that are as wide.
const family = "Liberation Sans,Arial,Helvetica,sans-serif"

// sans is the font that texts are measured in, and that PNG and PDF are written in.
var sans = sync.OnceValue(func() *sfnt.Font {
	f, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		panic("chart: the font that the program carries cannot be read: " + err.Error())
	}
	return f
})

// advances are the widths of runes, in units of the font.
var advances sync.Map

func advance(r rune) fixed.Int26_6 {
	if v, ok := advances.Load(r); ok {
		return v.(fixed.Int26_6)
	}
	var buf sfnt.Buffer
	f := sans()
	var width fixed.Int26_6
	if g, err := f.GlyphIndex(&buf, r); err == nil {
		// A glyph without a width is not counted; there is none in this font.
		width, _ = f.GlyphAdvance(&buf, g, fixed.Int26_6(f.UnitsPerEm()), font.HintingNone)
	}
	advances.Store(r, width)
	return width
}

// width is the width of a text in pixels.
func width(s string, size float64) float64 {
	var sum fixed.Int26_6
	for _, r := range s {
		sum += advance(r)
	}
	return float64(sum) * size / float64(sans().UnitsPerEm())
}

// widest is the width of the widest of some texts.
func widest(size float64, texts ...string) float64 {
	most := 0.0
	for _, s := range texts {
		most = max(most, width(s, size))
	}
	return most
}

// cut shortens a text that is wider than room, and ends it in "…".
func cut(s string, room, size float64) string {
	if width(s, size) <= room {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && width(string(r)+"…", size) > room {
		r = r[:len(r)-1]
	}
	return strings.TrimRightFunc(string(r), unicode.IsSpace) + "…"
}

// wrap breaks a text into lines that fit room, at spaces; a word that is wider is cut.
func wrap(s string, room, size float64) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(s) {
		w = cut(w, room, size)
		if line != "" && width(line+" "+w, size) > room {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}
