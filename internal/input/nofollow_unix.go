//go:build unix

package input

import "syscall"

// noFollow lets opening a symbolic link fail.
const noFollow = syscall.O_NOFOLLOW
