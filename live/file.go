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
	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/nn"
	"ocl/run/build"
	"ocl/run/result"
	"ocl/run/train"
	"ocl/run/trained"
)

// version is the format version of a saved learner.
const version = 1

// header is the section live/header of a saved learner, as JSON.
type header struct {
	Version     int    `json:"version"`
	Numbers     int    `json:"numbers"` // result.Numbers
	Kernel      string `json:"kernel"`
	Convolution string `json:"convolution"`
	Shape       [3]int `json:"shape"`              // of the images
	Features    int    `json:"features,omitempty"` // of an embedding of an image, where the learner takes embeddings
	Outputs     int    `json:"outputs"`            // of the head
	naming

	// what of the config another module has registered, as in a result
	Registered []config.Registered `json:"registered,omitempty"`
	// classes of the images that wait, in order; -1 is the end of a task
	Waiting []int `json:"waiting,omitempty"`
	Batch   int   `json:"batch"`
	Age     int64 `json:"age_ns"`
	Queue   int   `json:"queue"`

	MaxClasses    int   `json:"max_classes,omitempty"`
	MaxParameters int   `json:"max_parameters,omitempty"`
	MaxBytes      int64 `json:"max_bytes,omitempty"`

	Backbone string `json:"backbone,omitempty"` // where the pretrained network was

	Weights *weightsHeader `json:"weights,omitempty"` // of a state that has only what was learned
}

// Names of sections.
const (
	headerSection  = "live/header"
	configSection  = "live/config"
	waitingSection = "live/waiting"
)

// Save writes the learner to a file, with all that it has learned and stored and with the images that wait. [Open]
// continues it. The file appears whole or not at all: if Save fails, as on a full disk, or if the process ends, path
// has what it had. Learning stops only while the state is copied in memory. A device, a pipe or a folder at path is an
// error; a link is replaced, and not the file that it leads to. Saving changes nothing. A learner whose learning has
// ended by an error is not saved.
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
	l.mu.Lock()
	if err := l.usable(); err != nil {
		l.mu.Unlock()
		return nil, err
	}
	p, h := l.process, l.t.header()
	h.Batch, h.Age, h.Queue, h.MaxClasses, h.MaxParameters, h.MaxBytes, h.Backbone = p.Batch, int64(p.Age), p.Queue,
		p.MaxClasses, p.MaxParameters, p.MaxBytes, p.Backbone
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
	return state, l.t.run(func() error { return l.t.save(state.Encoder(), h, pixels, l.t.core) })
}

// Open continues a learner from a file that [Learner.Save] wrote, or from the folder of a run of `ocl run`, or of an
// experiment that has one run, with all that it has learned. A learner from a file has the options that it was made
// with. One from a run has the settings of the run, the defaults of Process, and a head of 256 outputs or, if the run
// has as many classes, of twice as many; its classes have the names that the data have, or else their numbers.
//
// A file that is damaged, of another program or of a newer version is an error, and so is a run that has not ended,
// that has diverged, or whose method cannot learn so. [Learner.Notes] says where the machine or the version of ocl are
// others, so that bits may be others too.
func Open(path string) (*Learner, error) { return OpenWith(path, nil) }

// OpenWith is [Open] with other options of the process: set changes those of the file.
func OpenWith(path string, set func(*Process)) (*Learner, error) {
	return begun(OpenTrainer(path, set))
}

// OpenTrainer is [OpenWith] for a trainer, of which the images that wait in the file are asked ([Trainer.Waiting]). set
// may be nil. It also takes a file that a program wrote of what [Trainer.SaveState] or [Trainer.Weights] gave.
func OpenTrainer(path string, set func(*Process)) (*Trainer, error) {
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
	var t *Trainer
	err = train.Caught(func() (err error) {
		t, err = open(path, set)
		return err
	})
	switch {
	case err == nil:
		return t, nil
	case strings.Contains(err.Error(), path+": "): // who reads files names them
		return nil, fmt.Errorf("live: %w", err)
	}
	return nil, fmt.Errorf("live: %s: %w", path, err)
}

// ReadTrainer continues a trainer from what [Trainer.SaveState] or [Trainer.Weights] gave, which a caller holds in a
// container of its own. set, which may be nil, changes the options of the process, which a state has none of: those of
// a new trainer.
func ReadTrainer(d *checkpoint.Decoder, set func(*Process)) (*Trainer, error) {
	return built(func() (*Trainer, error) { return decode(d, set) })
}

// changed is p after set.
func changed(p Process, set func(*Process)) (Process, error) {
	if set != nil {
		set(&p)
	}
	return p.complete()
}

func openFile(path string, set func(*Process)) (*Trainer, error) {
	if err := checkKind(path); err != nil {
		return nil, err
	}
	file, err := checkpoint.Read(path)
	if err != nil {
		return nil, err
	}
	return decode(file.Decoder(), set)
}

// checkKind refuses a file that does not begin as one of Save, and shows how it begins. One that does may be damaged,
// which who reads it says.
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

