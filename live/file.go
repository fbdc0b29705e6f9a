package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/experiment/build"
	"ocl/experiment/result"
	"ocl/experiment/train"
	"ocl/experiment/trained"
	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/nn"
)

// version is that of the sections of a saved learner.
const version = 1

// header is the section live/header of a saved learner, as JSON.
type header struct {
	Version     int      `json:"version"`
	Numbers     int      `json:"numbers"` // result.Numbers
	Kernel      string   `json:"kernel"`
	Convolution string   `json:"convolution"`
	Shape       [3]int   `json:"shape"`
	Outputs     int      `json:"outputs"` // of the head
	Classes     []string `json:"classes"`

	Registered []config.Registered `json:"registered,omitempty"` // what of the config another module has registered, as in a result
	Waiting    []int               `json:"waiting,omitempty"`    // classes of the images that wait, in order; -1 is the end of a task
	Batch      int                 `json:"batch"`
	Age        int64               `json:"age_ns"`
	Queue      int                 `json:"queue"`

	MaxClasses    int   `json:"max_classes,omitempty"`
	MaxParameters int   `json:"max_parameters,omitempty"`
	MaxBytes      int64 `json:"max_bytes,omitempty"`
}

// Names of sections.
const (
	headerSection  = "live/header"
	configSection  = "live/config"
	waitingSection = "live/waiting"
)

// Save writes the learner to a file, with all that it has learned and stored and with the images that wait. [Open] continues it. The file appears
// whole or not at all: if Save fails, as on a full disk, or if the process ends, path has what it had. Learning stops only while the state is copied
// in memory. A device, a pipe or a folder at path is an error; a link is replaced, and not the file that it leads to. Saving changes nothing. A learner whose learning has ended by an error is not saved.
func (l *Learner) Save(path string) error {
	if path == "" {
		return errors.New("live: save: there is no path. Give the name of a file")
	}
	if err := input.Replaceable(path); err != nil {
		return fmt.Errorf("live: save: %w. Give the name of a file", err)
	}
	l.saving.Lock()
	defer l.saving.Unlock()
	state, err := l.state()
	if err != nil {
		return fmt.Errorf("live: save: %w", err)
	}
	if err := atomicfile.Write(path, func(w io.Writer) error {
		_, err := state.WriteTo(w)
		return err
	}); err != nil {
		return fmt.Errorf("live: save: %w. Nothing there was changed. Save to a folder that exists and has room", err)
	}
	return nil
}

// state is a copy of all that Open needs.
func (l *Learner) state() (*checkpoint.Container, error) {
	l.step.Lock()
	defer l.step.Unlock()
	k := l.core
	l.mu.Lock()
	if err := l.usable(); err != nil {
		l.mu.Unlock()
		return nil, err
	}
	p := l.process
	h := header{
		Registered: build.Schema().Registered(k.config),
		Version:    version, Numbers: result.Numbers, Kernel: k.net.KernelName(), Convolution: k.net.Engine().Convolution, Shape: l.shape, Outputs: k.stream.Classes,
		Classes: slices.Clone(l.names), Batch: p.Batch, Age: int64(p.Age), Queue: p.Queue, MaxClasses: p.MaxClasses, MaxParameters: p.MaxParameters, MaxBytes: p.MaxBytes,
	}
	var pixels []byte
	for _, e := range l.queue {
		if e.boundary {
			h.Waiting = append(h.Waiting, -1)
			continue
		}
		h.Waiting = append(h.Waiting, int(e.y))
		pixels = append(pixels, e.pixels...)
	}
	l.mu.Unlock()
	state := checkpoint.NewContainer()
	c := k.config
	c.Engine = config.Engine{} // the header has it
	text, err := c.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return state, checkpoint.Parts{
		checkpoint.JSON(headerSection, &h), checkpoint.Bytes(configSection, &text), checkpoint.Bytes(waitingSection, &pixels), checkpoint.Inline(k),
	}.SaveState(state.Encoder())
}

// Open continues a learner from a file that [Learner.Save] wrote, or from the folder of a run of `ocl run`, or of an experiment that has one run,
// with all that it has learned. A learner from a file has the options that it was made with. One from a run has the settings of the run, the defaults
// of Process, and a head of 256 outputs or, if the run has as many classes, of twice as many; its classes have the names that the data
// have, or else their numbers.
//
// A file that is damaged, of another program or of a newer version is an error, and so is a run that has not ended, that has diverged, or whose
// method cannot learn so. [Learner.Notes] says where the machine or the version of ocl are others, so that bits may be others too.
func Open(path string) (*Learner, error) { return OpenWith(path, nil) }

