//go:build amd64 && !amd64.v3

package rng

// asOnAMD64 says whether math/rand/v2 draws here what this package copies. With GOAMD64=v3 it is fused.
const asOnAMD64 = true
