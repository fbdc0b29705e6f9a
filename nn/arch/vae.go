package arch

import (
	"fmt"
	"math"

	"ocl/internal/portable"
	"ocl/nn"
	"ocl/nn/internal/wired"
	"ocl/nn/tensor"
	"ocl/rng"
)

// VAEConfig sizes the variational autoencoders of a growing mixture (CN-DPM, survey §methods; sizes as in its authors'
// code) and says how they compute.
type VAEConfig struct {
	Channels, Height, Width int
	Features                int // channels of the first encoder's first map
	Growth                  int // channels of the first map of each further encoder
	Latent                  int // values of a code
	Draws                   int // codes that are decoded for an image
	LogVariance             float64
	Engine                  nn.Engine
}

// VAE is a variational autoencoder whose encoder reads, beside its own maps, those of the encoders before it:
//
//	encoder: conv 3×3, max-pool, ReLU · conv 3×3, max-pool, ReLU · linear, ReLU · linear to means and log-variances
//	decoder: linear, ReLU · linear, ReLU · transposed convolution, ReLU · transposed convolution, sigmoid
//
// After each of its first three steps the encoder's own map is joined to those of the encoders before it, which get no
// gradient of it. Decoders share nothing and all have one shape.
type VAE struct {
	Encoder, Decoder *nn.Network

	config              VAEConfig
	own, all            int // channels of its own first map, and of those of all encoders up to it
	conv1, conv2        wired.Weights
	code, latent        wired.Weights
	lin1, lin2, up1, up wired.Weights
}

const (
	// every decoder has this width, also where its encoder is narrower, as in the code of CN-DPM's authors
	decoderFeatures = 32
	// LeastExpertSide is the smallest side in pixels of the images that experts take: their smallest maps are 2×2 pixels.
	LeastExpertSide = 12
)

// CheckExpert says whether experts take images of a size: sides of at least [LeastExpertSide] pixels, divisible by
// four.
func CheckExpert(height, width int) error {
	for _, side := range []int{height, width} {
		if side%4 != 0 || side < LeastExpertSide {
			return fmt.Errorf("experts of %d×%d pixels cannot be made. Use images whose sides are divisible by 4 and at least %d pixels",
				height, width, LeastExpertSide)
		}
	}
	return nil
}

func (c VAEConfig) check() error {
	if c.Channels < 1 || c.Features < 1 || c.Growth < 1 || c.Latent < 1 || c.Draws < 1 {
		return fmt.Errorf("arch: vae: %d channels, %d features, growth %d, codes of %d values, %d draws. Use at least 1 of each",
			c.Channels, c.Features, c.Growth, c.Latent, c.Draws)
	}
	return CheckExpert(c.Height, c.Width)
}

// widths are the channels of the first map of a VAE that has so many before it, and of those of all up to it.
func (c VAEConfig) widths(before int) (own, all int) { return widths(c.Features, c.Growth, before) }

func widths(features, growth, before int) (own, all int) {
	if before == 0 {
		return features, features
	}
	return growth, features + before*growth
}

// Size is the number of parameters of a VAE that has so many before it. It makes none.
func (c VAEConfig) Size(before int) int {
	own, all := c.widths(before)
	const nf = decoderFeatures
	pixels := c.Height / 4 * (c.Width / 4)
	encoder := (9*c.Channels+1)*own + (9*all+1)*2*own + (pixels*2*all+1)*4*own + (4*all+1)*2*c.Latent
	return encoder + (c.Latent+1)*4*nf + (4*nf+1)*pixels*2*nf + (2*nf*16+1)*nf + (nf*16+1)*c.Channels
}

// Work is the number of operations that it takes to encode an image by a VAE that has so many before it, and to decode
// a code.
func (c VAEConfig) Work(before int) (encode, decode int64) {
	own, all := c.widths(before)
	const nf = decoderFeatures
	h, w := c.Height/2, c.Width/2
	pixels := h / 2 * (w / 2)
	encode = int64(9*c.Channels*own*4*h*w) + int64(9*all*2*own*h*w) + int64(pixels*2*all*4*own) + int64(4*all*2*c.Latent)
	decode = int64(c.Latent*4*nf) + int64(4*nf*pixels*2*nf) + int64(16*2*nf*nf*pixels) + int64(16*nf*c.Channels*h*w)
	return 2 * encode, 2 * decode
}

