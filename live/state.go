package live

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/internal/cause"
	"ocl/learn/learner"
	"ocl/run/build"
	"ocl/run/result"
)

// weightsHeader has the counts that a state of weights needs in place of those of a whole state.
type weightsHeader struct {
	Active  int   `json:"active"` // outputs in use
	Batches int64 `json:"batches"`
	Images  int64 `json:"images"`
	Tasks   int   `json:"tasks"`
}

// header describes the learner for its state, without the images that wait and without options of the process.
func (t *Trainer) header() header {
	k := t.core
	return header{
		Registered: build.Schema().Registered(k.config),
		Version:    version, Numbers: result.Numbers, Kernel: k.net.Info().Engine.Kernel,
		Convolution: k.net.Info().Engine.Convolution,
		Shape:       t.inputs.image, Features: t.inputs.features, Outputs: k.stream.Classes,
		naming: t.naming(),
	}
}

// naming is what a state says of the names of classes.
func (t *Trainer) naming() naming {
	t.mu.Lock()
	defer t.mu.Unlock()
	return naming{slices.Clone(t.names), slices.Clone(t.born), slices.Clone(t.gone)}
}

// textOf is the config as a state has it.
func textOf(c config.Config) ([]byte, error) {
	c.Engine = config.Engine{} // the header has it
	return c.MarshalJSON()
}

// save writes a header, the images that wait, and a state of the learner.
func (t *Trainer) save(e *checkpoint.Encoder, h header, pixels []byte, of checkpoint.State) error {
	if err := t.core.finite(); err != nil { // a [Learner] may be saved before it has heard of the step that failed
		return t.ended(err)
	}
	text, err := textOf(t.core.config)
	if err != nil {
		return err
	}
	return checkpoint.Parts{
		checkpoint.JSON(headerSection, &h), checkpoint.Bytes(configSection, &text), checkpoint.Bytes(waitingSection, &pixels),
		checkpoint.Inline(of),
	}.SaveState(e)
}

// SaveState writes all that was learned and is stored, with the names of the classes, and without options of the
// process. It is the same after the same calls, whatever was published and when. [Trainer.LoadState] and [ReadTrainer]
// read it. A trainer whose learning has ended is not saved.
func (t *Trainer) SaveState(e *checkpoint.Encoder) error {
	return t.change("save", func() error { return t.save(e, t.header(), nil, t.core) })
}

