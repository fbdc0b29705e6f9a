//go:build !unix && !windows

package cache

import (
	"errors"
	"os"
)

// mapFile maps nothing here: images are read into the caller's buffer.
func mapFile(*os.File, int) ([]byte, func() error, error) { return nil, nil, errors.ErrUnsupported }
