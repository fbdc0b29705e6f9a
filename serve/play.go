package serve

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"ocl/data"
	_ "ocl/data/gofonts" // draws the glyphs
	"ocl/serve/client"
)

// The play: built-in drawings come as from a camera. Each is predicted first and gets its label afterwards, but for
// some, which wait for a person. Classes appear one after the other, and once all are there, the typefaces change: the
// drift that the page shows.
const (
	playClasses   = 12 // that appear
	playFirst     = 3  // of them at the beginning
	playEach      = 150
	playDrift     = 1500 // drawings between two changes of the typefaces
	playFaces     = 4    // typefaces at a time
	playUnlabeled = 12   // one drawing of so many has no label
	playEvery     = 60 * time.Millisecond
)

// play sends drawings to the daemon at an address until ctx ends. The channel is closed when it has ended.
func (o Options) play(ctx context.Context, address string) <-chan struct{} {
	ended := make(chan struct{})
	if !o.Play {
		close(ended)
		return ended
	}
	go func() {
		defer close(ended)
		if err := sendDrawings(ctx, address, o.Daemon.Live.Size, o.Log); err != nil && ctx.Err() == nil {
			o.Log.ErrorContext(ctx, "the drawings have ended", "error", err)
		}
	}()
	return ended
}

// sendDrawings sends the drawings, size pixels on a side.
func sendDrawings(ctx context.Context, address string, size int, log *slog.Logger) error {
	set, err := data.Open(ctx, data.Spec{Name: "glyphs", Size: size, TestPerClass: 1})
	if err != nil {
		return err
	}
	c, err := client.New(address, client.Options{})
	if err != nil {
		return err
	}
	dice := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // drawings for a person to look at
	tick := time.NewTicker(playEvery)
	defer tick.Stop()
	classes := map[string]bool{}
	buf := make([]byte, set.ImageLen())
	for n := 0; ; n++ {
		known := min(playClasses, playFirst+n/playEach)
		first := n / playDrift * playFaces % len(set.Domains)
		i := draw(dice, set, known, func(face int) bool { return (face-first+len(set.Domains))%len(set.Domains) < playFaces })
		label := set.ClassName(int(set.Train.Y[i]))
		pixels, err := set.Train.Images.Image(i, buf)
		if err != nil {
			return err
		}
		if n > 0 && n%playDrift == 0 {
			log.InfoContext(ctx, "the typefaces change")
		}
		if err := playOne(ctx, c, pixels, label, classes, n%playUnlabeled == playUnlabeled-1); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// draw chooses a drawing of the first classes in some typefaces.
func draw(dice *rand.Rand, set *data.Set, classes int, face func(int) bool) int {
	for {
		i := dice.IntN(set.Train.Len())
		if int(set.Train.Y[i]) < classes && face(int(set.Train.Domain[i])) {
			return i
		}
	}
}

// playOne predicts a drawing, and then says its label, unless a person shall.
func playOne(ctx context.Context, c *client.Client, pixels []byte, label string, classes map[string]bool,
	unlabeled bool) error {
	if !classes[label] {
		if err := c.Class(ctx, label); err != nil {
			return err
		}
		classes[label] = true
	}
	p, err := c.Predict(ctx, pixels, client.Predict{Raw: true, Remember: true})
	if err != nil || unlabeled {
		return err
	}
	if _, err := c.Label(ctx, p.ID, label); err != nil {
		return fmt.Errorf("the label of %s: %w", p.ID, err)
	}
	return nil
}
