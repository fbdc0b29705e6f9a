package rng

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

// TestNormal: draws are those of math/rand/v2 on amd64. Their hash is from there.
func TestNormal(t *testing.T) {
	own, std := New(1, "x"), New(1, "x")
	h, same := sha256.New(), asOnAMD64
	for i := range 2_000_000 {
		x := own.NormFloat64()
		h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
		if want := std.Rand.NormFloat64(); same && x != want {
			t.Fatalf("draw %d is %v, and math/rand/v2 draws %v", i, x, want)
		}
	}
	if got := fmt.Sprintf("%x", h.Sum(nil)[:8]); got != "df453d567efff0f9" {
		t.Errorf("the hash of the draws is %s", got)
	}
}