// New draws a VAE from src, for an encoder that has so many before it.
func (c VAEConfig) New(before int, src *rng.Source) (*VAE, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	e, err := nn.NewBuilder(c.Channels, c.Height, c.Width, c.Engine, src)
	if err != nil {
		return nil, err
	}
	v := &VAE{config: c}
	v.own, v.all = c.widths(before)
	pixels := c.Height / 4 * (c.Width / 4)
	v.conv1 = wired.Conv(e, "enc1", c.Channels, 3, v.own, true)
	v.conv2 = wired.Conv(e, "enc2", v.all, 3, 2*v.own, true)
	v.code = wired.Matrix(e, "enc3", pixels*2*v.all, 4*v.own)
	v.latent = wired.Matrix(e, "latent", 4*v.all, 2*c.Latent)
	if v.Encoder, err = e.Build(); err != nil {
		return nil, err
	}

	d, err := nn.NewBuilder(c.Channels, c.Height, c.Width, c.Engine, src)
	if err != nil {
		return nil, err
	}
	const nf = decoderFeatures
	v.lin1 = wired.Matrix(d, "dec1", c.Latent, 4*nf)
	v.lin2 = wired.Matrix(d, "dec2", 4*nf, pixels*2*nf)
	v.up1 = wired.Transposed(d, "dec3", 2*nf, nf)
	v.up = wired.Transposed(d, "dec4", nf, c.Channels)
	v.Decoder, err = d.Build()
	return v, err
}

// Parameters is the number of parameters of both halves.
func (v *VAE) Parameters() int { return len(v.Encoder.Params()) + len(v.Decoder.Params()) }

// VAEs is the lateral pass through several VAEs, the encoders of which read those before them: one pass encodes images
// with all of them. It decodes with one at a time.
type VAEs struct {
	all      []*VAE
	config   VAEConfig
	wiring   *wired.Wiring
	input    *wired.Map
	sections []*wired.Section
	latent   []*wired.Map // means, then log-variances
	images   int
	sd       []float32 // deviations of the images' codes [B,Z], of VAE of
	of       int

	decoding *wired.Wiring
	decoder  *wired.Section
	codes    *wired.Map
	pixels   *wired.PixelErrors
	rows     []row
	weight   []float32
	learns   bool
}

// row is a code to be decoded: one of the draws for an image.
type row struct{ img, draw int32 }

// rowsAtOnce is how many codes are decoded at once: few enough for the maps of both passes to stay in a cache, and
// never dependent on the machine, because gradients are summed part by part.
func (c VAEConfig) rowsAtOnce() int { return max(4, min(64, 64*1024/(c.Height*c.Width))) }

// Pass makes the lateral pass of VAEs for up to n images at a time; VAE i has i before it. Those from learning on have
// a backward pass.
func (c VAEConfig) Pass(ws *nn.Workspace, all []*VAE, n, learning int) *VAEs {
	v := &VAEs{all: all, config: c, wiring: wired.New(ws, all[0].Encoder.Info().Engine, n), of: -1,
		learns: learning < len(all)}
	v.input = v.wiring.Input(c.Channels, c.Height, c.Width, false)
	last := all[len(all)-1].all
	first := v.wiring.Trunk(last, c.Height/2, c.Width/2)
	second := v.wiring.Trunk(2*last, c.Height/4, c.Width/4)
	third := v.wiring.Trunk(4*last, 1, 1)
	for i, a := range all {
		s := v.wiring.Section(a.Encoder, i >= learning)
		h1 := s.Join(first, s.MaxPool(s.Conv(a.conv1, v.input, 1, false), true))
		h2 := s.Join(second, s.MaxPool(s.Conv(a.conv2, h1, 1, false), true))
		h3 := s.Join(third, s.Linear(a.code, s.Flatten(h2), true))
		v.sections, v.latent = append(v.sections, s), append(v.latent, s.Linear(a.latent, h3, false))
	}
	v.sd = make([]float32, n*c.Latent)
	v.weight = make([]float32, n)

	a := all[0]
	v.decoding = wired.New(ws, a.Decoder.Info().Engine, c.rowsAtOnce())
	v.decoder = v.decoding.Section(a.Decoder, v.learns)
	v.codes = v.decoding.Input(c.Latent, 1, 1, v.learns)
	h := v.decoder.Linear(a.lin2, v.decoder.Linear(a.lin1, v.codes, true), true)
	h = v.decoder.Unflatten(h, 2*decoderFeatures, c.Height/4, c.Width/4)
	v.pixels = v.decoder.PixelErrors(a.up, v.decoder.Transposed(a.up1, h, true))
	return v
}

