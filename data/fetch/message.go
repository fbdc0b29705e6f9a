package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"syscall"

	"ocl/internal/cause"
	"ocl/internal/count"
)

// errorf is an error of this file at its address.
func (f File) errorf(format string, args ...any) error {
	return fmt.Errorf("fetch: %s from %s: %w", f.Name, f.URL, fmt.Errorf(format, args...))
}

// stopped explains that ctx ended.
func (g *getter) stopped(ctx context.Context, f File, p *part) error {
	return f.errorf("stopped after %s: %w. Run the same command again: it continues with %s", p.soFar(f), context.Cause(ctx), g.path(f)+partSuffix)
}

// unwritten explains that the bytes of a file could not be kept.
func (g *getter) unwritten(f File, p *part, err error) error {
	if full(err) {
		return f.errorf("the disk is full after %s. Free space and run the same command again: it continues with %s",
			p.soFar(f), g.path(f)+partSuffix)
	}
	return unwritable(g.path(f)+partSuffix, err)
}

// unwritable explains that a file or a folder cannot be written.
func unwritable(path string, err error) error {
	if full(err) {
		return fmt.Errorf("fetch: %s: the disk is full. Free space, or use --data-dir with a folder on another disk", path)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("fetch: %s: you may not write here (%w). Change the permissions, or use --data-dir with a folder of your own", path, cause.Of(err))
	}
	return fmt.Errorf("fetch: %s: %w. Use --data-dir with a folder that can be written", path, cause.Of(err))
}

// full says whether a disk or a quota is full. Windows has numbers of its own, which package syscall does not name.
func full(err error) bool {
	const handleDiskFull, diskFull = syscall.Errno(39), syscall.Errno(112)
	if runtime.GOOS == "windows" && (errors.Is(err, handleDiskFull) || errors.Is(err, diskFull)) {
		return true
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// soFar says how much of a file is there: "1,000 of 168,513,733 bytes", or "1,000 bytes" if the whole is unknown.
func (p *part) soFar(f File) string {
	if total := p.total(f); total > 0 {
		return count.Number(p.size) + " of " + count.Of(total, "byte")
	}
	return count.Of(p.size, "byte")
}
