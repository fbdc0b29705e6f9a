//go:build !linux

package largepages

func advise(_, _ uintptr) {}
