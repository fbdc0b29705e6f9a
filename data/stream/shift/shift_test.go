package shift

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ocl/rng"
)

// pixel is the byte p of image i of the made-up tasks, which testdata/golden.py has too.
func pixel(i, p int) uint8 { return uint8((i*i*5 + i*83 + p*p*7 + p*29 + i*p*13) % 251) }

// made is a task of n made-up images, none of which has a white pixel; image i has the index 10·i+3.
func made(shape [3]int, n int) Task {
	t := Task{Shape: shape, N: n, Index: func(i int) int { return 10*i + 3 }}
	t.At = func(i int, buf []uint8) ([]uint8, error) {
		for p := range buf {
			buf[p] = pixel(i, p)
		}
		return buf, nil
	}
	return t
}

// apply is Apply, for the training half unless o says otherwise, without an error.
func apply(t *testing.T, task Task, steps []Step, o Options) [][]uint8 {
	t.Helper()
	if o.Half == "" {
		o.Half = Train
	}
	m, err := Apply(t.Context(), task, steps, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// exact returns the values that apply rounds.
func exact(t *testing.T, task Task, steps []Step, o Options) [][]float32 {
	t.Helper()
	if o.Half == "" {
		o.Half = Train
	}
	images, read := make([][]float32, task.N), task.reader(steps, o, 0)
	for i := range images {
		images[i] = make([]float32, task.size())
		if err := read(images[i], i); err != nil {
			t.Fatal(err)
		}
		for p, v := range images[i] {
			images[i][p] = min(v, 1) // a blur may round up
		}
	}
	return images
}

// with sets GOMAXPROCS while f runs.
func with(workers int, f func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
	f()
}

// everything has each kind, the blur in the middle.
var everything = []Step{{"occlusion", 0.4}, {"blur", 0.83}, {"noise", 1.2}}

// TestStrengthZeroChangesNoBit holds alone, for all kinds together, and beside a step that changes something.
func TestStrengthZeroChangesNoBit(t *testing.T) {
	task := made([3]int{3, 16, 16}, 9)
	task.At = func(_ int, buf []uint8) ([]uint8, error) {
		for p := range buf {
			buf[p] = uint8(p) // each value
		}
		return buf, nil
	}
	o := Options{PerImage: true, CrossImage: true}
	zero := []Step{{"blur", 0}, {"noise", 0}, {"occlusion", 0}}
	for _, steps := range [][]Step{nil, zero[:1], zero[1:2], zero[2:], zero} {
		m := apply(t, task, steps, o)
		for i := range task.N {
			if want, _ := task.At(i, make([]uint8, task.size())); !bytes.Equal(m[i], want) {
				t.Errorf("image %d has changed after %v", i, steps)
			}
		}
	}
	one := apply(t, task, []Step{{"noise", 1}}, o)
	two := apply(t, task, []Step{{"blur", 0}, {"noise", 1}, {"occlusion", 0}}, o)
	if !slices.EqualFunc(one, two, bytes.Equal) {
		t.Error("steps of strength 0 change what noise does")
	}
}

// TestWorkersDoNotMatter compares numbers of workers, for the blur across images with fewer and with more images than
// the Gaussian covers.
func TestWorkersDoNotMatter(t *testing.T) {
	for _, n := range []int{0, 1, 5, 40} {
		for _, across := range []bool{false, true} {
			var want [][]uint8
			for _, workers := range []int{1, 2, 3, 7, 64} {
				with(workers, func() {
					got := apply(t, made([3]int{2, 10, 8}, n), everything, Options{CrossImage: across, PerImage: true})
					if workers == 1 {
						want = got
					}
					if !slices.EqualFunc(got, want, bytes.Equal) {
						t.Errorf("%d images, across images %v: %d workers give other bytes than 1", n, across, workers)
					}
				})
			}
		}
	}
}

// TestOrderOfImagesMattersOnlyAcrossImages starts a task in its middle.
func TestOrderOfImagesMattersOnlyAcrossImages(t *testing.T) {
	task := made([3]int{3, 10, 8}, 12)
	turned := task
	turned.Index = func(i int) int { return task.Index((i + 5) % task.N) }
	turned.At = func(i int, buf []uint8) ([]uint8, error) { return task.At((i+5)%task.N, buf) }
	for _, across := range []bool{false, true} {
		o := Options{PerImage: true, CrossImage: across}
		want, got := apply(t, task, everything, o), apply(t, turned, everything, o)
		if same := slices.EqualFunc(got, slices.Concat(want[5:], want[:5]), bytes.Equal); same == across {
			t.Errorf("across images %v: the images are the same in another order: %v", across, same)
		}
	}
}

// TestStepsFollowTheGivenOrder compares a chain with its steps one by one, and with the noise added by hand. Bytes are
// the rounded values at the end of the whole chain.
func TestStepsFollowTheGivenOrder(t *testing.T) {
	task := made([3]int{3, 12, 9}, 30)
	for _, across := range []bool{false, true} {
		o := Options{PerImage: true, CrossImage: across, Seed: 7}
		covered := task
		first := apply(t, task, everything[:1], o)
		covered.At = func(i int, _ []uint8) ([]uint8, error) { return first[i], nil }
		rounded := apply(t, task, everything, o)
		second := exact(t, covered, everything[1:2], o)
		got := exact(t, task, everything, o)
		for i := range task.N {
			src := rng.New(7, fmt.Sprintf("shift/noise/train/%d", 10*i+3))
			for p, v := range second[i] {
				want := min(max(float64(v)+0.12*normal(src), 0), 1)
				if v := float64(got[i][p]); !(math.Abs(v-want) <= 1e-6) {
					t.Fatalf("across images %v: image %d, value %d is %v, want %v", across, i, p, v, want)
				}
				if v := float64(rounded[i][p]); !(math.Abs(v-want*255) <= 0.5001) {
					t.Fatalf("across images %v: image %d, byte %d is %v, want %v rounded", across, i, p, v, want*255)
				}
			}
		}
	}
	turned := apply(t, task, []Step{everything[1], everything[0]}, Options{PerImage: true})
	blurred := apply(t, task, everything[1:2], Options{})
	for i := range task.N {
		white := 0
		for p, v := range turned[i] {
			if v == 255 {
				white++
			} else if v != blurred[i][p] {
				t.Fatalf("image %d, byte %d: %d, want the square, painted after the blur, to leave %d", i, p, v, blurred[i][p])
			}
		}
		if side := OcclusionSide(0.4, 9); white != 3*side*side {
			t.Errorf("image %d has %d white values, want those of a square painted after the blur, %d", i, white, 3*side*side)
		}
	}
}

// TestBitsAreTheSameOnEveryMachine pins the float32 results of all kinds and the float64 tables of the noise.
func TestBitsAreTheSameOnEveryMachine(t *testing.T) {
	const want = "a54fd1df12833637573f53529310e0fc7a86561ac4ebd7d21854d8efb1f47042"
	h := sha256.New()
	task := made([3]int{3, 20, 16}, 12)
	for i, most := range []float64{100, 100, 1} {
		k := Kinds()[i]
		for _, f := range append(Strengths(k), most) {
			for _, across := range []bool{false, true} {
				for _, x := range exact(t, task, []Step{{k, f}}, Options{PerImage: true, CrossImage: across, Seed: 3}) {
					binary.Write(h, binary.LittleEndian, x)
				}
			}
		}
	}
	for _, x := range [][]float64{ziggurat.x[:], ziggurat.f[:]} {
		binary.Write(h, binary.LittleEndian, x)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("the digest is %s, want %s", got, want)
	}
}

// TestNothingIsFused reads the assembly for arm64, where Go fuses each product that is added without a conversion
// between.
func TestNothingIsFused(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the package and what it imports for arm64")
	}
	build := exec.Command("go", "build", "-gcflags=-S", ".")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("FMULS")) {
		t.Fatalf("%v: there is no float32 product in the assembly:\n%.2000s", err, out)
	}
	for _, line := range regexp.MustCompile(`(?m)^.*\bFN?M(?:ADD|SUB)[SD]\b.*$`).FindAll(out, -1) {
		t.Errorf("a fused operation: %s. Write an explicit conversion around the product", line)
	}
}

