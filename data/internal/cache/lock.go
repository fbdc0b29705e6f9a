package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockSuffix = ".lock"
	// retryLock is the time between two attempts to lock.
	retryLock = 20 * time.Millisecond
)

// errBusy says that another builder holds the lock of a key.
var errBusy = errors.New("another ocl is building it")

// keyLock is held while the file of one key is built or removed. The system releases it when the process ends.
type keyLock struct{ file *flock.Flock }

func newLock(dir, key string) *keyLock {
	// Network file systems that make flock out of byte ranges want a file opened for writing.
	path := filepath.Join(dir, "."+key+lockSuffix)
	return &keyLock{flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))}
}

// lockKey waits until no other goroutine or process holds the lock, or until ctx ends.
func lockKey(ctx context.Context, dir, key string) (*keyLock, error) {
	l := newLock(dir, key)
	for {
		err := l.try()
		if !errors.Is(err, errBusy) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another ocl that builds it: %w", ctx.Err())
		case <-time.After(retryLock):
		}
	}
}

// try locks at once, or returns errBusy. As release removes the lock file, a file that was locked may have lost its name
// meanwhile; it is then no lock.
func (l *keyLock) try() error {
	locked, err := l.file.TryLock()
	if err != nil {
		return fmt.Errorf("its lock cannot be had: %w", err)
	}
	if !locked {
		return errBusy
	}
	held, err := l.file.Stat()
	named, gone := os.Stat(l.file.Path())
	if err != nil || gone != nil || !os.SameFile(held, named) {
		return errors.Join(errBusy, l.file.Close())
	}
	return nil
}

// release removes the lock file and unlocks. It removes the name while it holds the lock, so that it never removes the
// lock of another builder. Windows removes no open file, neither ours now nor that of another builder afterwards.
func (l *keyLock) release() {
	err := os.Remove(l.file.Path())
	_ = l.file.Close() // otherwise the end of the process releases it
	if err != nil && runtime.GOOS == "windows" {
		_ = os.Remove(l.file.Path()) // an empty file that stays does no harm
	}
}
