package augment

import (
	"math"

	"ocl"
	"ocl/nn/tensor"
	"ocl/rng"
)

// ColorJitter changes the colours of each image with probability P (ColorJitter of torchvision, which computes the
// same): brightness, contrast and saturation by a factor from [1−v, 1+v], not below 0, and hue by a part of the circle
// of colours from [−Hue, Hue]. They come in a random order, and pixels are cut off at black and white after each.
// Contrast mixes an image with its mean grey, saturation with its grey picture. Images without three channels keep
// saturation and hue, and their grey is the mean of the channels.
type ColorJitter struct {
	P                                float64 // in [0,1]
	Brightness, Contrast, Saturation float64 // v, at least 0
	Hue                              float64 // in [0, 0.5]

	// Values are those that x was made of pixels by (StreamInfo.Pixels). Nil is k/255: x lies in [0,1]. Colours are
	// changed on pixels in [0,1] and turned into values again.
	Values ocl.PixelValues
}

// The order of the changes and of their factors.
const (
	brightness = iota
	contrast
	saturation
	hue
	changes
)

// Check implements [Transform].
func (j *ColorJitter) Check() error {
	err := probability("ColorJitter", j.P)
	for i, name := range []string{"Brightness", "Contrast", "Saturation"} {
		if v := []float64{j.Brightness, j.Contrast, j.Saturation}[i]; err == nil {
			err = within("ColorJitter", name, v, 0, math.MaxFloat32)
		}
	}
	if err == nil {
		err = within("ColorJitter", "Hue", j.Hue, 0, 0.5)
	}
	return err
}

// Apply implements [Transform]. It draws for each row, also for one that it leaves alone, whether to change it, the
// order of the four changes (a shuffle), and the factors of brightness, contrast, saturation and hue.
func (j *ColorJitter) Apply(x *tensor.Tensor, src *rng.Source) {
	c, _, _ := extents(x)
	agree("ColorJitter", j.Values, c)
	for i := range x.Shape[0] {
		change := src.Float64() < j.P
		order := [changes]int{brightness, contrast, saturation, hue}
		for k := changes - 1; k > 0; k-- {
			other := src.IntN(k + 1)
			order[k], order[other] = order[other], order[k]
		}
		var factor [changes]float32
		for k, v := range [changes]float64{j.Brightness, j.Contrast, j.Saturation} {
			factor[k] = float32(uniform(src, max(0, 1-v), 1+v))
		}
		factor[hue] = float32(uniform(src, -j.Hue, j.Hue))
		if !change {
			continue
		}
		row := x.Row(i)
		toPixels(row, j.Values)
		for _, k := range order {
			switch k {
			case brightness:
				brighten(row, factor[k])
			case contrast:
				stretch(row, c, factor[k])
			case saturation:
				saturate(row, c, factor[k])
			case hue:
				turn(row, c, factor[k])
			}
		}
		toValues(row, j.Values)
	}
}

// Grey takes the colours out of each image with probability P: all three channels become 0.2989 R + 0.587 G + 0.114 B
// (RandomGrayscale of torchvision). Images without three channels stay as they are.
type Grey struct {
	P float64 // in [0,1]

	Values ocl.PixelValues // as in [ColorJitter]
}

// Check implements [Transform].
func (g *Grey) Check() error { return probability("Grey", g.P) }

// Apply implements [Transform]. It draws one number a row.
func (g *Grey) Apply(x *tensor.Tensor, src *rng.Source) {
	c, _, _ := extents(x)
	agree("Grey", g.Values, c)
	for i := range x.Shape[0] {
		if src.Float64() >= g.P || c != 3 {
			continue
		}
		row := x.Row(i)
		toPixels(row, g.Values)
		saturate(row, c, 0)
		toValues(row, g.Values)
	}
}

// brighten multiplies the pixels by f.
func brighten(row []float32, f float32) {
	for i, v := range row {
		row[i] = clamp(v * f)
	}
}

// stretch mixes the image with its mean grey: f times the image and 1-f times the grey.
func stretch(row []float32, c int, f float32) {
	plane, sum := len(row)/c, 0.0
	for i := range plane {
		sum += float64(greyOf(row, c, i))
	}
	mean := float32(sum / float64(plane))
	for i, v := range row {
		row[i] = mix(v, mean, f)
	}
}

// saturate mixes the image with its grey picture, if it has three channels.
func saturate(row []float32, c int, f float32) {
	if c != 3 {
		return
	}
	plane := len(row) / c
	for i := range plane {
		grey := greyOf(row, c, i)
		for at := i; at < len(row); at += plane {
			row[at] = mix(row[at], grey, f)
		}
	}
}

// greyOf is the brightness of pixel i.
func greyOf(row []float32, c, i int) float32 {
	plane := len(row) / c
	if c == 3 {
		return float32(0.2989*row[i]) + float32(0.587*row[i+plane]) + float32(0.114*row[i+2*plane])
	}
	sum := float32(0)
	for at := i; at < len(row); at += plane {
		sum += row[at]
	}
	return sum / float32(c)
}

// turn moves the colour of each pixel along the circle of hues by the part f of it, if the image has three channels:
// from RGB to HSV and back, as torchvision does.
func turn(row []float32, c int, f float32) {
	if c != 3 {
		return
	}
	plane := len(row) / 3
	for i := range plane {
		r, g, b := row[i], row[i+plane], row[i+2*plane]
		v, low := max(r, g, b), min(r, g, b)
		if v == low {
			continue // a grey has no hue
		}
		span := v - low
		s := span / v
		var h float32
		switch v {
		case r:
			h = (g - b) / span
		case g:
			h = 2 + (b-r)/span
		default:
			h = 4 + (r-g)/span
		}
		h = h/6 + f
		h = float32(6 * (h - floor(h)))
		sector := floor(h)
		part := h - sector
		p := clamp(v * (1 - s))
		q := clamp(v * (1 - float32(s*part)))
		t := clamp(v * (1 - float32(s*(1-part))))
		switch int(sector) % 6 {
		case 0:
			r, g, b = v, t, p
		case 1:
			r, g, b = q, v, p
		case 2:
			r, g, b = p, v, t
		case 3:
			r, g, b = p, q, v
		case 4:
			r, g, b = t, p, v
		default:
			r, g, b = v, p, q
		}
		row[i], row[i+plane], row[i+2*plane] = r, g, b
	}
}

func floor(v float32) float32 { return float32(math.Floor(float64(v))) }

// mix is f parts of a and 1-f parts of b, cut off at black and white.
func mix(a, b, f float32) float32 { return clamp(float32(f*a) + float32((1-f)*b)) }

// clamp cuts a pixel off at black and white.
func clamp(v float32) float32 { return min(max(v, 0), 1) }
