package report

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// ending is a context that ends when it has been asked so often.
type ending struct {
	context.Context //nolint:containedctx // it is one
	left            int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestEnds: a report ends with its context, wherever it is, and then there is no page.
func TestEnds(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, []fake{{method: "er", title: "ER", memory: 500, seed: 1, tasks: 3, perTask: 2, level: 0.4, decay: 0.8}})
	n := 0
	for ; ; n += 1 + n/2 {
		out := t.TempDir()
		w, err := Write(&ending{t.Context(), n}, []string{dir}, out, Options{Known: methods})
		if err == nil {
			break
		}
		if _, there := os.Stat(filepath.Join(out, "report.html")); !errors.Is(err, context.Canceled) || w != nil ||
			there == nil {
			t.Fatalf("after %d looks: %v, %v; %v", n, w, err, there)
		}
	}
	if n < 10 {
		t.Errorf("it looked only %d times whether the context has ended", n)
	}
}
