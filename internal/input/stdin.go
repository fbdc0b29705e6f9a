package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ocl/internal/count"
)

// ErrSilent is wrapped by errors about a stream on which nothing comes.
var ErrSilent = errors.New("nothing came")

// Stream is r, such as standard input, with reads that end: when ctx does, with its error, and with [ErrSilent] after
// so much time without a byte. A read that was given up still waits in a goroutine, as nothing can end it, and no more
// may be read then.
func Stream(ctx context.Context, r io.Reader, silence time.Duration) io.Reader {
	return &stream{ctx, r, silence, make([]byte, 64<<10), nil, nil}
}

type stream struct {
	ctx     context.Context //nolint:containedctx // io.Reader takes none
	r       io.Reader
	silence time.Duration
	buf     []byte // which the goroutine fills
	rest    []byte // of it, not yet returned
	err     error
}

func (s *stream) Read(b []byte) (int, error) {
	if len(s.rest) == 0 && s.err == nil {
		s.fill()
	}
	if len(s.rest) == 0 {
		return 0, s.err
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *stream) fill() {
	type part struct {
		n   int
		err error
	}
	came := make(chan part, 1)
	go func() {
		n, err := s.r.Read(s.buf)
		came <- part{n, err}
	}()
	timer := time.NewTimer(s.silence)
	defer timer.Stop()
	select {
	case p := <-came:
		s.rest, s.err = s.buf[:p.n], p.err
	case <-s.ctx.Done():
		s.err = s.ctx.Err()
	case <-timer.C:
		s.err = fmt.Errorf("%w for %s", ErrSilent, count.Duration(s.silence.Seconds()))
	}
}
