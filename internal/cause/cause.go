// Package cause shortens errors of files for messages that name the file already.
package cause

import (
	"errors"
	"io/fs"
	"os"
)

// Of returns the system's error about a file, without the operation and the path. Other errors are returned unchanged.
func Of(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}
