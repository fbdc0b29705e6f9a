package embed

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"ocl"
	"ocl/data"
	"ocl/data/internal/cache"
	"ocl/data/internal/picture"
)

// Options say how the embeddings of a set are made. No embedding depends on them.
type Options struct {
	// Begin is called before the first embedding is made, if any has to be; an error of it ends the work. It may be nil.
	Begin func(Work) error
	// Progress is called with how many images of which half are done. It may be nil.
	Progress func(what string, done, total int)
	ReadOnly bool // write no cache: where embeddings are in none, all are made each time they are asked for
}

// Work says what it takes to make the embeddings that a set lacks.
type Work struct {
	By      string        // the network
	Images  int           // without an embedding in the cache
	Bytes   int64         // that their embeddings will take on disk
	Folder  string        // of the caches
	EachOne time.Duration // to make an embedding, as one was timed on one core
	Cores   int           // that will work at the same time
	Memory  int64         // that making them takes at its peak, estimated, in bytes
}

// Time is the expected duration of the work.
func (w Work) Time() time.Duration {
	return time.Duration(w.Images) * w.EachOne / time.Duration(w.Cores)
}

// A half of a set has its embeddings in at most 64 files, unless these would have more than 2,048 embeddings. A process
// that is stopped loses at most the file at work, so that little is made twice of small sets too, and a large set needs
// few open files.
const (
	leastPart, mostPart = 64, 2048
	usualParts          = 64
)

// partOf is the number of embeddings in each file of the cache, for a half of n images.
func partOf(n int) int { return min(max((n+usualParts-1)/usualParts, leastPart), mostPart) }

const picturesAs = picture.Version

// half is the images of a half, and where their embeddings are.
type half struct {
	name  string // train or test
	of    data.Images
	part  int             // embeddings in a file
	parts []*cache.Images // nil where there is no file yet
	desks room
}

// Set returns the set of the embeddings of a set of images. Those in the cache are not made again: the cache knows them
// by the digests of the images and of the network, and by the engine that computes. All cores work. When ctx ends, so
// does the work; what was made until then stays in the cache, but for the file at work. The digest of the new set is a
// function of the two digests.
func (m *Maker) Set(ctx context.Context, set *data.Set, o Options) (*data.Set, error) {
	if have := [3]int{set.C, set.H, set.W}; have != m.shape {
		return nil, fmt.Errorf("embed: %s has images of %v, and not of %v", set.Name, have, m.shape)
	}
	halves := []*half{{name: "train", of: set.Train.Images}, {name: "test", of: set.Test.Images}}
	if !o.ReadOnly { // otherwise they are needed later
		defer func() {
			for _, h := range halves {
				h.desks.close()
			}
		}()
	}
	missing := 0
	for _, h := range halves {
		missing += m.find(set, h)
	}
	if missing > 0 {
		if err := m.net.CheckMemory(min(missing, runtime.GOMAXPROCS(0)), 1, 1); err != nil {
			return nil, fmt.Errorf("embed: %w. Fewer cores need less, such as GOMAXPROCS=1", err)
		}
		if err := m.begin(set, missing, o); err != nil {
			return nil, err
		}
	}
	done := 0
	for _, h := range halves {
		for i, have := range h.parts {
			if have != nil || o.ReadOnly {
				continue
			}
			spec := m.spec(set, h, i)
			if o.Progress != nil {
				spec.Progress = func(n, _ int) { o.Progress(set.Name+": embeddings made", done+n, missing) }
				spec.Waiting = func() { o.Progress(set.Name+": "+cache.Busy, done, missing) }
			}
			built, err := m.build(ctx, spec, h, i)
			if ctx.Err() != nil {
				return nil, fmt.Errorf("embed: making embeddings was interrupted. What was made is kept, and the same command goes on: %w",
					ctx.Err())
			}
			if err != nil {
				return nil, err
			}
			h.parts[i] = built
			done += spec.N
		}
	}
	made := *set
	made.C, made.H, made.W, made.Embeddings, made.Of, made.Tripled = m.Dim(), 1, 1, true, m.shape, false
	made.By, made.ByDigest = m.By(), m.net.Digest()
	made.Notes = slices.Concat(set.Notes, m.net.Info().Notes())
	made.Digest = Digest(m.net.Digest(), set.Digest, m.shape)
	made.Train.Images, made.Test.Images = m.images(halves[0], missing > 0 && o.ReadOnly),
		m.images(halves[1], missing > 0 && o.ReadOnly)
	return &made, nil
}

// Digest returns the digest of a set of embeddings, "sha256:…", without making any. network is the digest of the
// network that makes them, and images the digest of the data set whose images, of shape [C,H,W], it gets.
func Digest(network, images string, shape [3]int) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(fmt.Appendf(nil, "ocl embeddings 1\n%s\n%s\n%v %s\n", network, images,
		shape, picturesAs)))
}

// images are the embeddings of a half: those of the files, or made when they are asked for.
func (m *Maker) images(h *half, anew bool) data.Images {
	if anew {
		return &fresh{m, h}
	}
	return files{h.parts, h.part}
}

