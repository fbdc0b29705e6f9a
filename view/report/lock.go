package report

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"ocl/internal/cause"
	"ocl/internal/input"
)

// LockFile is the file in a report's folder that a process locks while it writes a report there. It is empty and is
// not removed: otherwise two processes could lock two files of this name.
const LockFile = ".report.lock"

// lockPatience is the longest time that a report waits for another report in its folder. A large report takes seconds.
const lockPatience = time.Minute

// lock locks the folder of a report, so that its files are all of one report. It waits for another process, or another
// call in this one, that holds the lock, and says whether it had to. The system takes the lock back when the process
// ends.
func lock(ctx context.Context, out string, patience time.Duration) (unlock func(), waited bool, err error) {
	path := filepath.Join(out, LockFile)
	file, err := input.NewLock(path)
	if err != nil {
		return nil, false, fmt.Errorf("report: %w. Remove it, or use another folder with \"--out DIR\"", err)
	}
	locked, err := file.TryLock()
	if err == nil && !locked {
		waited = true
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, err = file.TryLockContext(ctx, 20*time.Millisecond)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return nil, waited, errors.Join(err, file.Close())
	case errors.Is(err, context.DeadlineExceeded):
		_ = file.Close()
		return nil, waited, fmt.Errorf("report: %s: another process has been writing a report there for %s (it holds %s). "+
			"Wait until it has ended, or use another folder with \"--out DIR\"", out, patience, LockFile)
	case err != nil:
		_ = file.Close()
		return nil, waited, fmt.Errorf("report: %s cannot be locked (%w). Use a folder on a disk that supports locks, with \"--out DIR\"",
			path, cause.Of(err))
	}
	return func() { _ = file.Close() }, waited, nil // the end of the process unlocks it if this cannot
}
