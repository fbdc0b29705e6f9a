package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"ocl/config"
	"ocl/data"
	"ocl/data/embed"
	"ocl/nn/arch"
	"ocl/run/build"
)

// OpenData opens the data of a config, with Options.Progress and Options.ReadOnly, or returns Options.Data. With a
// pretrained network they are the embeddings that it makes of the images, which takes long where the cache does not
// have them.
func OpenData(ctx context.Context, c config.Config, o Options) (*data.Set, error) {
	if o.Data != nil {
		return o.Data, nil
	}
	spec := build.Data(c)
	spec.Progress, spec.ReadOnly, spec.OneClass, spec.Whole = o.Progress, o.ReadOnly, spec.OneClass || o.OneClass, o.Whole
	if c.Data.Backbone == "" {
		set, err := data.Open(ctx, spec)
		if want := c.Data.BackboneDigest; err == nil && want != "" {
			err = madeBy(set, want)
		}
		return set, err
	}
	net, err := build.Backbone(c)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w. Check --backbone", err)
	case err != nil:
		return nil, err
	}
	set, err := data.Open(ctx, embed.Wanted(spec, net))
	if err != nil {
		return nil, err
	}
	if set.Embeddings {
		if err := madeBy(set, net.Digest()); err != nil {
			return nil, err
		}
		if d := net.Info().Features; d != set.C {
			return nil, fmt.Errorf("data.backbone: %s has embeddings of %d numbers, and the network that it names makes %d. Make them again with `ocl embed -o FILE.npz`",
				set.Name, set.C, d)
		}
		return set, nil
	}
	if o.Images != nil {
		if err := o.Images(set); err != nil {
			return nil, err
		}
	}
	maker, err := embed.New(net, [3]int{set.C, set.H, set.W})
	if err != nil {
		return nil, fmt.Errorf("data.backbone: %w", err)
	}
	return maker.Set(ctx, set, embed.Options{Begin: o.Embedding, Progress: o.Progress, ReadOnly: o.ReadOnly})
}

// madeBy is an error if embeddings that are data themselves were made by another network than the one with this digest,
// or do not say by which.
func madeBy(set *data.Set, digest string) error {
	switch {
	case !set.Embeddings:
		return fmt.Errorf("data.backbone_digest: the network %s makes embeddings, and %s has images. Say where its file is, with --backbone",
			digest, set.Name)
	case set.ByDigest == "":
		return fmt.Errorf("data.backbone: %s has embeddings, and does not say which network made them; wanted are those of %s. Write the file with `ocl embed -o FILE.npz`, or use images",
			set.Name, digest)
	case set.ByDigest != digest:
		return fmt.Errorf("data.backbone: %s has embeddings of the network %s (%s); wanted are those of %s. Make them with that network, or use images",
			set.Name, set.ByDigest, set.By, digest)
	}
	return nil
}

// completeEmbeddings fills in what a config leaves to embeddings: the digest of the network that made them, and a
// network that takes them, where the config has the one for images that nobody has chosen.
func (x *Experiment) completeEmbeddings() {
	if !x.set.Embeddings {
		return
	}
	x.config.Data.BackboneDigest = x.set.ByDigest
	if x.config.Network.Name == config.Default().Network.Name {
		x.config.Network.Name = arch.NameLinear
	}
}