// OpenWith is [Open] with other options of the process: set changes those of the file.
func OpenWith(path string, set func(*Process)) (*Learner, error) {
	if path == "" {
		return nil, errors.New("live: open: the path is empty. Give a file of Save, or the folder of a run")
	}
	at, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("live: %w. Give a file of Save, or the folder of a run", err)
	}
	open := openFile
	if at.IsDir() {
		open = openRun
	}
	var l *Learner
	err = train.Caught(func() (err error) {
		l, err = open(path, set)
		return err
	})
	switch {
	case err == nil:
		return l, nil
	case strings.Contains(err.Error(), path+": "): // who reads files names them
		return nil, fmt.Errorf("live: %w", err)
	}
	return nil, fmt.Errorf("live: %s: %w", path, err)
}

// changed is p after set.
func changed(p Process, set func(*Process)) (Process, error) {
	if set != nil {
		set(&p)
	}
	return p.complete()
}

func openFile(path string, set func(*Process)) (*Learner, error) {
	if err := checkKind(path); err != nil {
		return nil, err
	}
	file, err := checkpoint.Read(path)
	if err != nil {
		return nil, err
	}
	return decode(file.Decoder(), set)
}

// checkKind refuses a file that does not begin as one of Save, and shows how it begins. One that does may be damaged, which who reads it says.
func checkKind(path string) error {
	f, _, err := input.Open(path, input.Want{Most: math.MaxInt64})
	if err != nil {
		return cause.Of(err)
	}
	defer f.Close()
	head := make([]byte, 24)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return cause.Of(err)
	}
	const remedy = "Give a file of Save, or the folder of a run"
	switch {
	case n == 0:
		return fmt.Errorf("the file is empty. %s", remedy)
	case !bytes.HasPrefix(head[:n], []byte("OCLCKPT")):
		return fmt.Errorf("this is a file of another kind: it begins with %q. %s", head[:n], remedy)
	}
	return nil
}

// decode makes the learner of a file.
func decode(d *checkpoint.Decoder, set func(*Process)) (*Learner, error) {
	if d.Len(headerSection) < 0 {
		return nil, errors.New("this is a checkpoint, but none of a live learner. Give a file of Save, or the folder of a run")
	}
	var h header
	var text, pixels []byte
	if err := (checkpoint.Parts{checkpoint.JSON(headerSection, &h), checkpoint.Bytes(configSection, &text), checkpoint.Bytes(waitingSection, &pixels)}).LoadState(d); err != nil {
		return nil, err
	}
	if h.Version != version {
		return nil, fmt.Errorf("the file has version %d, and this ocl reads %d. Use the ocl that wrote it", h.Version, version)
	}
	s := build.Schema()
	if err := s.Lacks(h.Registered); err != nil { // or a setting would seem to be unknown
		return nil, err
	}
	c, err := s.Parse("section "+configSection, text)
	if err == nil {
		err = s.Validate(c)
	}
	if err == nil {
		err = checkMethod(c)
	}
	if err == nil {
		err = h.check(c, d, pixels)
	}
	if err != nil {
		return nil, err
	}
	p, err := changed(Process{Batch: h.Batch, Age: time.Duration(h.Age), Queue: h.Queue, MaxClasses: h.MaxClasses, MaxParameters: h.MaxParameters, MaxBytes: h.MaxBytes}, set)
	if err != nil {
		return nil, err
	}
	p.Queue = max(p.Queue, h.images())
	if err := p.checkBounds(c, h.Shape, h.Outputs); err != nil {
		return nil, err
	}
	notes := h.engine(&c)
	if what := config.OtherVersions(h.Registered, s.Registered(c)); what != "" {
		notes = append(notes, what+". It goes on with what is here, which may compute otherwise")
	}
	k, err := newCore(c, h.Shape, h.Outputs, 0, p.Workers)
	if err != nil {
		return nil, err
	}
	if err = k.LoadState(d); err == nil && k.classes > len(h.Classes) {
		err = fmt.Errorf("section %s has %d names for %d classes. Use a file that ocl wrote", headerSection, len(h.Classes), k.classes)
	}
	if err != nil {
		k.close()
		return nil, err
	}
	return start(k, p, h.Classes, h.waiting(pixels), notes)
}