// Encode finds the codes of images [B,C,H,W] in all VAEs.
func (v *VAEs) Encode(x *tensor.Tensor) {
	v.images, v.of = x.Dim(0), -1
	v.input.Load(x)
	v.wiring.Forward(v.images)
	v.pixels.Targets(x)
}

// mean and logVariance describe the code that VAE k gave an image.
func (v *VAEs) mean(k, img int) []float32        { return v.latent[k].Row(img)[:v.config.Latent] }
func (v *VAEs) logVariance(k, img int) []float32 { return v.latent[k].Row(img)[v.config.Latent:] }

// begin makes the deviations those of VAE k.
func (v *VAEs) begin(k int) {
	if v.of != k {
		for img := range v.images {
			deviations(v.sd[img*v.config.Latent:][:v.config.Latent], v.logVariance(k, img))
		}
		v.of = k
	}
	v.decoder.Use(v.all[k].Decoder)
	v.rows = v.rows[:0]
}

// decode decodes rows, some of v.rows; row i gets the weight of its image.
func (v *VAEs) decode(k int, rows []row, eps []float32, weight []float32) {
	z := v.config.Latent
	for i, r := range rows {
		at := (int(r.img)*v.config.Draws + int(r.draw)) * z
		reparameterise(v.codes.Row(i), v.mean(k, int(r.img)), v.sd[int(r.img)*z:][:z], eps[at:at+z])
		v.pixels.Of[i] = r.img
		if weight != nil {
			v.pixels.Slope[i] = v.config.nllSlope(weight[r.img] / float32(v.config.Draws))
		}
	}
	v.decoding.Forward(len(rows))
}

// NLL writes the negative evidence lower bound of each encoded image by VAE k to dst [B]: the mean of the draws'
// likelihoods, plus the divergence of the code from the standard normal distribution. eps [B,Draws,Latent] are standard
// normal numbers.
func (v *VAEs) NLL(dst []float64, k int, eps []float32) {
	v.begin(k)
	for img := range v.images {
		for draw := range v.config.Draws {
			v.rows = append(v.rows, row{int32(img), int32(draw)})
		}
	}
	v.decodeAll(dst, k, eps, nil)
	for img := range v.images {
		dst[img] += normalKL(v.mean(k, img), v.logVariance(k, img))
	}
}

// decodeAll decodes all rows part by part and sets dst to the means of their images' likelihoods. With weights it also
// adds the gradients, and those of codes to those of means and log-variances.
func (v *VAEs) decodeAll(dst []float64, k int, eps []float32, weight []float32) {
	for img := range v.images {
		dst[img] = 0
	}
	part, z := v.config.rowsAtOnce(), v.config.Latent
	for first := 0; first < len(v.rows); first += part {
		rows := v.rows[first:min(first+part, len(v.rows))]
		v.decode(k, rows, eps, weight)
		for i, r := range rows {
			dst[r.img] += v.config.nll(v.pixels.Sum[i]) / float64(v.config.Draws)
		}
		if weight == nil {
			continue
		}
		v.decoder.Backward()
		for i, r := range rows {
			at := (int(r.img)*v.config.Draws + int(r.draw)) * z
			d := v.latent[k].Gradient(int(r.img))
			reparameteriseGradient(d[:z], d[z:], v.codes.Gradient(i), v.sd[int(r.img)*z:][:z], eps[at:at+z])
		}
	}
}

