package kernel

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the bits of AVX2's kernels anew")

// bitsFile has the checksum of what each kernel writes: of AVX2, on whose bits committed results stand, and of the sets
// that must have the same bits.
const bitsFile = "testdata/bits.txt"

// drawn makes arrays of random numbers, which each call finds as they were made. It remembers the latest.
type drawn struct {
	src   *rand.Rand
	made  [][]float32
	made8 [][]float64
	was   [][]float32
	was8  [][]float64
}

// rare are values with rules of their own.
var rare = []float32{0, float32(math.Copysign(0, -1)), 1e-40, -1e-40, 1e18, -1e18}

// remembered is more arrays of a kind than any call has.
const remembered = 24

func (d *drawn) floats(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(d.src.NormFloat64())
		if d.src.IntN(16) == 0 {
			x[i] = rare[d.src.IntN(len(rare))]
		}
	}
	d.made, d.was = latest(d.made, x), latest(d.was, slices.Clone(x))
	return x
}

func (d *drawn) doubles(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = d.src.NormFloat64()
	}
	d.made8, d.was8 = latest(d.made8, x), latest(d.was8, slices.Clone(x))
	return x
}

func (d *drawn) table(values ...int32) []int32 { return values }

func latest[T any](all []T, x T) []T {
	all = append(all, x)
	return all[max(0, len(all)-remembered):]
}

// sum adds the bits of all arrays to a checksum, NaNs as one, and sets the arrays to what they were.
func (d *drawn) sum(old uint32) uint32 {
	var b []byte
	for i, x := range d.made {
		for _, v := range x {
			if v != v {
				v = float32(math.NaN())
			}
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		copy(x, d.was[i])
	}
	for i, x := range d.made8 {
		for _, v := range x {
			if v != v {
				v = math.NaN()
			}
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		copy(x, d.was8[i])
	}
	return crc32.Update(old, crc32.IEEETable, b)
}

// TestBits: AVX2, and NEON on another processor, give the bits that are on file.
func TestBits(t *testing.T) {
	want := map[string]string{}
	text, err := os.ReadFile(bitsFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		kernel, bits, _ := strings.Cut(strings.TrimSpace(line), "\t")
		want[kernel] = bits
	}
	tried := false
	for _, s := range Available() {
		if s.isa != avx2 && s.isa != neon {
			continue
		}
		tried = true
		t.Run(s.Name, func(t *testing.T) {
			got := map[string]string{}
			for family, calls := range kernelCalls {
				sums := map[string]uint32{}
				d := &drawn{src: rand.New(rand.NewPCG(1, 2))}
				calls(s, d, func(what string, do func()) {
					do()
					kernel := family + ": " + strings.TrimRight(what[:strings.IndexAny(what+"0", "0123456789[")], " ,")
					sums[kernel] = d.sum(sums[kernel])
				})
				for kernel, sum := range sums {
					got[kernel] = fmt.Sprintf("%08x", sum)
				}
			}
			if *update {
				var b strings.Builder
				for _, kernel := range slices.Sorted(maps.Keys(got)) {
					fmt.Fprintf(&b, "%s\t%s\n", kernel, got[kernel])
				}
				if err := os.WriteFile(bitsFile, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(got) != len(want) {
				t.Errorf("%d kernels, and %d on file", len(got), len(want))
			}
			for _, kernel := range slices.Sorted(maps.Keys(got)) {
				if got[kernel] != want[kernel] {
					t.Errorf("%s: bits %s, and %q on file", kernel, got[kernel], want[kernel])
				}
			}
		})
	}
	if !tried {
		t.Skip("no kernels here have bits on file: they are AVX2's, which NEON has too")
	}
}
