package serve_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"ocl"
	"ocl/learn/loss"
	"ocl/learn/method"
	"ocl/nn/tensor"
	"ocl/run/train"
	"ocl/serve"
	"ocl/serve/client"
)

// panics is a criterion of somebody else's method.
type panics struct{ loss.Criterion }

func (panics) Eval(*tensor.Tensor, loss.Input) (float64, error) { panic("no such row") }

func init() {
	method.Register(method.Info{
		Name: "panics", Traits: method.Traits{UsesMemory: true}, Settings: []string{"memory", "replay.batch"},
		Build: func(s method.Setup) (ocl.Learner, error) {
			r := s.Replay()
			r.Memory, r.Criterion = s.Store(), panics{s.Labels()}
			return r, nil
		},
	})
}

// TestAPanicWhileItLearns ends the process with the panic as its error, and who waits for what it was learning is told
// so.
func TestAPanicWhileItLearns(t *testing.T) {
	o := options(t)
	o.Daemon.Live.Method = "panics"
	ready, ended := make(chan string, 1), make(chan error, 1)
	o.Ready = func(address string) { ready <- address }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { ended <- serve.Run(ctx, o) }()
	c, err := client.New(<-ready, client.Options{Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Learn(t.Context(), picture(1), "class", client.Learn{Raw: true, Wait: true})
	if refused := new(client.Error); !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable ||
		!strings.Contains(refused.Detail, "has failed, and the daemon ends") {
		t.Errorf("who waits is told %v", err)
	}
	if err, panicked := <-ended, new(train.PanicError); !errors.As(err, &panicked) {
		t.Errorf("the process ends with %v", err)
	}
}