// read reads what a state says of itself, and refuses what no learner of this program can be made of, before anything
// large is made.
func read(d *checkpoint.Decoder) (h header, c config.Config, pixels []byte, err error) {
	if d.Len(headerSection) < 0 {
		return h, c, nil, errors.New("this is a checkpoint, but none of a live learner. Give a file of Save, or the folder of a run")
	}
	var text []byte
	if err := (checkpoint.Parts{checkpoint.JSON(headerSection, &h), checkpoint.Bytes(configSection, &text),
		checkpoint.Bytes(waitingSection, &pixels)}).LoadState(d); err != nil {
		return h, c, nil, err
	}
	if h.Version != version {
		return h, c, nil, fmt.Errorf("the file has version %d, and this ocl reads %d. Use the ocl that wrote it", h.Version,
			version)
	}
	s := build.Schema()
	if err := s.Lacks(h.Registered); err != nil { // or a setting would seem to be unknown
		return h, c, nil, err
	}
	c, err = s.Parse("section "+configSection, text)
	if err == nil {
		err = s.Validate(c)
	}
	if err == nil {
		err = checkMethod(c)
	}
	if err == nil {
		err = h.check(c, d, pixels)
	}
	return h, c, pixels, err
}

// decode makes the trainer of a file.
func decode(d *checkpoint.Decoder, set func(*Process)) (*Trainer, error) {
	h, c, pixels, err := read(d)
	if err != nil {
		return nil, err
	}
	p, err := changed(Process{Batch: h.Batch, Age: time.Duration(h.Age), Queue: h.Queue, MaxClasses: h.MaxClasses,
		MaxParameters: h.MaxParameters, MaxBytes: h.MaxBytes, Backbone: h.Backbone}, set)
	if err != nil {
		return nil, err
	}
	p.Queue = max(p.Queue, h.images())
	if err := p.checkBounds(c, h.inputs(), h.Outputs); err != nil {
		return nil, err
	}
	notes := h.engine(&c)
	if what := config.OtherVersions(h.Registered, build.Schema().Registered(c)); what != "" {
		notes = append(notes, what+". It goes on with what is here, which may compute otherwise")
	}
	e, err := embedderOf(c, h.inputs(), p)
	if err != nil {
		return nil, err
	}
	k, err := h.core(d, c, p)
	if err != nil {
		return nil, err
	}
	t, err := around(k, e, p, h.naming, notes)
	if err != nil {
		return nil, err
	}
	t.waiting = h.waiting(pixels)
	return t, nil
}

// inputs returns the shapes of the images and of the learner's inputs in a state.
func (h header) inputs() inputs { return inputs{h.Shape, h.Features} }

