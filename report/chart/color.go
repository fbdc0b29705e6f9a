package chart

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"
)

// ParseHex reads #rrggbb; a colour that is written otherwise is a bug and panics.
func ParseHex(hex string) color.NRGBA {
	v, err := strconv.ParseUint(strings.TrimPrefix(hex, "#"), 16, 32)
	if err != nil || len(hex) != 7 {
		panic("chart: colour " + hex + " is not #rrggbb")
	}
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// Hex writes a colour as #rrggbb.
func Hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// HeatSteps is the number of steps of the heat scale: one for every 5 points from 0 to 100 %.
const HeatSteps = 21

// HeatStep is the step of a fraction in [0,1].
func HeatStep(v float64) int {
	return min(max(int(math.Round(v*(HeatSteps-1))), 0), HeatSteps-1)
}

// HeatColor is a step of the heat scale: one hue, lightness linear in OKLab, so that equal differences look equal. Zero
// is close to the page, 1 is far from it, in light and in dark.
func HeatColor(step int, dark bool) color.NRGBA {
	t := float64(step) / (HeatSteps - 1)
	lightness, chroma := 0.97-0.62*t, 0.01+0.13*t
	if dark {
		lightness = 0.26 + 0.62*t
	}
	const hue = 255 * math.Pi / 180
	// What the screen cannot show loses chroma, not hue.
	for {
		if c, ok := okLCh(lightness, chroma, hue); ok {
			return c
		}
		chroma -= 0.002
	}
}

// okLCh turns OKLab lightness, chroma and hue into sRGB; ok is false where it had to be clipped.
func okLCh(l, c, h float64) (rgb color.NRGBA, ok bool) {
	a, b := c*math.Cos(h), c*math.Sin(h)
	lc := cube(l + 0.3963377774*a + 0.2158037573*b)
	mc := cube(l - 0.1055613458*a - 0.0638541728*b)
	sc := cube(l - 0.0894841775*a - 1.2914855480*b)
	r := 4.0767416621*lc - 3.3077115913*mc + 0.2309699292*sc
	g := -1.2684380046*lc + 2.6097574011*mc - 0.3413193965*sc
	bl := -0.0041960863*lc - 0.7034186147*mc + 1.7076147010*sc
	const slack = 1e-6
	ok = min(r, g, bl) >= -slack && max(r, g, bl) <= 1+slack
	return color.NRGBA{toSRGB(r), toSRGB(g), toSRGB(bl), 255}, ok || c <= 0
}

func cube(x float64) float64 { return x * x * x }

// toSRGB encodes a linear channel.
func toSRGB(v float64) uint8 {
	v = math.Min(math.Max(v, 0), 1)
	if v <= 0.0031308 {
		v *= 12.92
	} else {
		v = 1.055*math.Pow(v, 1/2.4) - 0.055
	}
	return uint8(math.Round(v * 255))
}

// luminance is the relative luminance of WCAG 2.
func luminance(c color.NRGBA) float64 {
	lin := func(b uint8) float64 {
		v := float64(b) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(c.R) + 0.7152*lin(c.G) + 0.0722*lin(c.B)
}

// Contrast is the WCAG 2 contrast ratio of two colours, in [1,21].
func Contrast(a, b color.NRGBA) float64 {
	la, lb := luminance(a), luminance(b)
	if la < lb {
		la, lb = lb, la
	}
	return (la + 0.05) / (lb + 0.05)
}

// InkOn is black or white, whichever reads better on c; one of them always reaches 4.5 : 1.
func InkOn(c color.NRGBA) color.NRGBA {
	black, white := color.NRGBA{0, 0, 0, 255}, color.NRGBA{255, 255, 255, 255}
	if Contrast(black, c) >= Contrast(white, c) {
		return black
	}
	return white
}
