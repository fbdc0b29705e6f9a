package daemon

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ocl/checkpoint"
)

// filed are pictures that came as files, with the pixels that the daemon makes of them.
func filed(t *testing.T, d *Daemon, from, n int) (list []Sample) {
	t.Helper()
	for i := from; i < from+n; i++ {
		s := Sample{ID: fmt.Sprintf("id-%d", i), Label: fmt.Sprintf("class %d", i%3), Pixels: make([]byte, 3*side*side),
			File: fileOf(rand.New(rand.NewPCG(7, uint64(i))))}
		if err := d.Decode(t.Context(), s.File, s.Pixels); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// bare are samples without their files.
func bare(list []Sample) (all []Sample) {
	for _, s := range list {
		s.File = nil
		all = append(all, s)
	}
	return all
}

// TestKeepsFiles: what came as a small file is kept as that file, and the learner is as if its pixels had come, also
// after a kill, a correction and a deletion.
func TestKeepsFiles(t *testing.T) {
	for _, method := range []string{"er", "ncm"} {
		t.Run(method, func(t *testing.T) {
			weights := [2][]byte{}
			for i := range weights {
				dir, o := t.TempDir(), small()
				if method != "er" {
					o = sums(method)
				}
				o.Retain = true
				d := open(t, dir, o)
				list := filed(t, d, 0, 25)
				send := list
				if i == 1 {
					send = bare(list)
				}
				learn(t, d, send[:20])
				applied(t, d)
				// the id is that of the pixels
				if again, err := d.Learn(t.Context(), bare(send[:1]), "x"); err != nil || again[0].State != StateLearned {
					t.Errorf("%v, %v", again, err)
				}
				if r, err := d.Label(t.Context(), "id-3", "class 1", ""); err != nil || method == "ncm" && r.Undoes != UndoesAll {
					t.Errorf("%+v, %v", r, err)
				}
				if f, err := d.Forget(t.Context(), Which{Digest: Digest(list[4].Pixels)}, ""); err != nil || f.Matched != 1 ||
					method == "ncm" && f.Undone != 1 {
					t.Errorf("%+v, %v", f, err)
				}
				if found, err := holds(dir, append(bytes.Clone(send[4].File), send[4].Pixels[len(send[4].File):]...)); err != nil ||
					found {
					t.Errorf("%v, %v", found, err)
				}
				learn(t, d, send[20:])
				if i == 0 {
					for _, s := range list[20:] {
						if p, err := d.Pixels(t.Context(), s.ID); err != nil || p != nil && !bytes.Equal(p, s.Pixels) {
							t.Errorf("%s: other pixels, %v", s.ID, err)
						}
					}
				}
				applied(t, d)
				d = open(t, crashed(t, dir), o) // reads the files
				if i == 0 {
					if found, err := holds(dir, list[7].File); err != nil || !found {
						t.Errorf("the file is not kept: %v", err)
					}
					if found, err := holds(dir, list[7].Pixels); err != nil || found != (method == "er") { // whose memory has them
						t.Errorf("the pixels are kept: %v", err)
					}
				}
				var c *checkpoint.Container
				var err error
				between(d, func() { c, err = d.trainer.Weights() })
				if err != nil {
					t.Fatal(err)
				}
				var b bytes.Buffer
				if _, err := c.WriteTo(&b); err != nil {
					t.Fatal(err)
				}
				weights[i] = b.Bytes()
			}
			if !bytes.Equal(weights[0], weights[1]) {
				t.Error("files and pixels make other weights")
			}
		})
	}
}

// TestKeepsWhatIsSmaller: a file that is larger than half of its pixels is not kept.
func TestKeepsWhatIsSmaller(t *testing.T) {
	d := open(t, t.TempDir(), small())
	pixels := picture(1, 1)
	for size, want := range map[int]int{0: len(pixels), 1: 1, len(pixels) / 2: len(pixels) / 2,
		len(pixels)/2 + 1: len(pixels), 3 * len(pixels): len(pixels)} {
		if a, err := d.arrives(pixels, make([]byte, size)); err != nil || len(a.kept) != want ||
			(a.pixels != nil) != (want < len(pixels)) {
			t.Errorf("a file of %d bytes: %d are kept, %v", size, len(a.kept), err)
		}
	}
}

// TestPictureThatIsReadNoMore: a start that cannot read a picture, which another program has taken, leaves it out and
// goes on.
func TestPictureThatIsReadNoMore(t *testing.T) {
	dir, o := t.TempDir(), small()
	d := open(t, dir, o)
	list := filed(t, d, 0, 5)
	list[2].File = []byte("no picture any more")
	hold, free := make(chan struct{}), make(chan struct{})
	go func() { d.between <- func() { close(hold); <-free } }()
	<-hold
	learn(t, d, list)
	killed := crashed(t, dir)
	close(free)
	applied(t, d)
	if n := d.trainer.Stats().Images; n != 5 { // their pixels came with them
		t.Errorf("%d were learned", n)
	}
	d = open(t, killed, o)
	applied(t, d)
	if n := d.trainer.Stats().Images; n != 4 {
		t.Errorf("%d were learned", n)
	}
}

// TestSnapshotOfWhatIsRemembered: pictures that are remembered make snapshots too, so that the journal does not grow
// without end where nothing is learned.
func TestSnapshotOfWhatIsRemembered(t *testing.T) {
	dir, o := t.TempDir(), small()
	o.Remember.Count, o.SnapshotEvery, o.SnapshotBytes = 4, time.Hour, 4096
	d := open(t, dir, o)
	for i := range 1000 {
		if _, err := d.Remember(context.Background(), []Remembered{{ID: fmt.Sprint(i), Pixels: picture(i%3, i)}},
			""); err != nil {
			t.Fatal(err)
		}
	}
	end(t, d)
	numbers, err := d.files.Numbers()
	if err != nil || len(numbers) < 2 || numbers[0] == 0 {
		t.Errorf("%v, %v", numbers, err)
	}
}
