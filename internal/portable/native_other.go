//go:build !amd64

package portable

const nativeExp, nativeLog = false, false
