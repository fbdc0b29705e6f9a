package input

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// TestStream: all bytes come through, in parts of any size, and the error behind them.
func TestStream(t *testing.T) {
	text := bytes.Repeat([]byte("abcdefg"), 30_000)
	for _, r := range []io.Reader{bytes.NewReader(text), iotest.OneByteReader(bytes.NewReader(text[:2000])),
		iotest.DataErrReader(bytes.NewReader(text))} {
		if err := iotest.TestReader(Stream(t.Context(), bytes.NewReader(text), time.Hour), text); err != nil {
			t.Error(err)
		}
		b, err := io.ReadAll(Stream(t.Context(), r, time.Hour))
		if err != nil || !bytes.HasPrefix(text, b) || len(b) < 2000 {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	}
	bad := errors.New("bad disk")
	if b, err := io.ReadAll(Stream(t.Context(), io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(bad)),
		time.Hour)); !errors.Is(err, bad) || string(b) != "abc" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestSilence: a stream on which nothing comes is given up after some time without a byte, and at once when the context
// ends.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := io.Pipe()
		defer to.Close()
		go func() {
			for range 5 { // slowly, but it comes
				time.Sleep(29 * time.Second)
				to.Write([]byte("slow "))
			}
		}()
		start := time.Now()
		b, err := io.ReadAll(Stream(t.Context(), from, 30*time.Second))
		if took := time.Since(start); !errors.Is(err, ErrSilent) || string(b) != "slow slow slow slow slow " ||
			took != 5*29*time.Second+30*time.Second {
			t.Errorf("%q, %v after %v", b, err, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		from, to := io.Pipe()
		defer to.Close()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := io.ReadAll(Stream(ctx, from, 30*time.Second))
		if took := time.Since(start); !errors.Is(err, context.Canceled) || took != time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}
