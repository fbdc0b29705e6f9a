//go:build !unix

package backbone

import "errors"

func makePipe(string) error { return errors.ErrUnsupported }
