//go:build unix

package input

import "syscall"

func makePipe(path string) error { return syscall.Mkfifo(path, 0o600) }
