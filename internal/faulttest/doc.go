// Package faulttest tests what a process does with its files. It starts a process and stops it before each change of
// the file system below some folders. The test then lets the change happen, makes it fail, or kills the process. The
// operating system stops the process (seccomp on Linux), so the program needs no code for it, and calls of libraries
// are stopped too. Only tests use it. Start at [Run] and [Arm].
package faulttest
