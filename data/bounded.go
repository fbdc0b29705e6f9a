package data

import (
	"context"
	"io"
)

// until is a file that is read until ctx ends.
type until struct {
	ctx context.Context
	io.Reader
}

func (u until) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(b)
}

// untilAt is until for reading anywhere.
type untilAt struct {
	ctx context.Context
	io.ReaderAt
}

func (u untilAt) ReadAt(b []byte, at int64) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.ReaderAt.ReadAt(b, at)
}

// bounded reads left bytes, and then fails with err.
type bounded struct {
	r    io.Reader
	left int64
	err  error
}

func (r *bounded) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, r.err
	}
	n, err := r.r.Read(b[:min(int64(len(b)), r.left)])
	r.left -= int64(n)
	return n, err
}
