// Package faulttest is for tests of what a process does with its files. It starts a process whose every change of the file
// system below some folders first asks the test, which lets it happen, lets it fail, or kills the process there. The
// process is the real one: nothing in it knows of the test, as the system asks (seccomp on Linux), and so libraries are
// asked too. Only tests use it. Start at [Run] and [Arm].
package faulttest
