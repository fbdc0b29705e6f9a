package stream

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ocl"
)

func mustOffline(t *testing.T, o Options, epochs, batch int, dropLast bool) *Offline {
	t.Helper()
	view, err := mustSplit(t, tiny(12, 5, 2), o).Offline(epochs, batch, dropLast)
	if err != nil {
		t.Fatal(err)
	}
	return view
}

// TestOfflineShowsAllTasks: with the last task every epoch delivers every image of every task once, in an order of its
// own in which tasks are mixed; the description and the test sets stay those of the stream.
func TestOfflineShowsAllTasks(t *testing.T) {
	o := Options{Tasks: 4, Batch: 3, Seed: 3}
	plain, view := mustSplit(t, tiny(12, 5, 2), o), mustOffline(t, o, 3, 8, false)
	if view.Start() != 3 || view.Batches(3) != 24 || view.Batches(0) != 0 || view.Info().Batch != 8 || plain.Start() != 0 {
		t.Errorf("starts at %d with %d batches of %d; want task 3 with 3 epochs of 8", view.Start(), view.Batches(3),
			view.Info().Batch)
	}
	for i, task := range plain.Info().Tasks {
		got := view.Info().Tasks[i]
		if !slices.Equal(got.Classes, task.Classes) || got.Train != task.Train || got.Test != task.Test {
			t.Errorf("task %d: %+v, want %+v", i, got, task)
		}
		want, _, _ := drain(t, plain.Test(i))
		if images, _, _ := drain(t, view.Test(i)); !slices.Equal(images, want) {
			t.Errorf("test set %d: %v, want %v", i, images, want)
		}
	}
	all, labels, sizes := drain(t, view.Train(3))
	if len(all) != 180 || !slices.Equal(sizes[:8], []int{8, 8, 8, 8, 8, 8, 8, 4}) || len(sizes) != 24 {
		t.Fatalf("%d images in batches of %v", len(all), sizes)
	}
	for i, p := range all {
		if labels[i] != p%12 {
			t.Fatalf("image %d has label %d", p, labels[i])
		}
	}
	for epoch := range 3 {
		part := all[60*epoch : 60*epoch+60]
		if epoch > 0 && slices.Equal(part, all[:60]) {
			t.Errorf("epoch %d repeats the order of the first", epoch)
		}
		sorted := slices.Clone(part)
		slices.Sort(sorted)
		for i, p := range sorted {
			if p != i {
				t.Fatalf("epoch %d delivers %v, want every image once", epoch, sorted)
			}
		}
		inFirst := map[int]bool{}
		for _, p := range part[:15] {
			inFirst[p%12] = true
		}
		if len(inFirst) <= 3 {
			t.Errorf("epoch %d begins with classes %v of one task", epoch, inFirst)
		}
	}
}

// TestOfflineIsDeliveredOnce: the view keeps the rule of the single pass.
func TestOfflineIsDeliveredOnce(t *testing.T) {
	view := mustOffline(t, Options{Tasks: 4, Batch: 3}, 2, 8, false)
	drain(t, view.Train(3))
	for task := range 4 {
		for b, err := range view.Train(task) {
			if !errors.Is(err, ocl.ErrConsumed) || b.Len() > 0 {
				t.Errorf("task %d after the view was delivered: %d rows, error %v", task, b.Len(), err)
			}
		}
	}
	if err := view.Seek(3, 1); !errors.Is(err, ocl.ErrConsumed) {
		t.Errorf("seeking back: error %v", err)
	}
}

// TestOfflineSeek: from any batch on the view is the rest of the whole.
func TestOfflineSeek(t *testing.T) {
	o := Options{Tasks: 3, Batch: 3, Seed: 5}
	whole := mustOffline(t, o, 3, 8, true)
	var pixels [][]float32
	for b, err := range whole.Train(2) {
		if err != nil || b.Len() != 8 {
			t.Fatal(b.Len(), err)
		}
		pixels = append(pixels, slices.Clone(b.X.Data))
	}
	if len(pixels) != 21 { // 7 whole batches of 60 images
		t.Fatalf("%d batches", len(pixels))
	}
	for _, at := range []int{0, 1, 7, 13, 20, 21} {
		view := mustOffline(t, o, 3, 8, true)
		if err := view.Seek(2, at); err != nil {
			t.Fatal(err)
		}
		i := at
		for b, err := range view.Train(2) {
			if err != nil || !slices.Equal(b.X.Data, pixels[i]) {
				t.Fatalf("from batch %d: batch %d differs (%v)", at, i, err)
			}
			i++
		}
		if i != 21 {
			t.Errorf("from batch %d: ends at %d", at, i)
		}
	}
	view := mustOffline(t, o, 3, 8, true)
	for _, bad := range [][2]int{{0, 0}, {1, 0}, {2, 22}, {2, -1}, {3, 1}, {4, 0}} {
		if err := view.Seek(bad[0], bad[1]); err == nil || !strings.Contains(err.Error(), "is outside") {
			t.Errorf("seek %v: error %v", bad, err)
		}
	}
	if err := view.Seek(3, 0); err != nil {
		t.Error(err)
	}
}

// TestOfflineKeepsTheProtocolsTasks: what a protocol leaves out is in no epoch.
func TestOfflineKeepsTheProtocolsTasks(t *testing.T) {
	view := mustOffline(t, Options{Tasks: 4, Batch: 3, Order: Given, Keep: Range{2, 4}}, 1, 100, false)
	images, labels, sizes := drain(t, view.Train(1))
	if len(images) != 30 || slices.Min(labels) != 6 || !slices.Equal(sizes, []int{30}) || view.Original(1) != 3 {
		t.Errorf("%d images of classes from %d in batches of %v", len(images), slices.Min(labels), sizes)
	}
}

func TestOfflineRefuses(t *testing.T) {
	for _, c := range []struct {
		epochs, batch int
		drop          bool
	}{{0, 8, false}, {1, 0, false}, {1, 61, true}} {
		if _, err := mustSplit(t, tiny(12, 5, 2), Options{Tasks: 4, Batch: 3}).Offline(c.epochs, c.batch,
			c.drop); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}