// core is the learner of a state.
func (h header) core(d *checkpoint.Decoder, c config.Config, p Process) (*core, error) {
	k, err := newCore(c, h.inputs(), h.Outputs, 0, p)
	if err != nil {
		return nil, err
	}
	if h.Weights != nil {
		err = k.begin(d, *h.Weights)
	} else {
		err = k.LoadState(d)
	}
	if err == nil && k.classes > len(h.Classes) {
		err = fmt.Errorf("section %s has %d names for %d classes. Use a file that ocl wrote", headerSection, len(h.Classes),
			k.classes)
	}
	if err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

// check refuses a header that does not fit itself or the rest of the file, before anything large is made of it.
func (h header) check(c config.Config, d *checkpoint.Decoder, pixels []byte) error {
	size := 1
	possible := true
	for _, n := range h.Shape {
		possible = possible && n >= 1 && n <= limit.KnownValues
		size *= max(1, min(n, limit.KnownValues))
	}
	if !possible || h.Shape[0] > limit.KnownChannels || size > limit.KnownValues || h.Outputs < 1 ||
		h.Outputs > limit.KnownClasses || len(h.Classes) > limit.KnownClasses {
		return fmt.Errorf("section %s says images of %v, %d outputs and %d classes, more than any data have. Use a file that ocl wrote",
			headerSection, h.Shape, h.Outputs, len(h.Classes))
	}
	if h.Features < 0 || h.Features > limit.KnownValues || (h.Features > 0) != (c.Data.BackboneDigest != "") {
		return fmt.Errorf("section %s says embeddings of %d numbers, which does not fit its config. Use a file that ocl wrote",
			headerSection, h.Features)
	}
	if n := len(c.Stream.Mean); n != 0 && n != h.Shape[0] {
		return fmt.Errorf("stream.mean has %d values for images of %d channels. Use a file that ocl wrote", n, h.Shape[0])
	}
	names := map[string]bool{}
	for _, name := range h.Classes {
		if err := CheckLabel(name); err != nil {
			return fmt.Errorf("section %s: %w", headerSection, err)
		}
		if names[name] {
			return fmt.Errorf("section %s has the class %s twice. Use a file that ocl wrote", headerSection, cause.Shown(name))
		}
		names[name] = true
	}
	for i, y := range h.Gone {
		if y < 0 || int(y) >= len(h.Classes) || i > 0 && y <= h.Gone[i-1] {
			return fmt.Errorf("section %s has the class %d of %d, which is none any more, or has it in a wrong order. Use a file that ocl wrote",
				headerSection, y, len(h.Classes))
		}
	}
	if h.Born != nil && len(h.Born) != len(h.Classes) {
		return fmt.Errorf("section %s has %d first names of %d classes. Use a file that ocl wrote", headerSection,
			len(h.Born), len(h.Classes))
	}
	for _, y := range h.Waiting {
		if y < -1 || y >= len(h.Classes) {
			return fmt.Errorf("section %s has an image of class %d of %d. Use a file that ocl wrote", headerSection, y,
				len(h.Classes))
		}
	}
	images := h.images()
	if images > limit.LiveQueue || len(h.Waiting) > 2*images+1 || len(pixels) != images*size {
		return fmt.Errorf("section %s has %d bytes for %d images of %d. Use a file that ocl wrote", waitingSection,
			len(pixels), images, size)
	}
	net, err := outline(c, h.inputs(), h.Outputs)
	if err != nil {
		return err
	}
	have, want := d.Len("learner/net/params"), 4*net.Footprint().Params()
	switch {
	case build.Method(c.Methods[0]).Solves != nil && have < 0: // it computes its network of sums
		if n := want / 4; n > limit.UnsavedParameters {
			return fmt.Errorf("the network would have %d parameters, and the file has none of them. Use a network of at most %d",
				n, limit.UnsavedParameters)
		}
	case have != want:
		return fmt.Errorf("the network has %d bytes of parameters instead of %d. Use a file that ocl wrote", have, want)
	}
	return nil
}

// images is the number of images that wait.
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
func (h header) waiting(pixels []byte) (list []Waiting) {
	size := h.Shape[0] * h.Shape[1] * h.Shape[2]
	for _, y := range h.Waiting {
		w := Waiting{Boundary: y < 0}
		if !w.Boundary {
			w.Label, w.Pixels, pixels = ocl.Label(y), slices.Clone(pixels[:size]), pixels[size:]
		}
		list = append(list, w)
	}
	return list
}

// engine gives the config the engine of the file, or this machine's where it cannot have that, and notes what makes
// other bits.
func (h header) engine(c *config.Config) (notes []string) {
	e := nn.Engine{Kernel: h.Kernel, Convolution: h.Convolution}
	if e.Check() != nil {
		notes = append(notes, fmt.Sprintf("the learner used the %s kernels, and this machine has others. Numbers may differ in the last digits",
			cause.Shown(h.Kernel)))
		e = nn.DefaultEngine()
	}
	if h.Numbers != result.Numbers {
		notes = append(notes, fmt.Sprintf("the file has numbers version %d, and this ocl has %d. It goes on, to other bits than the ocl that wrote the file",
			h.Numbers, result.Numbers))
	}
	c.Engine = config.Engine{Kernel: e.Kernel, Convolution: e.Convolution}
	return notes
}

// openRun continues the learner of a run.
func openRun(folder string, set func(*Process)) (*Trainer, error) {
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
	names, notes := t.ClassNames, t.Notes
	if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) < len(names) {
		names, notes = nil, append(notes,
			"several classes of the run have one name, so the classes are called by their numbers")
	}
	for k := len(names); k < t.Info.Classes; k++ {
		names = append(names, fmt.Sprint(k))
	}
	for _, name := range names {
		if err := CheckLabel(name); err != nil {
			return nil, err
		}
	}
	of := inputs{image: [3]int{t.Info.Channels, t.Info.Height, t.Info.Width}}
	if t.Info.Embeddings {
		if t.Info.Of == [3]int{} {
			return nil, errors.New("the run has learned embeddings of a file, and this package takes images. Continue it with `ocl learn`")
		}
		of = inputs{t.Info.Of, t.Info.Channels}
	}
	p, err := changed(Process{Batch: t.Info.Batch, Backbone: trained.Located(t.Config.Data.Backbone, t.Folder)}, set)
	if err != nil {
		return nil, err
	}
	capacity := defaultCapacity
	if t.Info.Classes >= capacity {
		capacity = 2 * t.Info.Classes
	}
	if err := p.checkBounds(t.Config, of, capacity); err != nil {
		return nil, err
	}
	c = t.Config
	c.Engine = config.Engine(t.Net.Info().Engine)
	c.Data.Backbone = "" // an option of the process
	e, err := embedderOf(c, of, p)
	if err != nil {
		return nil, err
	}
	sure, _, err := t.Calibration(context.Background())
	if err != nil {
		return nil, err
	}
	state := checkpoint.NewContainer()
	if err := t.Learner.SaveState(state.Encoder()); err != nil {
		return nil, err
	}
	k, err := newCore(c, of, capacity, t.Info.Classes, p)
	if err != nil {
		return nil, err
	}
	if err := train.Caught(func() error { return k.learner.LoadState(state.Decoder()) }); err != nil {
		k.close()
		return nil, err
	}
	if sure != nil && sure.Likeness == nil { // others find it by themselves
		k.tested = sure.Calibration
	}
	k.batches, k.tasks = int64(t.Steps), t.Tasks
	k.activate(t.Info.Classes)
	return around(k, e, p, naming{Classes: names, Gone: t.Gone()}, notes)
}
