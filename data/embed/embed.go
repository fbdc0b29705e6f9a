// Package embed makes embeddings of the images of a data set by a pretrained network that does not learn. Each image
// goes through the network once, and its embedding stays in a cache as float16. A learner then sees the embeddings in
// place of the images.
//
// Start at [New] and [Maker.Set]. Package backbone has the networks, and package data the images.
package embed

import (
	"errors"
	"fmt"
	"image"

	"ocl"
	"ocl/data"
	"ocl/data/internal/picture"
	"ocl/nn/backbone"
)

// Maker makes embeddings of images of one shape. Any number of goroutines may use it.
type Maker struct {
	net   *backbone.Backbone
	shape [3]int // C, H, W
}

// New returns the maker of embeddings of images [C,H,W]. Grey images become three equal channels. Images of another
// size than the network's are scaled as it wants it, and the middle is cut out. It is an error if there are neither one
// nor three channels.
func New(net *backbone.Backbone, shape [3]int) (*Maker, error) {
	if c := shape[0]; c != 1 && c != 3 || shape[1] < 1 || shape[2] < 1 {
		return nil, fmt.Errorf("embed: images of %d channels and %d×%d pixels have no embedding. Use images of 1 or 3 channels",
			c, shape[1], shape[2])
	}
	return &Maker{net, shape}, nil
}

// Wanted is what to ask a data set for, given what was asked and a network that will make embeddings of its images:
// pictures of any size are scaled once, as the network wants it. Another size that was asked for stays.
func Wanted(asked data.Spec, net *backbone.Backbone) data.Spec {
	i := net.Info()
	asked.Bicubic = i.Bicubic
	if info, err := data.Lookup(asked.Name); err == nil && asked.Size == 0 && info.Cached() { // of files of any size
		asked.Size = min(max(i.Resize, info.MinSize), info.MaxSize)
	}
	return asked
}

// Dim is D, how many numbers an embedding has.
func (m *Maker) Dim() int { return m.net.Info().Features }

// ImageLen is C·H·W, the bytes of an image.
func (m *Maker) ImageLen() int { return m.shape[0] * m.shape[1] * m.shape[2] }

// CheckMemory is an error if so many desks at once need more memory than this process may use.
func (m *Maker) CheckMemory(desks, workers, batch int) error {
	return m.net.CheckMemory(desks, workers, batch)
}

// Desk has the workspace and the buffers with which one goroutine makes embeddings. [Desk.Close] ends its workers.
type Desk struct {
	of       *Maker
	ws       *backbone.Workspace
	batch    int
	canvas   picture.Canvas
	img      *image.NRGBA
	pixels   []uint8   // [batch,3,S,S]
	features []float32 // [batch,D]
}

// Desk makes a desk for batches of so many images, on which so many goroutines work. No embedding depends on either.
func (m *Maker) Desk(workers, batch int) *Desk {
	side := m.net.Info().Side
	d := &Desk{of: m, ws: m.net.NewWorkspace(workers, batch), batch: batch,
		img: image.NewNRGBA(image.Rect(0, 0, m.shape[2], m.shape[1]))}
	d.pixels, d.features = make([]uint8, batch*3*side*side), make([]float32, batch*m.Dim())
	for i := 3; i < len(d.img.Pix); i += 4 {
		d.img.Pix[i] = 0xff
	}
	return d
}

// Close ends the desk's workers.
func (d *Desk) Close() { d.ws.Close() }

// Embed writes the embeddings of images, uint8 [n,C,H,W], to dst, float16 [n,D] in bytes. It is an error if the network
// does not give finite numbers that float16 can hold.
func (d *Desk) Embed(dst []byte, images []uint8) error {
	size, bytes := d.of.ImageLen(), ocl.Float16{}.Bytes(d.of.Dim())
	for len(images) > 0 {
		n := min(d.batch, len(images)/size)
		if err := d.some(dst[:n*bytes], images[:n*size], n); err != nil {
			return fmt.Errorf("embed: %w", err)
		}
		dst, images = dst[n*bytes:], images[n*size:]
	}
	return nil
}

// some makes the embeddings of at most a batch.
func (d *Desk) some(dst []byte, images []uint8, n int) error {
	info := d.of.net.Info()
	side := info.Side
	size, wanted := d.of.ImageLen(), 3*side*side
	for i := range n {
		if err := d.fit(d.pixels[i*wanted:(i+1)*wanted], images[i*size:(i+1)*size], info); err != nil {
			return err
		}
	}
	features := d.features[:n*d.of.Dim()]
	if err := d.ws.Features(features, d.pixels[:n*wanted], n); err != nil {
		return err
	}
	if !(ocl.Float16{}).Put(dst, features) {
		return errors.New("the network gives numbers beyond 65,504, which float16 cannot hold. Use another network")
	}
	return nil
}

// fit makes of an image one of the size of a network.
func (d *Desk) fit(dst, pixels []uint8, i backbone.Info) error {
	c, h, w, side := d.of.shape[0], d.of.shape[1], d.of.shape[2], i.Side
	if c == 3 && h == side && w == side && i.Resize == side {
		copy(dst, pixels)
		return nil
	}
	plane := h * w
	for i := range plane {
		for k := range 3 {
			d.img.Pix[4*i+k] = pixels[min(k, c-1)*plane+i]
		}
	}
	fit := picture.Crop
	if i.Bicubic {
		fit |= picture.Bicubic
	}
	return d.canvas.Middle(dst, d.img, side, side, (i.Resize-side)/2, fit)
}
