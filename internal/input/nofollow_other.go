//go:build !unix

package input

// noFollow is not there; looking at the file before it is opened has to do.
const noFollow = 0
