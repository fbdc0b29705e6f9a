//go:build ignore

// Command init is process 1 of the emulated machine of emulate.sh: it runs /test with the arguments in /args and says on the
// serial console how it ended.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

func main() {
	for _, m := range [][2]string{{"proc", "/proc"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}} {
		if err := syscall.Mount(m[0], m[1], m[0], 0, ""); err != nil {
			fmt.Println("mount", m[1], err)
		}
	}
	args, err := os.ReadFile("/args")
	if err == nil {
		c := exec.Command("/test", strings.Fields(string(args))...)
		c.Dir, c.Stdout, c.Stderr = "/dir", os.Stdout, os.Stderr
		c.Env = []string{"OCL_KERNEL=avx512", "HOME=/tmp", "TMPDIR=/tmp"}
		err = c.Run()
	}
	fmt.Printf("\nEMULATED %v\n", err)
	time.Sleep(time.Second) // the serial port is slow
	if err := syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Println("power off:", err)
	}
	select {}
}
