//go:build !amd64.v3

package portable

// asOnAMD64 says whether package math has the values that this package copies. With GOAMD64=v3 its functions are fused.
var asOnAMD64 = nativeExp
