package data

// How hard the images are. Values that grow with an image's strength are given for the strongest. With these a network
// trained offline on the default images is right in most but not all cases, and one that sees each image once, in ten
// tasks, still learns: docs/data.md has the figures and the script that prints them.
const (
	glyphTurn       = 14000 // tangent of half the largest angle, in 1/65536: 24 degrees
	glyphShear      = 12000 // 1/65536
	glyphStretch    = 10000 // width against height, 1/65536
	glyphMinFill    = 38000 // share of the side that the character's larger side takes, in 1/65536: 58 %
	glyphMaxFill    = 60000 // 92 %
	glyphShift      = 5000  // of the centre, in 1/65536 of the side
	glyphDark       = 160   // brightest channel of the ground, of 255; the character is always the brighter of the two,
	glyphContrast   = 64    // by at least this much in luminance,
	glyphFade       = 44    // less this much in a strong image
	glyphTexture    = 70    // amplitude of the ground's pattern, of 255
	glyphClutter    = 4     // most shapes strewn over the ground
	glyphBlur       = 120   // variance of the blur at 32×32, in 1/256 pixel²
	glyphNoise      = 72    // standard deviation of the noise, of 255
	glyphColourPlay = 30    // how far the colour runs across the ground or the character, of 255
)

// colour is red, green, blue in 1/64 of a level, so that slopes have no steps.
type colour [3]int

// painter holds the buffers of one goroutine.
type painter struct {
	size   int
	raster *raster
	plane  [3][]int // [size·size] in 1/64 of a level
	row    []int
}

func newPainter(size int) *painter {
	p := &painter{size: size, raster: newRaster(size), row: make([]int, size)}
	for c := range p.plane {
		p.plane[c] = make([]int, size*size)
	}
	return p
}

// paint draws one image into dst [3,size,size]: ground, pattern, clutter, shadow, character, blur, noise. The draws
// before the noise do not depend on the size. It returns how far the character is turned, from -glyphTurn to glyphTurn.
func (p *painter) paint(dst []uint8, outlines [][]outline, font, class, strength int, d *dice) (turn int) {
	ground := anyColour(glyphDark, d)
	ink := anyColour(255, d)
	for need := (glyphContrast - glyphFade*strength/255) << 6; luminance(ink)-luminance(ground) < need; {
		ink = anyColour(255, d)
	}
	p.slope(ground, d)
	p.pattern(glyphTexture*(64+strength)/319, d)
	for range d.below(glyphClutter*(96+strength)/351 + 1) {
		p.shape(ground, ink, d)
	}
	turn = p.character(&outlines[font][class], ink, d)
	p.blur(glyphBlur * d.below(strength+1) / 255)
	p.finish(dst, glyphNoise*(32+strength)/287, d)
	return turn
}

// anyColour draws a colour whose channels are at most top.
func anyColour(top int, d *dice) colour {
	return colour{d.below(top+1) << 6, d.below(top+1) << 6, d.below(top+1) << 6}
}

// luminance weighs green most and blue least, as the eye does; in 1/64 of a level.
func luminance(c colour) int { return (3*c[0] + 6*c[1] + c[2]) / 10 }

// nearby draws a colour at most play levels from c in each channel.
func nearby(c colour, play int, d *dice) colour {
	for i := range c {
		c[i] = min(max(c[i]+d.around(play)<<6, 0), 255<<6)
	}
	return c
}

// slope fills the image with a colour that runs into another one in a random direction.
func (p *painter) slope(from colour, d *dice) {
	to := nearby(from, 2*glyphColourPlay, d)
	cos, sin := rotation(d.between(-65536, 65536)) // half a turn; the other half swaps the colours
	for y := range p.size {
		for x := range p.size {
			t := (p.unit(x)*cos + p.unit(y)*sin) >> 16 // about -46341 to 46341
			for c := range 3 {
				p.plane[c][y*p.size+x] = from[c] + (to[c]-from[c])*(t+46341)/92682
			}
		}
	}
}

// unit maps a pixel's centre to [-32768, 32767] over the side.
func (p *painter) unit(x int) int { return (2*x+1)*32768/p.size - 32768 }