// check refuses a header that does not fit itself or the rest of the file, before anything large is made of it.
func (h header) check(c config.Config, d *checkpoint.Decoder, pixels []byte) error {
	size := 1
	possible := true
	for _, n := range h.Shape {
		possible = possible && n >= 1 && n <= limit.KnownValues
		size *= max(1, min(n, limit.KnownValues))
	}
	if !possible || h.Shape[0] > limit.KnownChannels || size > limit.KnownValues || h.Outputs < 1 || h.Outputs > limit.KnownClasses || len(h.Classes) > limit.KnownClasses {
		return fmt.Errorf("section %s says images of %v, %d outputs and %d classes, more than any data have. Use a file that ocl wrote", headerSection, h.Shape, h.Outputs, len(h.Classes))
	}
	if n := len(c.Stream.Mean); n != 0 && n != h.Shape[0] {
		return fmt.Errorf("stream.mean has %d values for images of %d channels. Use a file that ocl wrote", n, h.Shape[0])
	}
	names := map[string]bool{}
	for _, name := range h.Classes {
		if err := checkLabel(name); err != nil {
			return fmt.Errorf("section %s: %w", headerSection, err)
		}
		if names[name] {
			return fmt.Errorf("section %s has the class %s twice. Use a file that ocl wrote", headerSection, cause.Shown(name))
		}
		names[name] = true
	}
	for _, y := range h.Waiting {
		if y < -1 || y >= len(h.Classes) {
			return fmt.Errorf("section %s has an image of class %d of %d. Use a file that ocl wrote", headerSection, y, len(h.Classes))
		}
	}
	images := h.images()
	if images > limit.LiveQueue || len(h.Waiting) > 2*images+1 || len(pixels) != images*size {
		return fmt.Errorf("section %s has %d bytes for %d images of %d. Use a file that ocl wrote", waitingSection, len(pixels), images, size)
	}
	net, err := outline(c, h.Shape, h.Outputs)
	if err != nil {
		return err
	}
	if have, want := d.Len("learner/net/params"), 4*net.Footprint().Params(); have != want {
		return fmt.Errorf("the network has %d bytes of parameters instead of %d. Use a file that ocl wrote", have, want)
	}
	return nil
}

// images are how many images wait.
func (h header) images() int {
	n := 0
	for _, y := range h.Waiting {
		if y >= 0 {
			n++
		}
	}
	return n
}

// waiting are the entries of the queue.
func (h header) waiting(pixels []byte) (list []*entry) {
	now := time.Now()
	size := h.Shape[0] * h.Shape[1] * h.Shape[2]
	for _, y := range h.Waiting {
		e := &entry{boundary: y < 0, at: now}
		if !e.boundary {
			e.y, e.pixels, pixels = ocl.Label(y), slices.Clone(pixels[:size]), pixels[size:]
		}
		list = append(list, e)
	}
	return list
}

// engine gives the config the engine of the file, or this machine's where it cannot have that, and notes what makes other bits.
func (h header) engine(c *config.Config) (notes []string) {
	e := nn.Engine{Kernel: h.Kernel, Convolution: h.Convolution}
	if e.Check() != nil {
		notes = append(notes, fmt.Sprintf("the learner used the %s kernels, and this machine has others. Numbers may differ in the last digits", cause.Shown(h.Kernel)))
		e = nn.DefaultEngine()
	}
	if h.Numbers != result.Numbers {
		notes = append(notes, fmt.Sprintf("the file has numbers version %d, and this ocl has %d. It goes on, to other bits than the ocl that wrote the file", h.Numbers, result.Numbers))
	}
	c.Engine = config.Engine{Kernel: e.Kernel, Convolution: e.Convolution}
	return notes
}

// openRun continues the learner of a run.
func openRun(folder string, set func(*Process)) (*Learner, error) {
	c, err := trained.LearnOn(folder, false) // which refuses runs that cannot be continued, before anything is trained
	if err == nil {
		err = checkMethod(c)
	}
	if err != nil {
		return nil, err
	}
	t, err := trained.Open(context.Background(), folder, trained.Options{})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if t.Info.Embeddings {
		return nil, errors.New("the run has learned embeddings, and this package takes images. Continue it with `ocl learn`")
	}
	names, notes := t.ClassNames, t.Notes
	if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) < len(names) {
		names, notes = nil, append(notes, "several classes of the run have one name, so the classes are called by their numbers")
	}
	for k := len(names); k < t.Info.Classes; k++ {
		names = append(names, fmt.Sprint(k))
	}
	for _, name := range names {
		if err := checkLabel(name); err != nil {
			return nil, err
		}
	}
	shape := [3]int{t.Info.Channels, t.Info.Height, t.Info.Width}
	p, err := changed(Process{Batch: t.Info.Batch}, set)
	if err != nil {
		return nil, err
	}
	capacity := defaultCapacity
	if t.Info.Classes >= capacity {
		capacity = 2 * t.Info.Classes
	}
	if err := p.checkBounds(t.Config, shape, capacity); err != nil {
		return nil, err
	}
	c = t.Config
	c.Engine = config.Engine{Kernel: t.Net.KernelName(), Convolution: t.Net.Engine().Convolution}
	state := checkpoint.NewContainer()
	if err := t.Learner.SaveState(state.Encoder()); err != nil {
		return nil, err
	}
	k, err := newCore(c, shape, capacity, t.Info.Classes, p.Workers)
	if err != nil {
		return nil, err
	}
	if err := train.Caught(func() error { return k.learner.LoadState(state.Decoder()) }); err != nil {
		k.close()
		return nil, err
	}
	k.batches, k.tasks = int64(t.Steps), t.Tasks
	k.activate(t.Info.Classes)
	return start(k, p, names, nil, notes)
}
