//go:build !unix

package input

import "errors"

func makePipe(string) error { return errors.ErrUnsupported }
