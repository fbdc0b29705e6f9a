package stream

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"ocl/data"
)

// previewed are the rows of a preview.
func previewed(t *testing.T, s *Tasks, o PreviewOptions) []data.Row {
	t.Helper()
	rows, err := s.Preview(o)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// delivered are the first images that a learner or an evaluation of a task gets, as bytes.
func delivered(t *testing.T, s *Tasks, task, n int, test bool) (images [][]uint8) {
	t.Helper()
	seq := s.Train(task)
	if test {
		seq = s.Test(task)
	}
	for b, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len() {
			pixels := make([]uint8, len(b.X.Row(i)))
			for p, v := range b.X.Row(i) {
				pixels[p] = uint8(math.Round(float64(v) * 255))
			}
			if images = append(images, pixels); len(images) == n {
				return images
			}
		}
	}
	return images
}

func sameImages(a, b [][]uint8) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// A preview shows the first images that each task then delivers, of any kind of stream and of both halves, and it does
// not consume them.
func TestPreviewShowsWhatIsDelivered(t *testing.T) {
	set := tiny(12, 10, 5)
	for name, o := range map[string]Options{
		"classes":     {Tasks: 4, Batch: 3},
		"kept":        {Tasks: 4, Batch: 3, Keep: Range{2, 4}},
		"noise":       {Batch: 3, Shift: Shift{Kinds: []string{"noise"}}},
		"kept noise":  {Batch: 3, Keep: Range{3, 6}, Shift: Shift{Kinds: []string{"noise"}}},
		"two kinds":   {Batch: 3, Shift: Shift{Kinds: []string{"occlusion", "noise"}, PerImage: true}},
		"cross-image": {Batch: 3, Shift: Shift{Kinds: []string{"blur"}, CrossImage: true}},
	} {
		for _, test := range []bool{false, true} {
			s := mustSplit(t, set, o)
			rows := previewed(t, s, PreviewOptions{Samples: 2, Test: test})
			if len(rows) != len(s.Info().Tasks) {
				t.Fatalf("%s: %d rows for %d tasks", name, len(rows), len(s.Info().Tasks))
			}
			for task, row := range rows {
				if want := delivered(t, s, task, 2, test); len(row.Images) != 2 || !sameImages(row.Images, want) {
					t.Errorf("%s, test %v, task %d: %v\nwant %v", name, test, task, row.Images, want)
				}
			}
		}
	}
}

// With Same, the tasks of a shift show the same images: the first row is undisturbed, and with strengths that are equal
// all rows are. Other kinds show their own images.
func TestPreviewOfTheSameImages(t *testing.T) {
	set := tiny(12, 10, 5)
	s := mustSplit(t, set, Options{Batch: 3, Shift: Shift{Kinds: []string{"noise"}, Strengths: [][]float64{{0, 2, 2}}}})
	rows := previewed(t, s, PreviewOptions{Samples: 3, Same: true})
	source, err := set.Take(set.Train, s.train.lists[0][:3])
	if err != nil {
		t.Fatal(err)
	}
	if !sameImages(rows[0].Images, source) || sameImages(rows[1].Images, source) ||
		!sameImages(rows[1].Images, rows[2].Images) {
		t.Errorf("rows %v of %v", rows, source)
	}
	s = mustSplit(t, set, Options{Tasks: 4, Batch: 3})
	if a, b := previewed(t, s, PreviewOptions{Samples: 2, Same: true}),
		previewed(t, s, PreviewOptions{Samples: 2}); !sameImages(a[3].Images, b[3].Images) {
		t.Errorf("rows %v with Same, %v without", a, b)
	}
}

// A label says what makes a task what it is, and counts the tasks of the whole stream from 1.
func TestPreviewLabels(t *testing.T) {
	set := tiny(12, 10, 5)
	named := *set
	for k := range 12 {
		named.ClassNames = append(named.ClassNames, fmt.Sprintf("c%d", k))
	}
	withDomains := named
	withDomains.Domains = []string{"sun", "rain"}
	for _, s := range []*data.Split{&withDomains.Train, &withDomains.Test} {
		s.Domain = make([]int32, s.Len())
		for i := range s.Domain {
			s.Domain[i] = int32(i % 2)
		}
	}
	common := *set
	common.Tasks, common.Train.Task = 2, make([]int32, set.Train.Len())
	common.Train.Task[0] = 1
	shift := Shift{Kinds: []string{"noise", "blur"}}
	for _, c := range []struct {
		set  *data.Set
		o    Options
		test bool
		want []string
	}{
		{&named, Options{Tasks: 6, Order: Given, Keep: Range{4, 6}}, false, []string{"task 5: c8, c9", "task 6: c10, c11"}},
		{&named, Options{Tasks: 3, Order: Given, Keep: Range{0, 1}}, true, []string{"task 1: c0, c1, c2, …"}},
		{set, Options{Tasks: 12, Order: Given, Keep: Range{0, 1}}, false, []string{"task 1: class 0"}},
		{set, Options{Shift: shift, Keep: Range{1, 3}}, false,
			[]string{"task 2: noise 0.4, blur 0.28", "task 3: noise 0.8, blur 0.56"}},
		{&withDomains, Options{Kind: "domains", Order: Given, Tasks: 1}, false, []string{"task 1: sun, rain"}},
		{&withDomains, Options{Kind: "domains", Order: Given, Tasks: 2}, false, []string{"task 1: sun", "task 2: rain"}},
		{&common, Options{}, true, []string{"all tasks"}},
	} {
		c.o.Batch = 1
		var got []string
		for _, row := range previewed(t, mustSplit(t, c.set, c.o), PreviewOptions{Samples: 1, Test: c.test}) {
			got = append(got, row.Label)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("labels %q, want %q", got, c.want)
		}
	}
}