// pattern adds clouds, stripes, checks, rings or nothing, tinted, of the given amplitude.
func (p *painter) pattern(amplitude int, d *dice) {
	kind := d.below(6)
	amplitude = amplitude * d.between(96, 256) / 256 << 6
	tint := [3]int{d.between(-256, 256), d.between(-256, 256), d.between(-256, 256)}
	tint[d.below(3)] = 256 // never invisible
	var value func(x, y int) int
	switch kind {
	case 0, 1:
		coarse, fine := newClouds(d.between(2, 5), d), newClouds(d.between(6, 11), d)
		value = func(x, y int) int { return (2*coarse.at(x, y) + fine.at(x, y)) / 3 }
	case 2:
		cos, sin := rotation(d.between(-65536, 65536))
		n, phase := d.between(2, 8), d.below(65536)
		value = func(x, y int) int { return wave(n*((x*cos+y*sin)>>16) + phase) }
	case 3:
		cos, sin := rotation(d.between(-27146, 27146))
		n, px, py := d.between(2, 5), d.below(65536), d.below(65536)
		value = func(x, y int) int {
			return wave(n*((x*cos+y*sin)>>16)+px) * wave(n*((y*cos-x*sin)>>16)+py) / 256
		}
	case 4:
		n, cx, cy := d.between(2, 6), d.between(-32768, 32767), d.between(-32768, 32767)
		value = func(x, y int) int {
			return wave(n * ((x-cx)*(x-cx) + (y-cy)*(y-cy)) >> 15)
		}
	default:
		return
	}
	for y := range p.size {
		for x := range p.size {
			v := value(p.unit(x), p.unit(y)) * amplitude / 256
			for c := range 3 {
				p.plane[c][y*p.size+x] += v * tint[c] / 256
			}
		}
	}
}

// wave is a triangle of period 65536 with flattened tips, from -256 to 256.
func wave(t int) int {
	t &= 65535
	if t >= 32768 {
		t = 65536 - t
	}
	return min(max((t-16384)/40, -256), 256)
}

// clouds is smooth noise: random values on a lattice, blended in between.
type clouds struct {
	n     int
	value [13 * 13]int
}

func newClouds(n int, d *dice) *clouds {
	c := &clouds{n: n}
	for i := range (n + 2) * (n + 2) {
		c.value[i] = d.between(-256, 256)
	}
	return c
}

// at is the value at x, y in [-32768, 32767], from -256 to 256.
func (c *clouds) at(x, y int) int {
	x, y = (x+32768)*c.n, (y+32768)*c.n
	i, j := x>>16, y>>16
	u, v := ease(x&65535), ease(y&65535)
	row := c.value[j*(c.n+2)+i:]
	next := c.value[(j+1)*(c.n+2)+i:]
	top := row[0]*256 + (row[1]-row[0])*u
	bottom := next[0]*256 + (next[1]-next[0])*u
	return (top*256 + (bottom-top)*v) >> 16
}

// ease is 3t² - 2t³ for t in [0, 65535], from 0 to 256.
func ease(t int) int {
	t >>= 8
	return t * t * (768 - 2*t) >> 16
}

// shape strews a stroke, a triangle or a quadrangle, whose colour stays nearer to the ground's than the ink's does.
func (p *painter) shape(ground, ink colour, d *dice) {
	fill := nearby(ground, 3*glyphColourPlay, d)
	if d.below(2) == 0 {
		for c := range fill {
			fill[c] = (2*fill[c] + ink[c]) / 3
		}
	}
	at := func() point { return point{d.between(-36000, 36000), d.between(-36000, 36000)} }
	a, b := at(), at()
	var contour []point
	if d.below(3) > 0 { // a stroke
		w := d.between(1000, 3200)
		dx, dy := b.x-a.x, b.y-a.y
		length := max(max(dx, -dx), max(dy, -dy), 1)
		ox, oy := -dy*w/length, dx*w/length
		contour = []point{{a.x + ox, a.y + oy}, {b.x + ox, b.y + oy}, {b.x - ox, b.y - oy}, {a.x - ox, a.y - oy}}
	} else {
		contour = []point{a, b, at()}
	}
	side := p.size * 256
	// [-32768, 32767] is the whole side
	p.raster.draw([][]point{contour}, affine{xx: side, yy: side, dx: side / 2, dy: side / 2})
	p.blend(fill, fill, d.between(128, 256))
}

