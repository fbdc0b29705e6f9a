//go:build !linux && !darwin

package cache

// freeSpace is not known here; a full disk is found when it is full.
func freeSpace(string) (float64, bool) { return 0, false }
