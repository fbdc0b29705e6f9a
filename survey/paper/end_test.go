package paper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"ocl/config"
)

// ending is a context that ends when it has been asked so often.
type ending struct {
	context.Context //nolint:containedctx // it is one
	left            atomic.Int64
}

func (e *ending) Err() error {
	if e.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestEnds: a page of the survey ends with its context, wherever it is, and then there is none.
func TestEnds(t *testing.T) {
	dir := t.TempDir()
	for i, spec := range specs()[:2] {
		write(t, dir, fmt.Sprintf("%d.json.gz", i), fake(spec, 1, config.EvalAll))
	}
	for _, n := range []int64{0, 1, 2, 5, 15, 30, 45} {
		out, ctx := t.TempDir(), &ending{Context: t.Context()}
		ctx.left.Store(n)
		w, err := Write(ctx, []string{dir}, out, Options{})
		if _, there := os.Stat(filepath.Join(out, "paper.html")); !errors.Is(err, context.Canceled) || w != nil ||
			there == nil {
			t.Fatalf("after %d looks: %v, %v; %v", n, w, err, there)
		}
	}
}