// character draws the outline, turned, sheared, stretched and shifted, on some images with a shadow. It returns the
// tangent of half the angle by which it is turned clockwise, in 1/65536.
func (p *painter) character(o *outline, ink colour, d *dice) (turn int) {
	turn = d.around(glyphTurn)
	cos, sin := rotation(turn)
	shear, wide := d.around(glyphShear), 65536+d.around(glyphStretch)
	m := affine{xx: cos * wide >> 16, xy: (cos*shear - sin<<16) >> 16, yx: sin * wide >> 16,
		yy: (sin*shear + cos<<16) >> 16}
	m = m.scaled(p.size*256, o.extent).scaled(d.between(glyphMinFill, glyphMaxFill), 65536)
	m.dx = p.size*128 + p.size*d.around(glyphShift)/256
	m.dy = p.size*128 + p.size*d.around(glyphShift)/256
	to := nearby(ink, glyphColourPlay, d)
	shadow, depth, dx, dy := d.below(4) == 0, d.between(64, 128), d.between(8, 20), d.between(-20, 20)
	if shadow {
		s := m
		s.dx += p.size * dx
		s.dy += p.size * dy
		p.raster.draw(o.contours, s)
		p.blend(colour{}, colour{}, depth)
	}
	p.raster.draw(o.contours, m)
	p.blend(ink, to, 256)
	return turn
}

// blend lays a colour that runs from the top's to the bottom's over the image where the raster is covered; opacity in
// 1/256.
func (p *painter) blend(top, bottom colour, opacity int) {
	for y := range p.size {
		for c := range 3 {
			ink := top[c] + (bottom[c]-top[c])*y/p.size
			plane := p.plane[c][y*p.size:][:p.size]
			for x, cover := range p.raster.cover[y*p.size:][:p.size] {
				if cover != 0 {
					plane[x] += (ink - plane[x]) * min(cover, fullCover) * opacity / (256 * fullCover)
				}
			}
		}
	}
}

// blur smooths with passes of the three-tap kernel (a, 1-2a, a), of variance 2a each; variance is in 1/256 pixel² at
// 32×32 and grows with the square of the size, so that all sizes show the same scene.
func (p *painter) blur(variance int) {
	variance = variance * p.size * p.size / (32 * 32)
	passes := (variance + 127) / 128
	for k := range passes {
		a := variance/passes + min(1, max(0, variance%passes-k))
		for c := range p.plane {
			p.smooth(p.plane[c], a)
		}
	}
}

// smooth is one pass along both axes, a in 1/512, the edge pixels repeated.
func (p *painter) smooth(plane []int, a int) {
	n := p.size
	for y := range n {
		row := plane[y*n:][:n]
		prev := row[0]
		for x := range n {
			here := row[x]
			next := row[min(x+1, n-1)]
			row[x] = here + ((prev-2*here+next)*a+256)>>9
			prev = here
		}
	}
	copy(p.row, plane[:n])
	for y := range n {
		row := plane[y*n:][:n]
		next := plane[min(y+1, n-1)*n:][:n]
		for x := range n {
			here := row[x]
			row[x] = here + ((p.row[x]-2*here+next[x])*a+256)>>9
			p.row[x] = here
		}
	}
}

// finish adds noise of the given standard deviation in levels and rounds to bytes. Four bytes less their mean are
// nearly Gaussian, of standard deviation 147.8.
func (p *painter) finish(dst []uint8, sigma int, d *dice) {
	n := p.size * p.size
	scale := sigma * 64 * 256 / 148
	for c := range 3 {
		out := dst[c*n : (c+1)*n]
		bits, left := uint64(0), 0
		for i, v := range p.plane[c] {
			if left == 0 {
				bits, left = d.next(), 2
			}
			sum := int(bits&255) + int(bits>>8&255) + int(bits>>16&255) + int(bits>>24&255) - 510
			bits, left = bits>>32, left-1
			out[i] = uint8(min(max((v+(sum*scale)>>8+32)>>6, 0), 255))
		}
	}
}
