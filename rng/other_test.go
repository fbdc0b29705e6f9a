//go:build !amd64 || amd64.v3

package rng

const asOnAMD64 = false
