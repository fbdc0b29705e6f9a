package cache

import "golang.org/x/sys/windows"

// freeSpace is the room on the disk of a folder, in bytes, and whether it is known.
func freeSpace(dir string) (float64, bool) {
	var free uint64
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil || windows.GetDiskFreeSpaceEx(name, &free, nil, nil) != nil {
		return 0, false
	}
	return float64(free), true
}
