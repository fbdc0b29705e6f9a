package tensorboard_test

import (
	"bytes"
	"errors"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ocl/interop/tensorboard"
)

var update = flag.Bool("update", false, "write the golden files")

// picture is a PNG of 2 by 1 pixels.
func picture(t testing.TB) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 2, 1))
	m.SetGray(1, 0, color.Gray{Y: 255})
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// small is a file with two scalars of one series and an image.
func small(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	started := time.Date(2026, 11, 22, 10, 15, 30, 250_000_000, time.UTC)
	w, err := tensorboard.NewWriter(&b, started)
	if err != nil {
		t.Fatal(err)
	}
	loss := tensorboard.Series{Tag: "step/loss", Name: "loss", Help: "Mean loss."}
	for i, v := range []float64{2.5, -0.1} {
		if err := w.Scalar(loss, tensorboard.At{Step: int64(i + 1), Time: started.Add(time.Duration(i+1) * time.Second)},
			v); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Image(tensorboard.Series{Tag: "confusion/by_task"}, tensorboard.At{Step: 1 << 40},
		picture(t)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestFileIsTheGoldenOne compares the bytes with a file that TensorBoard has read (testdata/check.py).
func TestFileIsTheGoldenOne(t *testing.T) {
	path := filepath.Join("testdata", "small.tfevents")
	got := small(t)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the file is %d bytes\n%q\nwant %d\n%q", len(got), got, len(want), want)
	}
}

func TestImageMustBePNG(t *testing.T) {
	w, err := tensorboard.NewWriter(&bytes.Buffer{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Image(tensorboard.Series{Tag: "confusion"}, tensorboard.At{}, []byte("GIF89a"))
	if err == nil || !strings.Contains(err.Error(), "tensorboard: confusion: the image is not a PNG file") {
		t.Errorf("error is %v", err)
	}
}

// full is a disk without room.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestErrorsOfTheDiskAreTold(t *testing.T) {
	w, err := tensorboard.NewWriter(full{}, time.Time{})
	if !errors.Is(err, errFull) {
		t.Errorf("error at the beginning is %v", err)
	}
	if err := w.Scalar(tensorboard.Series{Tag: "a"}, tensorboard.At{}, 1); !errors.Is(err, errFull) {
		t.Errorf("error of a scalar is %v", err)
	}
}