// Digest is the SHA-256 of what SaveState writes but the calibration of [Trainer.Calibrate], in 64 hexadecimal digits:
// it is that of all trainers that have learned the same.
func (t *Trainer) Digest() (string, error) {
	state, sum := checkpoint.NewContainer(), sha256.New()
	if err := t.SaveState(state.Encoder()); err != nil {
		return "", err
	}
	state, err := Without(state, TestedSections)
	if err != nil {
		return "", err
	}
	if _, err := state.WriteTo(sum); err != nil {
		return "", fmt.Errorf("live: digest: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// LoadState takes the state of a trainer of the same config, which may have another number of outputs and other
// classes, in the place of its own, also after an error that has ended learning. Predictions go on with what was
// published, until the next Publish. After an error of LoadState all is as it was. A state of weights alone
// ([Trainer.Weights]) is one with an empty memory.
func (t *Trainer) LoadState(d *checkpoint.Decoder) error {
	err := errZero
	if t.made() {
		err = t.run(func() error { return t.load(d) })
	}
	if err != nil {
		return fmt.Errorf("live: load: %w", err)
	}
	return nil
}

func (t *Trainer) load(d *checkpoint.Decoder) error {
	h, err := t.own(d)
	if err != nil {
		return err
	}
	if err := t.process.checkBounds(t.config, t.inputs, h.Outputs); err != nil {
		return err
	}
	k, err := h.core(d, t.config, t.process)
	if err != nil {
		return err
	}
	old := t.core
	if err := t.exchange(k); err != nil {
		t.core = old
		k.close()
		return err
	}
	old.close()
	t.call(h.naming)
	t.mu.Lock()
	t.err = nil
	t.mu.Unlock()
	t.publisher.stale = true
	return nil
}

// own reads the header of a state, and refuses one of another config.
func (t *Trainer) own(d *checkpoint.Decoder) (header, error) {
	h, c, _, err := read(d)
	if err != nil {
		return h, err
	}
	theirs, err := textOf(c)
	if err != nil {
		return h, err
	}
	ours, err := textOf(t.config)
	if err != nil {
		return h, err
	}
	if h.inputs() != t.inputs || !bytes.Equal(theirs, ours) {
		return h, errors.New("the state is one of another config, or of images of another size. Load one of a trainer that was made as this one")
	}
	return h, nil
}

// Weights returns what was learned, without what is stored: the parameters and running statistics of the network and
// the vectors of its optimiser, or the sums of a method that trains nothing; and the class means, if it predicts by
// them. They hold no image, unless a class has one image alone in sums of pixels. [Trainer.SetWeights] loads them.
// [ReadTrainer] and [Trainer.LoadState] make a trainer with an empty memory of them, such as one that only predicts.
// Before anything was learned the error wraps [ErrNothing], and for a method of another module that is no
// [learner.Weighted] it wraps [ErrMethod].
func (t *Trainer) Weights() (state *checkpoint.Container, err error) {
	err = t.change("weights", func() error {
		if err := t.calibrated(); err != nil { // so that the calibration is among them
			return err
		}
		state, err = t.weights()
		return err
	})
	return state, err
}

// calibrated computes the calibration of a learner of sums, in the goroutine that learns.
func (t *Trainer) calibrated() error {
	k := t.core
	if _, sums := k.learner.(learner.Sums); !sums || !k.predicts() {
		return nil
	}
	if err := k.prepare(context.Background()); err != nil {
		return t.ended(err)
	}
	if _, err := k.calibration(context.Background()); err != nil {
		return t.ended(err)
	}
	return nil
}

// Version returns Weights with the samples by which they are calibrated, for going back to them by SetWeights, and for
// [Trainer.UnlearnFrom].
func (t *Trainer) Version() (state *checkpoint.Container, err error) {
	err = t.change("version", func() error {
		if state, err = t.weights(); err != nil {
			return err
		}
		return t.core.keptPart().SaveState(state.Encoder())
	})
	return state, err
}

// keptPart is the samples by which the learner calibrates itself; nothing where it does not.
func (k *core) keptPart() checkpoint.Parts {
	c, ok := k.learner.(learner.Calibrated)
	if !ok {
		return nil
	}
	return checkpoint.Parts{checkpoint.Sub("learner", checkpoint.Parts{c.Kept()})}
}

// weights is Weights in the goroutine that learns.
func (t *Trainer) weights() (*checkpoint.Container, error) {
	k := t.core
	if !k.learned() {
		return nil, ErrNothing
	}
	parts, err := k.weights()
	if err != nil {
		return nil, err
	}
	if means := k.means(); means != nil && !means.Fitted() && k.predicts() {
		if err := k.prepare(context.Background()); err != nil {
			return nil, t.ended(err)
		}
	}
	h, state := t.header(), checkpoint.NewContainer()
	h.Weights = &weightsHeader{k.classes, k.batches, k.images, k.tasks}
	if err := t.save(state.Encoder(), h, nil, parts); err != nil {
		return nil, err
	}
	return state, nil
}

// SetWeights takes weights of this trainer that were learned before: what [Trainer.Version], [Trainer.Weights] or
// [Trainer.SaveState] gave then. The memory, the classes, all counts, the sources of random numbers, and what a method
// keeps of earlier tasks (a teacher, the anchors of ewc++) stay as they are. Outputs of classes that were not in use
// then are as they were then, before anything was learned of them. Predictions change with the next Publish.
func (t *Trainer) SetWeights(d *checkpoint.Decoder) error {
	return t.change("set weights", func() error {
		err := t.setWeights(d)
		if err == nil {
			t.publisher.stale = t.core.learned()
		}
		return err
	})
}

// setWeights is SetWeights in the goroutine that learns, but for what predictions see.
func (t *Trainer) setWeights(d *checkpoint.Decoder) error {
	h, err := t.own(d)
	if err != nil {
		return err
	}
	k, now := t.core, t.naming()
	names, then := now.first(), h.first()
	switch {
	case h.Outputs > k.stream.Classes:
		return fmt.Errorf("the weights are of a head of %d outputs, and this one has %d. Give weights that this trainer has learned",
			h.Outputs, k.stream.Classes)
	case len(then) > len(names) || !slices.Equal(then, names[:len(then)]):
		return errors.New("the weights are of other classes. Give weights that this trainer has learned")
	case !slices.Equal(h.Gone, now.Gone):
		return errors.New("the weights are of before classes were merged or removed. Give weights of after that")
	}
	if _, err := k.weights(); err != nil {
		return err
	}
	if err := k.setWeights(d, h.Outputs); err != nil {
		return t.ended(err)
	}
	return nil
}

// weights are the parts of the state that Weights has.
func (k *core) weights() (checkpoint.Parts, error) {
	w, ok := k.learner.(learner.Weighted)
	if !ok {
		return nil, cause.As(fmt.Errorf("%s does not say which part of its state is what it has learned. Use a method that does, such as er",
			k.config.Methods[0]), ErrMethod)
	}
	parts := checkpoint.Parts{checkpoint.Sub("learner", w.Weights())}
	if means := k.means(); means != nil {
		here := true
		parts = append(parts, checkpoint.Either(&here, "means/classes",
			checkpoint.Parts{checkpoint.Sub("means", means.State(k.net.Info().FeatureDim))}, nil))
	}
	return append(parts, k.testedPart()), nil
}

// begin makes a new core one that has learned these weights.
func (k *core) begin(d *checkpoint.Decoder, h weightsHeader) error {
	if h.Active < 1 || h.Active > k.stream.Classes || h.Batches < 1 || h.Images < 0 || h.Tasks < 0 {
		return fmt.Errorf("section %s says %d classes of %d outputs, %d tasks, %d batches and %d images. Use a file that ocl wrote",
			headerSection, h.Active, k.stream.Classes, h.Tasks, h.Batches, h.Images)
	}
	parts, err := k.weights()
	if err != nil {
		return err
	}
	if err := parts.LoadState(d); err != nil {
		return err
	}
	if means := k.means(); means != nil {
		classes, values := means.Means()
		bad := slices.ContainsFunc(classes, func(y ocl.Label) bool { return y < 0 || int(y) >= h.Active })
		if bad || slices.ContainsFunc(values, func(v float32) bool { return v-v != 0 }) {
			return errors.New("the class means are of other classes, or no numbers. Use a file that ocl wrote")
		}
	}
	k.batches, k.images, k.tasks, k.classes = h.Batches, h.Images, h.Tasks, h.Active
	k.net.SetActive(h.Active)
	return nil
}

// setWeights loads weights of a head of so many outputs, from there or from a whole state.
func (k *core) setWeights(d *checkpoint.Decoder, outputs int) error {
	if outputs < k.stream.Classes && d.Len("learner/net/params") >= 0 { // the others become as they were drawn
		drawn, err := build.NewNetwork(k.stream, k.config, outputs)
		if err != nil {
			return err
		}
		k.net.CopyFrom(drawn)
		k.net.Inherit(outputs)
	}
	parts, err := k.weights()
	if err != nil {
		return err
	}
	if err := append(parts, checkpoint.Inline(k.keptPart())).LoadState(d); err != nil {
		return err
	}
	if means := k.means(); means != nil && k.stored() > 0 {
		means.Forget() // they are found again of what is stored
	}
	if k.classes > 0 {
		k.net.SetActive(k.classes)
	}
	return nil
}

var _ ocl.State = (*Trainer)(nil)
