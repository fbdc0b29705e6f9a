package daemon

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"ocl"
	"ocl/checkpoint"
	"ocl/live"
)

// tables are the part of a state beside the learner, as JSON.
type tables struct {
	Format   int              `json:"v"`
	Bounds   bounds           `json:"bounds"`
	Last     int64            `json:"last"`
	Time     time.Time        `json:"time"`
	Samples  []*sample        `json:"samples"` // in the order in which they came
	Queue    []string         `json:"queue"`
	Waiting  []string         `json:"waiting"`
	Learned  map[string]int64 `json:"learned"`
	Versions []VersionInfo    `json:"versions"`
	Unerased []string         `json:"unerased"`
	Skip     []int64          `json:"skip"`
}

// Sections of a snapshot.
const (
	tablesSection  = "daemon/tables"
	pixelsSection  = "daemon/pixels"
	trainerSection = "daemon/trainer"
)

// container is a copy of the state.
func (s *state) container() (*checkpoint.Container, error) {
	t := tables{Format: bodyFormat, Bounds: s.bounds, Last: s.last, Time: s.time, Waiting: s.waiting, Learned: s.learned, Versions: s.versions, Unerased: s.unerased}
	for cut := range s.skip {
		t.Skip = append(t.Skip, cut)
	}
	slices.Sort(t.Skip)
	for _, m := range s.queue {
		t.Queue = append(t.Queue, m.ID)
	}
	var pixels []byte
	for _, id := range s.ids {
		m := *s.samples[id]
		m.Size = len(m.pixels)
		pixels = append(pixels, m.pixels...)
		t.Samples = append(t.Samples, &m)
	}
	c := checkpoint.NewContainer()
	return c, checkpoint.Parts{checkpoint.JSON(tablesSection, &t), checkpoint.Bytes(pixelsSection, &pixels), checkpoint.Sub(trainerSection, s.trainer)}.SaveState(c.Encoder())
}

// digest is the SHA-256 of the whole state.
func (s *state) digest() (string, error) {
	c, err := s.container()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	if _, err := c.WriteTo(sum); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// load takes a state from a snapshot. Without a trainer it makes one; predictions of one that is there go on.
func (s *state) load(c *checkpoint.Container) error {
	var t tables
	var pixels []byte
	d := c.Decoder()
	if err := (checkpoint.Parts{checkpoint.JSON(tablesSection, &t), checkpoint.Bytes(pixelsSection, &pixels)}).LoadState(d); err != nil {
		return err
	}
	if t.Format != bodyFormat {
		return fmt.Errorf("it has format %d, and this ocl reads %d. Use the ocl that wrote it", t.Format, bodyFormat)
	}
	next := newState(s.trainer, s.o, s.files)
	next.last, next.time, next.waiting, next.versions, next.unerased = t.Last, t.Time, t.Waiting, t.Versions, t.Unerased
	for name, n := range t.Learned {
		next.learned[name] = n
	}
	for _, cut := range t.Skip {
		next.skip[cut] = true
	}
	for _, m := range t.Samples {
		if m == nil || m.Size < 0 || m.Size > len(pixels) || next.samples[m.ID] != nil {
			return fmt.Errorf("section %s does not fit section %s. Use a snapshot that ocl wrote", pixelsSection, tablesSection)
		}
		if m.Size > 0 {
			m.pixels, pixels = pixels[:m.Size:m.Size], pixels[m.Size:]
		}
		m.Size = 0
		next.samples[m.ID] = m
		next.ids = append(next.ids, m.ID)
		if m.State == StateHeldOut {
			next.held[m.Label]++
		}
	}
	for _, id := range t.Queue {
		m := next.samples[id]
		if m == nil || m.State != StateWaiting {
			return fmt.Errorf("section %s has a queue of samples that do not wait. Use a snapshot that ocl wrote", tablesSection)
		}
		next.queue = append(next.queue, m)
	}
	for _, id := range t.Waiting {
		m := next.samples[id]
		if m == nil || m.State != StateRemembered {
			return fmt.Errorf("section %s remembers samples that are not. Use a snapshot that ocl wrote", tablesSection)
		}
		next.bytes += int64(len(m.pixels))
	}
	if s.trainer != nil {
		if err := s.trainer.LoadState(d.Sub(trainerSection)); err != nil {
			return err
		}
	} else {
		var err error
		if next.trainer, err = live.ReadTrainer(d.Sub(trainerSection), s.o.process()); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trainer, s.bounds, s.last, s.time, s.samples, s.ids, s.queue, s.waiting, s.bytes = next.trainer, t.Bounds, next.last, next.time, next.samples, next.ids, next.queue, next.waiting, next.bytes
	s.held, s.learned, s.versions, s.unerased, s.skip = next.held, next.learned, next.versions, next.unerased, next.skip
	s.learning, s.step, s.cut = 0, ocl.StepStats{}, nil
	return nil
}

// process sets the options of the process of a learner that is opened.
func (o Options) process() func(*live.Process) {
	return func(p *live.Process) {
		was := p.Backbone
		*p = o.Live.Process
		p.Backbone = cmp.Or(p.Backbone, was)
		p.Batch, p.Age, p.Queue = o.Batch, 0, 0
	}
}
