// Package cause shortens errors of files for messages that name the file already.
package cause

import (
	"errors"
	"io/fs"
	"os"
)

// Of is what the system said of a file, without the operation and the path. Other errors stay as they are.
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
