package daemon

import (
	"context"
	"io"

	"ocl/checkpoint"
)

// Weights is the format in which a replica follows a daemon: what live.ReadTrainer reads, with no pictures.
const Weights = "ocl"

// Model writes the model that answers, and returns its version. The formats are live.Safetensors, live.ONNX and
// [Weights].
func (d *Daemon) Model(ctx context.Context, format string, w io.Writer) (version int64, err error) {
	if format != Weights {
		return d.trainer.Export(w, format)
	}
	var state *checkpoint.Container
	done := make(chan struct{})
	work := func() {
		defer close(done)
		if err = d.publish(context.WithoutCancel(ctx)); err == nil { // so that it is what answers
			state, err = d.trainer.Weights()
			version = d.Version()
		}
	}
	select {
	case d.between <- work:
		<-done
	case <-d.closing:
		return 0, ErrDraining
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if err == nil {
		_, err = state.WriteTo(w)
	}
	return version, err
}
