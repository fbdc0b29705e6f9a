package cause

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOf: what the system said comes without the path, also from below other errors, and any other error as it is.
func TestOf(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	_, opened := os.Open(missing)
	plain := errors.New("not of a file")
	for _, x := range []struct{ err, want error }{
		{opened, syscall.ENOENT},
		{fmt.Errorf("above: %w", opened), syscall.ENOENT},
		{os.Rename(missing, missing+"2"), syscall.ENOENT},
		{plain, plain},
		{nil, nil},
	} {
		if got := Of(x.err); !errors.Is(got, x.want) || (got != nil && got.Error() != x.want.Error()) {
			t.Errorf("%v gives %v, want %v", x.err, got, x.want)
		}
	}
}
