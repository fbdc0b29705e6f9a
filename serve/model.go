package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"ocl/serve/api"
	serving "ocl/serve/daemon"
)

// model is what a process serves: a daemon that learns, or a replica that follows one.
type model interface {
	handler(o api.Options) (http.Handler, error)
	failed() <-chan error // has an error when the process must end
	close(ctx context.Context) error
}

// open opens the folder of a daemon, or fetches the first model of a replica.
func (o Options) open(ctx context.Context) (model, error) {
	if o.Follow.URL != "" {
		return follow(ctx, o.Follow, o.Daemon.Live.Process, o.Log)
	}
	if err := o.fits(); err != nil {
		return nil, err
	}
	d, err := serving.Open(o.Dir, o.Daemon)
	if err != nil {
		return nil, err
	}
	return learner{d}, nil
}

// learner is a daemon that learns here.
type learner struct{ d *serving.Daemon }

func (l learner) handler(o api.Options) (http.Handler, error) {
	o.Decoder = l.d
	return api.New(l.d, o)
}

func (l learner) failed() <-chan error { return l.d.Failed() }

func (l learner) close(ctx context.Context) error {
	if err := l.d.Close(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("the daemon could not save all it knows within %s. Nothing is lost: the journal has it, and the next start learns it again",
				drainTime)
		}
		return err
	}
	return nil
}
