// Package backbone runs pretrained, frozen networks: pictures in, features or logits out. It has no training and no
// gradient. The networks come from files (docs/format/backbone.md) that examples/pytorch/convert.py makes of PyTorch's
// weights, or that `ocl export` writes. Start at [Open].
package backbone

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/kernel"
	"ocl/internal/limit"
	"ocl/internal/samebits"
	"ocl/nn"
	"ocl/nn/safetensors"
)

// Info says what a backbone is.
type Info struct {
	Architecture string     // such as "efficientnet-lite0"
	Side         int        // of the pictures, which are square, in pixels
	Resize       int        // the shorter side of what a picture is scaled to, whose middle is taken: at least Side
	Bicubic      bool       // it is scaled by Pillow's BICUBIC, and else by its BILINEAR
	Mean, Std    [3]float32 // of the red, green and blue values in [0,1]; pixel x of uint8 becomes (x/255-Mean)/Std
	TrainedOn    string     // such as "ImageNet-1k"
	Licence      string     // of the weights, such as "Apache-2.0"; "" where the file does not say
	Features     int        // D, the number of features of a picture
	Classes      int        // the number of logits; 0 where the network has none
	Feature      string     // which numbers of a vision transformer are the features, such as "class"; "" for others
	Remarks      string     // what was taken for granted, and what was left out of the file
}

// Notes says for a person what was taken for granted and what was left out of the file; mostly there is nothing to say.
func (i Info) Notes() []string {
	if i.Remarks == "" {
		return nil
	}
	return []string{"pretrained network: " + i.Remarks}
}

// Backbone is a network with fixed weights. Any number of goroutines may use it, each with a [Workspace] of its own.
type Backbone struct {
	info   Info
	digest string
	engine nn.Engine
	set    *kernel.Set
	net    *network
	own    *nn.Network // of this project, instead of net
}

// Open reads a file of weights, for an engine, usually [nn.DefaultEngine]: the features of two engines differ in their
// last bits. A file that is no regular file, is larger than limit.Backbone, or is damaged is an error, and so are an
// engine that the machine cannot run, metadata that lack or that no network can have, tensors that the architecture
// does not have or has in another shape or type (all in one message), weights that are no finite numbers, and negative
// variances.
func Open(path string, engine nn.Engine) (*Backbone, error) {
	text, err := input.ReadFile(path, input.Want{Most: limit.Backbone})
	if err != nil {
		return nil, fmt.Errorf("backbone: %s: %w", path, cause.Of(err))
	}
	b, err := decode(text, engine)
	if err != nil {
		return nil, fmt.Errorf("backbone: %s: %w", path, err)
	}
	b.digest = fmt.Sprintf("sha256:%x", sha256.Sum256(text))
	return b, nil
}

// decode is the backbone of a file.
func decode(text []byte, engine nn.Engine) (*Backbone, error) {
	if err := engine.Check(); err != nil {
		return nil, err
	}
	f, err := safetensors.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		if what := safetensors.Foreign(bytes.NewReader(text), int64(len(text))); what != "" {
			err = fmt.Errorf("this is %s, and not a backbone. `python3 examples/pytorch/convert.py ARCHITECTURE FILE -o OUT.safetensors` makes one of a file of torch.save (docs/format/backbone.md lists the architectures), and `ocl export RUN --to safetensors` of a run",
				what)
		}
		return nil, err
	}
	b := &Backbone{engine: engine}
	if b.set, err = kernel.Find(samebits.Among(nn.Kernels(), engine.Kernel)); err != nil {
		return nil, err
	}
	if f.Metadata[keyVersion] == "" && f.Metadata[keyExport] != "" {
		return b, b.readOwn(f)
	}
	return b, b.read(f)
}

// Info says what the backbone is.
func (b *Backbone) Info() Info { return b.info }

// Digest is the SHA-256 of the file, as "sha256:…".
func (b *Backbone) Digest() string { return b.digest }

// Work is the parameters of the backbone, and the multiply-adds of a picture up to its features. They are 0 for a
// network of this project, which says both itself.
func (b *Backbone) Work() (parameters, multiplyAdds int64) {
	if b.own != nil {
		return 0, 0
	}
	for _, t := range b.net.tensors() {
		parameters += int64(safetensors.Tensor{Shape: t.Shape}.Len())
	}
	for _, l := range b.net.layers {
		if l.kind != logitsLayer {
			multiplyAdds += b.net.work(l)
		}
	}
	return parameters, multiplyAdds
}

// work is the multiply-adds of a layer for a picture.
func (n *network) work(l *layer) int64 {
	in, out := n.maps[l.in], n.maps[l.out]
	switch l.kind {
	case stemLayer, denseLayer, depthwiseLayer, logitsLayer:
		return int64(out.rows*out.columns) * int64(safetensors.Tensor{Shape: n.shape(l)}.Len())
	case attentionLayer:
		return 2 * int64(in.rows*out.rows) * int64(out.channels)
	}
	return 0
}

// Engine is how the backbone computes: a kernel set and an algorithm of convolutions, on which the last bits of
// features depend.
func (b *Backbone) Engine() nn.Engine { return b.engine }
