package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ocl/live"
)

// output is what the program has printed so far.
type output struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{} // a value for whoever waits
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// line waits for a whole line that begins so.
func (o *output) line(t *testing.T, begin string) string {
	t.Helper()
	for {
		for line := range strings.Lines(o.String()) {
			if strings.HasPrefix(line, begin) && strings.HasSuffix(line, "\n") {
				return strings.TrimSpace(line)
			}
		}
		select {
		case <-o.more:
		case <-t.Context().Done():
			t.Fatalf("no line begins with %q in %q", begin, o.String())
		}
	}
}

// file is a picture in one colour, with a spot.
func file(t *testing.T, c color.NRGBA, i int) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 40, 30))
	for p := range 40 * 30 {
		img.SetNRGBA(p%40, p/40, c)
	}
	img.SetNRGBA(i%40, i%30, color.NRGBA{0, 0, 0, 255})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// put writes a picture as a camera should: elsewhere, and then renamed.
func put(t *testing.T, folder, name string, content []byte) {
	t.Helper()
	path, temporary := filepath.Join(folder, name), filepath.Join(t.TempDir(), "picture")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(temporary, content, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}

var colours = map[string]color.NRGBA{"red": {220, 30, 20, 255}, "blue": {10, 60, 230, 255}}

var options = live.Options{Memory: 50, Size: 8,
	Set: []string{"network.name=mlp", "network.hidden=16", "optimizer.lr=0.05"}, Process: live.Process{Workers: 1}}

// TestFolderThatFills: pictures that come while the program runs are learned under the names of their folders, others
// are predicted, and the learner goes on when the program is started again, without learning a picture twice.
func TestFolderThatFills(t *testing.T) {
	folder, model := t.TempDir(), filepath.Join(t.TempDir(), "camera.ocl")
	out := &output{more: make(chan struct{}, 1)}
	begin := func() (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- run(ctx, folder, model, time.Millisecond, options, out) }()
		return func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	end := begin()
	put(t, folder, "empty.png", file(t, colours["red"], 1))
	out.line(t, `"empty.png" waits, because nothing has been learned yet`)
	for i := range 100 {
		for name, c := range colours {
			put(t, folder, fmt.Sprintf("%s/%d.png", name, i), file(t, c, i))
		}
	}
	put(t, folder, "notes.txt", []byte("no picture"))
	put(t, folder, "red/broken.png", file(t, colours["red"], 0)[:50])
	put(t, folder, "\x1b[2J/1.png", file(t, colours["red"], 0))
	if line := out.line(t, `"empty.png":`); !strings.Contains(line, "(probability ") {
		t.Errorf("after something was learned: %s", line)
	}
	out.line(t, `"red/broken.png" is left out: `)
	out.line(t, `"\x1b[2J/1.png" is left out: `)
	end()
	out.line(t, "learned 200 images of 2 classes; of ")

	time.Sleep(20 * time.Millisecond) // so that pictures are newer than the file where a file system counts coarsely
	end = begin()
	out.line(t, fmt.Sprintf("the learner of %q goes on", model))
	put(t, folder, "what.png", file(t, colours["blue"], 7))
	if line := out.line(t, `"what.png":`); !strings.HasPrefix(line, `"what.png": "blue" (probability `) {
		t.Errorf("predicted %s", line)
	}
	put(t, folder, "red/new.png", file(t, colours["red"], 7))
	for _, name := range []string{"late.png", "last.png"} { // the second one comes in a later look at the folder
		put(t, folder, name, file(t, colours["red"], 7))
		out.line(t, fmt.Sprintf("%q:", name))
	}
	end()
	if got := out.String(); !strings.HasSuffix(got,
		"learned 201 images of 2 classes; of 1 that were predicted before they were learned, 1 were right\n") {
		t.Errorf("at the end: %s", got[len(got)-200:])
	}
}

// TestNoPlaceForTheModel: where the learner cannot be saved, the program says so before it learns.
func TestNoPlaceForTheModel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that it would end at once
	err := run(ctx, t.TempDir(), filepath.Join(t.TempDir(), "absent", "x"), time.Millisecond, options, &output{})
	if err == nil || !strings.Contains(err.Error(), "Give a file in a folder that is there") {
		t.Error(err)
	}
}

// TestNoFolder: what is no folder is an error that says what to give.
func TestNoFolder(t *testing.T) {
	err := run(t.Context(), filepath.Join(t.TempDir(), "absent"), filepath.Join(t.TempDir(), "x"), time.Millisecond,
		options, &output{})
	if err == nil || !strings.Contains(err.Error(), "Give a folder of pictures") {
		t.Error(err)
	}
}
