package cli

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// cancelAt cancels when it is written what it waits for.
type cancelAt struct {
	bytes.Buffer
	word   string
	cancel context.CancelFunc
}

func (c *cancelAt) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(c.word)) {
		c.cancel()
	}
	return c.Buffer.Write(b)
}

// TestAdviseReading: each setting, and the command to go on with, has the reading of the images that was asked for.
func TestAdviseReading(t *testing.T) {
	f := adviseFlags{backbone: "b", reading: "list:my breed"}
	for _, s := range f.settings() {
		if !slices.Contains(s.Keys, "data.reading=list:my breed") || !strings.HasSuffix(s.Words, " 'data.reading=list:my breed'") {
			t.Errorf("%s: %q, %q", s.Name, s.Keys, s.Words)
		}
	}
	if slices.Contains(advised[0].Keys, "data.reading=list:my breed") {
		t.Error("the settings themselves have changed")
	}
}

// TestAdviseInterrupted: at Ctrl-C the table has the settings that have ended, and the best of them is the command to
// go on with.
func TestAdviseInterrupted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for class := range 2 {
		for i := range 15 {
			m := image.NewGray(image.Rect(0, 0, 8, 8))
			m.SetGray(class, i%8, color.Gray{uint8(100 + i)})
			var b bytes.Buffer
			folder := filepath.Join(dir, strconv.Itoa(class))
			if err := errors.Join(os.MkdirAll(folder, 0o755), png.Encode(&b, m),
				os.WriteFile(filepath.Join(folder, strconv.Itoa(i)+".png"), b.Bytes(), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var stdout bytes.Buffer
	stderr := cancelAt{word: advised[1].Name, cancel: cancel}
	root := newRoot(&stdout, &stderr)
	root.SetArgs([]string{"advise", dir, "--time", "1h"})
	if err := root.ExecuteContext(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	table, best, _ := strings.Cut(stdout.String(), "\n\n")
	if lines := strings.Split(table, "\n"); len(lines) != 1+len(advised) ||
		!strings.HasPrefix(lines[1], advised[0].Name) ||
		strings.Contains(lines[1], "no time") || strings.Count(table, "no time") != len(advised)-1 {
		t.Errorf("the table is\n%s", table)
	}
	if want := advised[0].Words; !strings.Contains(best, want+"\n") {
		t.Errorf("the best is %q, not %s", best, want)
	}
}
