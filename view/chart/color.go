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

// toOKLab is the lightness of a colour in OKLab, and its place on the axes from green to red and from blue to yellow.
func toOKLab(c color.NRGBA) (l, a, b float64) {
	r, g, bl := toLinear(c.R), toLinear(c.G), toLinear(c.B)
	lc := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*bl)
	mc := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*bl)
	sc := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*bl)
	return 0.2104542553*lc + 0.7936177850*mc - 0.0040720468*sc, 1.9779984951*lc - 2.4285922050*mc + 0.4505937099*sc,
		0.0259040371*lc + 0.7827717662*mc - 0.8086757660*sc
}

// The shades of a colour are so far apart in lightness, and lie between these ends on a light and on a dark page.
const shadeStep = 0.09

var shadeEnds = map[bool][2]float64{false: {0.30, 0.78}, true: {0.48, 0.93}}

// Shade is a colour of the same hue that is lighter or darker: shade 0 is the colour itself, and the following ones are
// ever further from it, until they come again but for the colour itself.
func Shade(hex string, shade int, dark bool) string {
	if shade == 0 {
		return hex
	}
	l, a, b := toOKLab(ParseHex(hex))
	ends := shadeEnds[dark]
	var steps []float64
	for i := 1.0; i*shadeStep <= 1; i++ {
		for _, step := range []float64{i * shadeStep, -i * shadeStep} {
			if ends[0] <= l+step && l+step <= ends[1] {
				steps = append(steps, step)
			}
		}
	}
	step := steps[(shade-1)%len(steps)]
	for chroma := math.Hypot(a, b); ; chroma -= 0.002 {
		if c, ok := okLCh(l+step, max(chroma, 0), math.Atan2(b, a)); ok {
			return strings.ToUpper(Hex(c))
		}
	}
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

// toLinear decodes a channel.
func toLinear(b uint8) float64 {
	v := float64(b) / 255
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

// luminance is the relative luminance of WCAG 2.
func luminance(c color.NRGBA) float64 {
	return 0.2126*toLinear(c.R) + 0.7152*toLinear(c.G) + 0.0722*toLinear(c.B)
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
