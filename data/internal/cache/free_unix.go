//go:build linux || darwin

package cache

import "golang.org/x/sys/unix"

// freeSpace is the room on the disk of a folder, in bytes, and whether it is known.
func freeSpace(dir string) (float64, bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, false
	}
	return float64(s.Bavail) * float64(s.Bsize), true
}