// Learn adds the gradient of Σ weight_i·nll_i over the encoded images to those of VAE k, and writes nll_i to dst [B]
// for images whose weight is not 0. Images with weight 0 cost nothing but their part of the encoder's pass.
func (v *VAEs) Learn(dst []float64, k int, eps, weight []float32) {
	v.begin(k)
	for img := range v.images {
		clear(v.latent[k].Gradient(img))
		if weight[img] == 0 {
			continue
		}
		for draw := range v.config.Draws {
			v.rows = append(v.rows, row{int32(img), int32(draw)})
		}
	}
	v.decodeAll(dst, k, eps, weight)
	z := v.config.Latent
	for img := range v.images {
		if w := weight[img]; w != 0 {
			mean, logVariance, d := v.mean(k, img), v.logVariance(k, img), v.latent[k].Gradient(img)
			dst[img] += normalKL(mean, logVariance)
			normalKLGradient(d[:z], d[z:], mean, logVariance, float64(w))
		}
	}
	v.sections[k].Backward()
}

// Reconstruct writes what VAE k decodes from the mean of an encoded image's code to dst [C,H,W], values in (0,1).
func (v *VAEs) Reconstruct(dst []float32, k, img int) {
	v.begin(k)
	copy(v.codes.Row(0), v.mean(k, img))
	v.pixels.Of[0] = int32(img)
	v.decoding.Forward(1)
	v.pixels.Image(dst, 0)
}

// FLOPs is the number of operations of [VAEs.Encode] and [VAEs.NLL] of all VAEs for one image.
func (v *VAEs) FLOPs() int64 {
	sum := int64(len(v.all)*v.config.Draws) * v.decoder.FLOPs()
	for _, s := range v.sections {
		sum += s.FLOPs()
	}
	return sum
}

// nll is how unlikely an image is where each value is normal around what the decoder says, with one variance, given the
// sum of squared errors. The 0.001 and the 1e-8 are those of CN-DPM's authors.
//
//	Σ [ ((x − x̂)² + 0.001) / (2·e^v + 1e-8) + ½·(ln 2π + v) ]        v = LogVariance
func (c VAEConfig) nll(sum float64) float64 {
	values := float64(c.Channels * c.Height * c.Width)
	return float64((sum+float64(values*0.001))*c.precision()) + float64(values*0.5*(portable.Log(2*math.Pi)+c.LogVariance))
}

// nllSlope is the factor of the gradient of weight times nll.
func (c VAEConfig) nllSlope(weight float32) float32 {
	return float32(2 * c.precision() * float64(weight))
}

func (c VAEConfig) precision() float64 { return 1 / (2*portable.Exp(c.LogVariance) + 1e-8) }

// deviations writes e^{v/2}, the standard deviations of log-variances v [Z].
func deviations(dst, logVariance []float32) {
	for i, v := range logVariance {
		dst[i] = float32(portable.Exp(0.5 * float64(v)))
	}
}

// reparameterise writes z = μ + σ·ε, a draw from a normal distribution with means and deviations [Z], given standard
// normal numbers.
func reparameterise(z, mean, deviation, eps []float32) {
	for i := range z {
		z[i] = mean[i] + float32(deviation[i]*eps[i])
	}
}

// reparameteriseGradient adds to the gradients of means and log-variances what follows from that of a draw z.
func reparameteriseGradient(dMean, dLogVariance, dz, deviation, eps []float32) {
	for i, d := range dz {
		dMean[i] += d
		dLogVariance[i] += float32(float32(d*eps[i]) * float32(0.5*deviation[i]))
	}
}

// normalKL is the divergence of a normal distribution with means μ and log-variances v [Z] from the standard one,
// ½ Σ (−v + e^v + μ² − 1).
func normalKL(mean, logVariance []float32) float64 {
	sum := 0.0
	for i, v := range logVariance {
		m := float64(mean[i])
		sum += portable.Exp(float64(v)) - float64(v) + float64(m*m) - 1
	}
	return 0.5 * sum
}

// normalKLGradient adds weight times the gradient of normalKL to those of means and log-variances.
func normalKLGradient(dMean, dLogVariance, mean, logVariance []float32, weight float64) {
	for i, v := range logVariance {
		dMean[i] += float32(weight * float64(mean[i]))
		dLogVariance[i] += float32(weight * 0.5 * (portable.Exp(float64(v)) - 1))
	}
}
