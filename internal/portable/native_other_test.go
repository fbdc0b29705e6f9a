//go:build !amd64 || amd64.v3

package portable

const asOnAMD64 = false
