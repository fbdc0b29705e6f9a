package tensorboard_test

import (
	"bytes"
	"errors"
	"flag"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ocl/interop/tensorboard"
	"ocl/interop/tensorboard/eventtest"
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
		if err := w.Scalar(loss, tensorboard.At{Step: int64(i + 1), Time: started.Add(time.Duration(i+1) * time.Second)}, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Image(tensorboard.Series{Tag: "confusion/by_task"}, tensorboard.At{Step: 1 << 40}, picture(t)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestFileHoldsWhatWasWritten: texts, places and values come back, sums are right, and a series is described once.
func TestFileHoldsWhatWasWritten(t *testing.T) {
	got, err := eventtest.Parse(small(t))
	if err != nil {
		t.Fatal(err)
	}
	at := float64(time.Date(2026, 11, 22, 10, 15, 30, 0, time.UTC).Unix()) + 0.25
	want := []eventtest.Event{
		{WallTime: at, Version: "brain.Event:2"},
		{WallTime: at + 1, Step: 1, Tag: "step/loss", Plugin: "scalars", Name: "loss", Help: "Mean loss.", Class: 1, Type: 1, Floats: []float32{2.5}},
		{WallTime: at + 2, Step: 2, Tag: "step/loss", Type: 1, Floats: []float32{-0.1}},
		{Step: 1 << 40, Tag: "confusion/by_task", Plugin: "images", Class: 3, Type: 7, Shape: []uint64{3},
			Strings: [][]byte{[]byte("2"), []byte("1"), picture(t)}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
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

// FuzzWriter checks that any texts, places and numbers come back.
func FuzzWriter(f *testing.F) {
	f.Add("step/loss", "loss", "Mean loss.", int64(3), int64(1_795_386_040_000_001), 0.25)
	f.Add("", "", "\x00", int64(-1), int64(-1), math.Inf(-1))
	f.Fuzz(func(t *testing.T, tag, name, help string, step, micros int64, v float64) {
		if !utf8.ValidString(tag) || !utf8.ValidString(name) || !utf8.ValidString(help) {
			return
		}
		at := time.UnixMicro(micros)
		var b bytes.Buffer
		w, err := tensorboard.NewWriter(&b, at)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Scalar(tensorboard.Series{Tag: tag, Name: name, Help: help}, tensorboard.At{Step: step, Time: at}, v); err != nil {
			t.Fatal(err)
		}
		got, err := eventtest.Parse(b.Bytes())
		if err != nil || len(got) != 2 {
			t.Fatalf("%d records, %v", len(got), err)
		}
		e := got[1]
		if e.Tag != tag || e.Name != name || e.Help != help || e.Step != step || e.WallTime != float64(micros)/1e6 && !at.IsZero() {
			t.Errorf("%+v", e)
		}
		if want := float32(v); len(e.Floats) != 1 || e.Floats[0] != want && !(math.IsNaN(v) && math.IsNaN(float64(e.Floats[0]))) {
			t.Errorf("value %v, want %v", e.Floats, want)
		}
	})
}
