// Camera learns from a folder that fills while it runs, and predicts meanwhile:
//
//	go run ./examples/camera pictures
//
// A picture in a folder below, such as pictures/cat/0001.jpg, is an image of the class cat. It is predicted first,
// which says how well the learner does, and then learned. A picture in the folder itself has no label and is predicted
// alone, as soon as something has been learned. A program that writes pictures should write them elsewhere and rename
// them; a picture that is not whole yet is read again until it is.
//
// The learner is saved to the file of -model every minute and when the program ends (Ctrl-C), and is opened from it
// when the program starts again. Pictures that are older than that file are not learned again.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"io"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"ocl/data"
	"ocl/live"
)

func main() {
	log.SetFlags(0)
	model := flag.String("model", "camera.ocl", "file of the learner")
	method := flag.String("method", "er", "method of a new learner, one of `ocl methods`")
	memory := flag.Int("memory", 2000, "images that a new learner stores")
	size := flag.Int("size", 32, "side in pixels of the images that a new learner sees")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("a folder of pictures is needed. Write `go run ./examples/camera DIR`")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, flag.Arg(0), *model, 200*time.Millisecond,
		live.Options{Method: *method, Memory: *memory, Size: *size, Set: []string{"optimizer.lr=0.05"}}, os.Stdout)
	if err != nil {
		log.Fatal(err)
	}
}

// run looks at the folder every so often until ctx ends, and then saves the learner.
func run(ctx context.Context, folder, model string, every time.Duration, o live.Options, out io.Writer) error {
	c := &camera{folder: folder, model: model, out: out, done: map[string]bool{}, waits: map[string]bool{},
		tries: map[string]int{}}
	if err := c.begin(o); err != nil {
		return err
	}
	defer c.learner.Close()
	for ctx.Err() == nil {
		if err := c.look(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
	if err := c.learner.Flush(context.Background()); err != nil {
		return err
	}
	fmt.Fprintln(out, c.summary())
	return c.learner.Save(model)
}

// camera is a learner of the pictures of a folder.
type camera struct {
	folder, model string
	out           io.Writer
	learner       *live.Learner
	done          map[string]bool // pictures that were read
	waits         map[string]bool // pictures that came before anything was learned
	tries         map[string]int  // of pictures that could not be read
	since         time.Time       // pictures that are older were learned before
	saved         time.Time
	asked, right  int // predictions of pictures that were learned then
}

// begin opens the learner, or makes one.
func (c *camera) begin(o live.Options) (err error) {
	c.saved = time.Now()
	probe, err := os.CreateTemp(filepath.Dir(c.model), ".camera-*") // or what is learned would be lost at the end
	if err != nil {
		return fmt.Errorf("-model: %w. Give a file in a folder that is there and can be written to", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return err
	}
	at, err := os.Stat(c.model)
	if errors.Is(err, fs.ErrNotExist) {
		c.learner, err = live.New(o)
		return err
	}
	if err != nil {
		return err
	}
	c.since = at.ModTime()
	fmt.Fprintf(c.out, "the learner of %q goes on; its method, memory and size are those of the file, and -method, -memory and -size are ignored\n",
		c.model)
	c.learner, err = live.Open(c.model)
	return err
}

// look reads the pictures that are new.
func (c *camera) look(ctx context.Context) error {
	entries, err := os.ReadDir(c.folder)
	if err != nil {
		return fmt.Errorf("%w. Give a folder of pictures", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			if err := c.read(ctx, e, "", e.Name()); err != nil {
				return err
			}
			continue
		}
		below, err := os.ReadDir(filepath.Join(c.folder, e.Name()))
		if err != nil {
			return err
		}
		for _, f := range below {
			if err := c.read(ctx, f, e.Name(), filepath.Join(e.Name(), f.Name())); err != nil {
				return err
			}
		}
	}
	if time.Since(c.saved) > time.Minute {
		c.saved = time.Now()
		fmt.Fprintln(c.out, c.summary())
		return c.learner.Save(c.model)
	}
	return nil
}

// mostTries is how often a picture is read that is not whole.
const mostTries = 50

// read predicts the picture of a name, and learns it if it has a label.
func (c *camera) read(ctx context.Context, e fs.DirEntry, label, name string) error {
	if c.done[name] || e.IsDir() || !data.IsPicture(name) {
		return nil
	}
	img, at, err := c.picture(name)
	if at.Before(c.since) { // it was learned before
		c.done[name] = true
		return nil
	}
	if err != nil {
		if c.tries[name]++; c.tries[name] == mostTries {
			fmt.Fprintf(c.out, "%q is left out: %v\n", name, err)
			c.done[name] = true
		}
		return nil
	}
	guesses, err := c.learner.Predict(img, 3)
	if errors.Is(err, live.ErrNothing) && label == "" { // it is asked again in the next look
		if !c.waits[name] {
			c.waits[name] = true
			fmt.Fprintf(c.out, "%q waits, because nothing has been learned yet\n", name)
		}
		return nil
	}
	c.done[name] = true
	if err != nil && !errors.Is(err, live.ErrNothing) {
		return fmt.Errorf("%q: %w", name, err)
	}
	if label == "" {
		fmt.Fprintf(c.out, "%q:", name)
		for _, g := range guesses {
			fmt.Fprintf(c.out, " %q (%s %.2f)", g.Name, c.learner.Measure(), g.Value)
		}
		fmt.Fprintln(c.out)
		return nil
	}
	if len(guesses) > 0 {
		c.asked++
		if guesses[0].Name == label {
			c.right++
		}
	}
	if err := c.learner.Learn(ctx, img, label); errors.Is(err, live.ErrLabel) || errors.Is(err, live.ErrBound) {
		fmt.Fprintf(c.out, "%q is left out: %v\n", name, err)
	} else if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return nil
}

// picture reads a picture, and says when it was written.
func (c *camera) picture(name string) (img image.Image, written time.Time, err error) {
	path := filepath.Join(c.folder, name)
	info, err := os.Stat(path)
	if err != nil {
		return nil, c.since, err
	}
	file, err := data.ReadPictureFile(path)
	if err == nil {
		img, _, err = image.Decode(bytes.NewReader(file))
	}
	return img, info.ModTime(), err
}

// summary says how far the learner is.
func (c *camera) summary() string {
	s := c.learner.Stats()
	return fmt.Sprintf("learned %d images of %d classes; of %d that were predicted before they were learned, %d were right",
		s.Images, s.Classes, c.asked, c.right)
}
