package serve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ocl/serve/client"
	"ocl/serve/daemon"
)

// TestEverythingAtOnce: clients predict, remember, label, correct, erase, add classes, end tasks, go back, fetch the
// model and watch, all at the same time, and labels and erasures meet on the same samples. Nothing answers with a fault
// of the daemon, what was erased stays erased, and the journal makes the same state again. With the race detector it is
// a test of the whole daemon.
func TestEverythingAtOnce(t *testing.T) {
	o := options(t)
	o.Daemon.Queue, o.Daemon.HeldOut, o.Daemon.Retain, o.Daemon.SnapshotEvery = 1000, 0.05, true, 20*time.Millisecond
	address, end := run(t, o)
	c, err := client.New(address, client.Options{Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	rounds := 150
	if testing.Short() {
		rounds = 40
	}
	for i := range 4 {
		if _, err := c.Learn(t.Context(), picture(i), fmt.Sprint("class ", i%3),
			client.Learn{Raw: true, Wait: i == 3}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	erased := map[string]bool{}
	bad := func(what string, err error, allowed ...int) {
		var refused *client.Error
		if err == nil || errors.As(err, &refused) &&
			(refused.Status == http.StatusTooManyRequests || slices.Contains(allowed, refused.Status)) {
			return
		}
		t.Errorf("%s: %v", what, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var watching, working sync.WaitGroup
	watching.Go(func() { // of events, until the end
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/v1/events", nil)
		if err != nil {
			t.Error(err)
			return
		}
		if answer, err := http.DefaultClient.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
	})
	for k := range 4 { // samples, labels that come late, corrections and erasures
		working.Go(func() {
			for i := range rounds {
				n := 1000*k + i
				id := fmt.Sprint("s", n)
				p := append([]byte{byte(n), byte(n >> 8), byte(k)}, picture(n)[3:]...)
				_, err := c.Learn(ctx, p, fmt.Sprint("class ", n%3), client.Learn{ID: id, Raw: true, Wait: i%25 == 0})
				bad("sample", err)
				if err != nil {
					continue
				}
				if i%3 == 0 {
					var both sync.WaitGroup
					both.Go(func() {
						_, err := c.Label(ctx, id, "class 0")
						bad("correction", err, http.StatusGone, http.StatusNotFound)
					})
					both.Go(func() {
						if err := c.Forget(ctx, id); err != nil {
							bad("erasure", err, http.StatusNotFound)
							return
						}
						mu.Lock()
						erased[id] = true
						mu.Unlock()
					})
					both.Wait()
				}
			}
		})
	}
	for k := range 3 {
		working.Go(func() {
			for i := range rounds {
				p, err := c.Predict(ctx, picture(i), client.Predict{Raw: true, Remember: k == 0})
				bad("prediction", err)
				if k == 0 && err == nil && i%2 == 0 {
					_, err := c.Label(ctx, p.ID, "class 1")
					bad("label", err, http.StatusGone, http.StatusNotFound)
				}
			}
		})
	}
	working.Go(func() {
		random := rand.New(rand.NewPCG(1, 1))
		for i := range rounds / 5 {
			var s daemon.Status
			bad("status", c.Status(ctx, &s))
			bad("class", c.Class(ctx, fmt.Sprint("further ", i)))
			bad("task", c.Task(ctx))
			_, _, err := c.Model(ctx, []string{"ocl", "safetensors", "onnx"}[i%3], "", io.Discard)
			bad("model", err)
			if s.Version > 0 && random.IntN(3) == 0 {
				bad("rollback", c.Rollback(ctx, s.Version-1), http.StatusNotFound, http.StatusGone, http.StatusConflict)
			}
			for _, path := range []string{"/metrics", "/v1/samples?count=5", "/v1/classes"} {
				answer, err := http.Get(address + path)
				if err != nil || answer.StatusCode != http.StatusOK {
					t.Errorf("%s: %v", path, err)
					continue
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		}
	})
	working.Wait()
	if len(erased) == 0 {
		t.Error("nothing was erased")
	}
	for id := range erased {
		answer, err := http.Get(address + "/v1/samples/" + id)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if s := string(text); answer.StatusCode != http.StatusOK || !strings.Contains(s, `"erased"`) &&
			!strings.Contains(s, `"forgotten"`) {
			t.Errorf("%s was erased and is %s", id, text)
		}
	}
	cancel()
	watching.Wait()
	if err := end(); err != nil {
		t.Fatal(err)
	}
	r, err := daemon.Verify(t.Context(), o.Dir, daemon.Options{})
	if err != nil || r.Compared() && !r.Same() {
		t.Errorf("%+v, %v", r, err)
	}
	t.Logf("%d samples were erased; %s", len(erased), r.Text())
}
