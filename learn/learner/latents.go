package learner

import (
	"fmt"

	"ocl"
	"ocl/nn"
	"ocl/nn/tensor"
)

// Latents makes activations of images, for a learner that stores them in their place: latent replay (Pellegrini et al.
// 2020, Latent Replay for Real-Time Continual Learning). Its network was made by [nn.Network.Freeze], and its memory
// has their shape and encoding.
type Latents struct {
	Net *nn.Network
	WS  *nn.Workspace
	By  LatentEncoding

	stored []byte
	x      tensor.Tensor
}

// Of is a batch of images b as the learner observes it: activations [B,C,H,W], with what a memory stores of them.
// Rounded is only what is stored. It holds until the next call. Where Latents is nil it is b itself. An activation that
// cannot be stored is an error that wraps [ocl.ErrDiverged].
func (l *Latents) Of(b ocl.Batch) (ocl.Batch, error) {
	if l == nil || b.Len() == 0 {
		return b, nil
	}
	made := l.Net.Activations(l.WS, b.X)
	l.x.Resize(made.Shape...)
	copy(l.x.Data, made.Data) // the workspace's own change with the next prediction
	size := l.By.Bytes(l.x.RowLen())
	l.stored = append(l.stored[:0], make([]byte, b.Len()*size)...)
	for i := range b.Len() {
		if !l.By.Put(l.stored[i*size:][:size], l.x.Row(i)) {
			return b, fmt.Errorf("%w: an activation of the frozen stages is no number, or one that cannot be stored. Start from other weights",
				ocl.ErrDiverged)
		}
	}
	return ocl.Batch{X: &l.x, Y: b.Y, Pixels: l.stored}, nil
}