// TestImagesOfTheTaskStayAsTheyAre gives out memory that Apply must not write to.
func TestImagesOfTheTaskStayAsTheyAre(t *testing.T) {
	task := made([3]int{3, 8, 8}, 1)
	image, _ := task.At(0, make([]uint8, task.size()))
	before := slices.Clone(image)
	task.At = func(int, []uint8) ([]uint8, error) { return image, nil }
	apply(t, task, everything, Options{})
	if !bytes.Equal(image, before) {
		t.Error("Apply has changed an image of the task")
	}
}

// TestApplyFails: an image that cannot be read, or has another size, is named.
func TestApplyFails(t *testing.T) {
	lost := errors.New("the disk is gone")
	short, failing := made([3]int{3, 8, 8}, 20), made([3]int{3, 8, 8}, 20)
	short.At = func(_ int, buf []uint8) ([]uint8, error) { return buf[:5], nil }
	failing.At = func(i int, buf []uint8) ([]uint8, error) {
		if i == 4 {
			return nil, lost
		}
		return buf, nil
	}
	if _, err := Apply(t.Context(), short, nil, Options{Half: Train}); err == nil ||
		!strings.Contains(err.Error(), "has 5 bytes, but the shape [3 8 8] has 192") {
		t.Errorf("a short image: %v", err)
	}
	for _, steps := range [][]Step{nil, {{"blur", 2}}} {
		m, err := Apply(t.Context(), failing, steps, Options{Half: Train, CrossImage: true})
		if m != nil || !errors.Is(err, lost) || !strings.Contains(err.Error(), "shift: image 43: the disk is gone") {
			t.Errorf("%v: got %v", steps, err)
		}
	}
}

// TestApplyEndsWithItsContext wants the cause, and no image to be read after ctx has ended.
func TestApplyEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	read := 0
	task := made([3]int{1, 4, 4}, 1000)
	task.At = func(_ int, buf []uint8) ([]uint8, error) {
		if read++; read == 10 {
			cancel(stopped)
		}
		return buf, nil
	}
	with(1, func() {
		if _, err := Apply(ctx, task, nil, Options{Half: Train}); !errors.Is(err, stopped) {
			t.Errorf("got %v, want the cause %v", err, stopped)
		}
	})
	if read != 10 {
		t.Errorf("%d images are read, want the 10 before the end", read)
	}
}
