package backbone

import (
	"encoding/json"
	"fmt"
	"strconv"

	"ocl/internal/limit"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/safetensors"
	"ocl/nn/weights"
	"ocl/rng"
)

// readOwn makes the backbone of a file that `ocl export --to safetensors` wrote.
func (b *Backbone) readOwn(f *safetensors.Reader) error {
	const export = "Write the file again with `ocl export RUN --to safetensors`"
	m := f.Metadata
	var shape, hidden []int
	wrong := func(key string) error {
		return fmt.Errorf("the metadata %s are missing or have a value that no backbone can have (%.60q). %s", key, m[key],
			export)
	}
	if json.Unmarshal([]byte(m["shape"]), &shape) != nil || len(shape) != 3 {
		return wrong("shape")
	}
	if shape[0] != 3 || shape[1] != shape[2] || shape[1] < 1 || shape[1] > limit.BackboneSide {
		return fmt.Errorf("the network takes images of %d×%d×%d values, and a backbone takes 3×S×S with S from 1 to %d. Train one on square images in colour",
			shape[0], shape[1], shape[2], limit.BackboneSide)
	}
	classes, err := strconv.Atoi(m["classes"])
	if err != nil || classes < 1 || classes > limit.KnownClasses {
		return wrong("classes")
	}
	i := Info{Architecture: m[keyArchitecture], Side: shape[1], TrainedOn: m["data"], Classes: classes}
	if i.Mean, err = three(m[keyMean], func(v float64) bool { return v >= -1e6 && v <= 1e6 }); err != nil {
		return wrong(keyMean)
	}
	if i.Std, err = three(m[keyStd], func(v float64) bool { return v >= 1e-6 && v <= 1e6 }); err != nil {
		return wrong(keyStd)
	}
	if err := i.scaling(m); err != nil {
		return err
	}
	entry, err := arch.Lookup(i.Architecture)
	if err != nil {
		return err
	}
	c := arch.Config{Channels: 3, Height: i.Side, Width: i.Side, Classes: classes, Head: nn.Head{Kind: m["head"]},
		Engine: b.engine}
	if c.Head.Kind == nn.ProjectionHead {
		return fmt.Errorf("the head is a projection, which has no output for a class. Export a network with the head linear or cosine")
	}
	for _, setting := range entry.Settings {
		switch setting {
		case arch.Hidden:
			if json.Unmarshal([]byte(m["hidden"]), &hidden) != nil || len(hidden) == 0 || len(hidden) > limit.Layers {
				return wrong("hidden")
			}
			c.Hidden = hidden
		case arch.Width:
			if c.NF, err = strconv.Atoi(m["width"]); err != nil || c.NF < 1 || c.NF > 1<<16 {
				return wrong("width")
			}
		}
	}
	values := 0
	for _, t := range f.Tensors {
		n := 1
		for _, d := range t.Shape {
			n *= d
		}
		values += n
	}
	least, err := entry.LeastParameters(c)
	if err != nil {
		return err
	}
	if least > values {
		return fmt.Errorf("the metadata describe a network with %d parameters or more, but the file has %d values. %s", least,
			values, export)
	}
	if b.own, err = entry.New(c, rng.New(1, "network/init")); err != nil {
		return err
	}
	start, err := weights.Match(b.own, f)
	if err != nil {
		return err
	}
	if start.OtherHead != "" {
		return fmt.Errorf("%s", start.OtherHead)
	}
	start.Into(b.own, true)
	i.Features = b.own.Info().FeatureDim
	b.info = i
	return nil
}
