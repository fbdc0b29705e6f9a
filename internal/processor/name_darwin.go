package processor

import "golang.org/x/sys/unix"

// name is such as "Apple M2".
func name() string {
	brand, _ := unix.Sysctl("machdep.cpu.brand_string")
	return brand
}
