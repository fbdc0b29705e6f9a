//go:build !unix

package serve

import "os"

// onReload tells of nothing: there is no SIGHUP here. A restart reads the files again.
func onReload() (asked <-chan os.Signal, stop func()) {
	c := make(chan os.Signal)
	return c, func() { close(c) }
}