// By says which network makes the embeddings.
func (m *Maker) By() string {
	i := m.net.Info()
	if i.TrainedOn == "" {
		return i.Architecture
	}
	return i.Architecture + " trained on " + i.TrainedOn
}

// find opens the files of the cache for a half of a set, and returns the number of embeddings that are missing.
func (m *Maker) find(set *data.Set, h *half) (missing int) {
	n := h.of.Len()
	h.part = partOf(n)
	h.parts = make([]*cache.Images, (n+h.part-1)/h.part)
	for i := range h.parts {
		spec := m.spec(set, h, i)
		if have, err := cache.Find(spec); err == nil {
			h.parts[i] = have
		} else {
			missing += spec.N
		}
	}
	return missing
}

// spec describes the file of a part.
func (m *Maker) spec(set *data.Set, h *half, i int) cache.Spec {
	first, n := i*h.part, h.of.Len()
	last := min(first+h.part, n)
	return cache.Spec{
		Name: set.Name, Source: fmt.Sprintf("%s images %d to %d by %s", h.name, first+1, last, m.By()),
		Key: fmt.Sprintf("embeddings 1 %s\n%s\n%v %s %v\n%s %d %d\n", m.net.Digest(), set.Digest, m.shape, picturesAs,
			m.net.Engine(), h.name, first, last),
		Shape: [3]int{ocl.Float16{}.Bytes(m.Dim()), 1, 1}, N: last - first,
	}
}

// begin says what will be done, after an image was timed.
func (m *Maker) begin(set *data.Set, missing int, o Options) error {
	if o.Begin == nil {
		return nil
	}
	w := Work{By: m.By(), Images: missing, Bytes: int64(missing) * int64(ocl.Float16{}.Bytes(m.Dim())),
		Cores: runtime.GOMAXPROCS(0)}
	// the program, and the weights as the file has them and as the kernels want them
	const base, copies = 30 << 20, 2
	weights, maps := m.net.Memory(min(missing, w.Cores)+1, 1, 1) // with those of the image that is timed
	w.Memory = base + copies*weights + maps
	var err error
	if w.Folder, err = cache.Dir(); err != nil {
		return err
	}
	d := m.Desk(1, 1)
	defer d.Close()
	from, dst := set.Train.Images, make([]byte, ocl.Float16{}.Bytes(m.Dim()))
	for range 2 { // the first one also prepares what others find
		start := time.Now()
		pixels, err := from.Image(0, make([]uint8, m.ImageLen()))
		if err == nil {
			err = d.Embed(dst, pixels)
		}
		if err != nil {
			return err
		}
		w.EachOne = time.Since(start)
	}
	return o.Begin(w)
}

// build makes the embeddings of a part, each image by one core.
func (m *Maker) build(ctx context.Context, spec cache.Spec, h *half, i int) (*cache.Images, error) {
	spec.Decode = func(k int, dst []uint8) error { return m.embed(h, i*h.part+k, dst) }
	return cache.Open(ctx, spec)
}

// embed makes embedding i of a half.
func (m *Maker) embed(h *half, i int, dst []uint8) error {
	d := h.desks.take(m)
	defer h.desks.give(d)
	pixels, err := h.of.Image(i, make([]uint8, m.ImageLen()))
	if err != nil {
		return err
	}
	return d.Embed(dst, pixels)
}

// fresh are embeddings of a half that are made each time they are asked for.
type fresh struct {
	m *Maker
	*half
}

// Len is the number of images.
func (f *fresh) Len() int { return f.of.Len() }

// Image is embedding i in the bytes of float16.
func (f *fresh) Image(i int, buf []uint8) ([]uint8, error) {
	if n := (ocl.Float16{}).Bytes(f.m.Dim()); len(buf) < n {
		buf = make([]uint8, n)
	} else {
		buf = buf[:n]
	}
	return buf, f.m.embed(f.half, i, buf)
}

// room has the desks that nobody works at.
type room struct {
	mu    sync.Mutex
	desks []*Desk
}

// take returns a free desk, or a new one.
func (r *room) take(m *Maker) *Desk {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.desks) - 1
	if last < 0 {
		return m.Desk(1, 1)
	}
	d := r.desks[last]
	r.desks = r.desks[:last]
	return d
}

func (r *room) give(d *Desk) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.desks = append(r.desks, d)
}

// close closes all desks, when nobody works any more.
func (r *room) close() {
	for _, d := range r.desks {
		d.Close()
	}
	r.desks = nil
}

// files are the embeddings of a half in the files of its parts.
type files struct {
	parts []*cache.Images
	part  int
}

// Len is the number of embeddings.
func (f files) Len() (n int) {
	for _, p := range f.parts {
		n += p.Len()
	}
	return n
}

// Image is embedding i in the bytes of float16.
func (f files) Image(i int, buf []uint8) ([]uint8, error) {
	return f.parts[i/f.part].Image(i%f.part, buf)
}

// Sum is the SHA-256 of these bytes.
func (f files) Sum(i int) [sha256.Size]byte { return f.parts[i/f.part].Sum(i % f.part) }
