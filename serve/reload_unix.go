//go:build unix

package serve

import (
	"os"
	"os/signal"
	"syscall"
)

// onReload tells of each SIGHUP, until stop is called.
func onReload() (asked <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() {
		signal.Stop(c)
		close(c)
	}
}
