//go:build !linux

package faulttest

// Arm does nothing where no process can be asked.
func Arm() {}
