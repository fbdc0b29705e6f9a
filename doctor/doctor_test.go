package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/draw"

	"ocl"
	"ocl/data"
)

// scene is a picture of several waves of colour, which differ with the seed.
func scene(seed uint64) *image.RGBA {
	r := rand.New(rand.NewPCG(seed, 1))
	img := image.NewRGBA(image.Rect(0, 0, 96, 96))
	var waves [6][4]float64
	for i := range waves {
		waves[i] = [4]float64{r.Float64()*0.3 - 0.15, r.Float64()*0.3 - 0.15, r.Float64() * 6, float64(r.IntN(3))}
	}
	for y := range 96 {
		for x := range 96 {
			v := [3]float64{110, 110, 110}
			for _, w := range waves {
				v[int(w[3])] += 30 * math.Sin(w[0]*float64(x)+w[1]*float64(y)+w[2])
			}
			img.SetRGBA(x, y, color.RGBA{uint8(min(max(v[0], 0), 255)), uint8(min(max(v[1], 0), 255)),
				uint8(min(max(v[2], 0), 255)), 255})
		}
	}
	return img
}

func asJPEG(t *testing.T, img image.Image, quality int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// folder is a folder with files.
func folder(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func opened(t *testing.T, dir string) *data.Set {
	t.Helper()
	t.Setenv("OCL_CACHE", t.TempDir())
	set, err := data.Open(t.Context(), data.Spec{Name: "folder", Dir: dir, SkipUnreadable: true})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// line is a finding as a text.
func line(dir string, f Finding) string {
	var names []string
	for _, m := range f.Images {
		name := m.Name(dir)
		if m.Move {
			name += "!"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	text := fmt.Sprint(f.Kind, " ", strings.Join(names, " "), strings.Join(f.Classes, " "))
	if f.Near {
		text += " near"
	}
	return text
}

func lines(dir string, list []Finding) (all []string) {
	for _, f := range list {
		all = append(all, line(dir, f))
	}
	slices.Sort(all)
	return all
}

// TestFiles: copies, halves, files and classes, of which each is found once, and nothing else is. Of copies in both
// halves the one for training is to go, and of copies under two labels none.
func TestFiles(t *testing.T) {
	files := map[string][]byte{}
	for i, class := range []string{"cat", "dog"} {
		for n := range 6 {
			files[fmt.Sprintf("train/%s/%d.jpg", class, n)] = asJPEG(t, scene(uint64(10*i+n)), 95)
			files[fmt.Sprintf("test/%s/%d.jpg", class, n)] = asJPEG(t, scene(uint64(100+10*i+n)), 95)
		}
	}
	small := image.NewRGBA(image.Rect(0, 0, 20, 40))
	draw.BiLinear.Scale(small, small.Bounds(), scene(300), image.Rect(0, 0, 96, 96), draw.Src, nil)
	var tiny bytes.Buffer
	if err := png.Encode(&tiny, small); err != nil {
		t.Fatal(err)
	}
	scaled, bright := image.NewRGBA(image.Rect(0, 0, 67, 67)), scene(2)
	draw.CatmullRom.Scale(scaled, scaled.Bounds(), scene(1), image.Rect(0, 0, 96, 96), draw.Src, nil)
	for i, v := range bright.Pix {
		if i%4 < 3 {
			bright.Pix[i] = uint8(min(255, int(v)*13/10))
		}
	}
	for name, text := range map[string][]byte{
		"train/cat/again.jpg":    files["train/cat/0.jpg"],
		"train/cat/scaled.png":   asJPEG(t, scaled, 90),
		"train/cat/bright.jpg":   asJPEG(t, bright, 90),
		"train/dog/cat.jpg":      files["train/cat/3.jpg"],
		"train/dog/leak.jpg":     files["test/dog/0.jpg"],
		"train/dog/nearleak.jpg": asJPEG(t, scene(111), 40),
		"train/cat/broken.jpg":   files["train/cat/0.jpg"][:300],
		"train/cat/tiny.png":     tiny.Bytes(),
		"train/eel/1.jpg":        asJPEG(t, scene(200), 95),
		"train/eel/2.jpg":        asJPEG(t, scene(201), 95),
		"test/eel/1.jpg":         asJPEG(t, scene(202), 95),
	} {
		files[name] = text
	}
	dir := folder(t, files)
	set := opened(t, dir)
	found, err := Examine(t.Context(), set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := slices.DeleteFunc(slices.Clone(found.List), func(f Finding) bool {
		return f.Kind == WrongLabel || f.Kind == Alike // the pictures show nothing
	})
	want := []string{
		"duplicate train/cat/0.jpg train/cat/again.jpg!",
		"duplicate train/cat/1.jpg train/cat/scaled.png! near",
		"duplicate train/cat/2.jpg train/cat/bright.jpg! near",
		"few_images eel",
		"test_in_training test/dog/0.jpg train/dog/leak.jpg!",
		"test_in_training test/dog/1.jpg train/dog/nearleak.jpg! near",
		"tiny train/cat/tiny.png",
		"two_labels train/cat/3.jpg train/dog/cat.jpg",
		"unreadable train/cat/broken.jpg",
	}
	if got := lines(dir, list); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i, f := range found.List[1:] {
		if slices.Index(Kinds, f.Kind) < slices.Index(Kinds, found.List[i].Kind) {
			t.Errorf("%s comes after %s", f.Kind, found.List[i].Kind)
		}
	}
	quick, err := Examine(t.Context(), set, Options{Quick: true})
	if err != nil || len(quick.Of(WrongLabel))+len(quick.Of(Tiny)) > 0 || len(quick.Of(TestInTraining)) != 2 {
		t.Errorf("quick: %v, %v", lines(dir, quick.List), err)
	}
}

// TestEmptyImages: images without contrast are copies only where their pixels are the same.
func TestEmptyImages(t *testing.T) {
	files := map[string][]byte{}
	for n := range 12 {
		img := image.NewRGBA(image.Rect(0, 0, 64, 64))
		draw.Draw(img, img.Bounds(), image.NewUniform(color.Gray{uint8(20 * n)}), image.Point{}, draw.Src)
		img.SetRGBA(n, n, color.RGBA{uint8(20*n + 8), 0, 0, 255})
		files[fmt.Sprintf("%s/%d.jpg", []string{"a", "b"}[n%2], n)] = asJPEG(t, img, 95)
	}
	found, err := Examine(t.Context(), opened(t, folder(t, files)), Options{Quick: true})
	if err != nil || len(found.List) > 0 && found.List[0].Kind != Few {
		t.Errorf("%+v, %v", found, err)
	}
}

// embeddings is a set of embeddings around the centres of classes, of which some have another label.
func embeddings(wrong map[int]int32) *data.Set {
	const classes, each, width = 4, 40, 6
	r := rand.New(rand.NewPCG(7, 7))
	set := &data.Set{Name: "made", C: width, H: 1, W: 1, Embeddings: true, Classes: classes,
		ClassNames: []string{"ant", "bee", "cat", "dog"}}
	for half, split := range []*data.Split{&set.Train, &set.Test} {
		var block data.Block
		block.Size = 2 * width
		for i := range classes * each {
			y := int32(i % classes)
			x := make([]float32, width)
			for j := range x {
				x[j] = float32(r.NormFloat64())
			}
			x[y] += 7
			stored := make([]byte, 2*width)
			ocl.Float16{}.Put(stored, x)
			block.Pixels = append(block.Pixels, stored...)
			if other, is := wrong[half*classes*each+i]; is {
				y = other
			}
			split.Y = append(split.Y, y)
		}
		split.Images = block
	}
	return set
}

// TestWrongLabels: labels that were changed come first, with the class that is right, and the estimate of their share
// is near it.
func TestWrongLabels(t *testing.T) {
	wrong := map[int]int32{}
	for n := range 32 { // a tenth, in both halves
		i := 10*n + n%7
		wrong[i] = int32((i + 1 + n%3) % 4)
	}
	found, err := Examine(t.Context(), embeddings(wrong), Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := found.Of(WrongLabel)
	if len(list) < len(wrong) {
		t.Fatalf("%d are listed, want all %d", len(list), len(wrong))
	}
	for n, f := range list[:len(wrong)] {
		m := f.Images[0]
		i := m.Index
		if m.Test {
			i += 160
		}
		if _, is := wrong[i]; !is || f.Suggested != []string{"ant", "bee", "cat", "dog"}[i%4] ||
			n > 0 && f.Probability < list[n-1].Probability {
			t.Errorf("place %d has %+v, whose label is right, or it is out of order", n, f)
		}
		if m.Move != f.Sure {
			t.Errorf("%+v: only what is sure is to go", f)
		}
	}
	if !found.Looked || found.WrongShare < 0.07 || found.WrongShare > 0.13 {
		t.Errorf("%.3f of the labels are said to be wrong, and a tenth is", found.WrongShare)
	}
	if clean, err := Examine(t.Context(), embeddings(nil), Options{}); err != nil || clean.WrongShare > 0.02 {
		t.Errorf("%.3f of right labels are said to be wrong, %v", clean.WrongShare, err)
	}
}

// TestAlike: two classes whose images are the same but for noise are named, and no others.
func TestAlike(t *testing.T) {
	wrong := map[int]int32{}
	for i := range 320 {
		if i%4 == 1 && i/4%2 == 0 {
			wrong[i] = 2
		}
		if i%4 == 2 && i/4%2 == 0 {
			wrong[i] = 1
		}
	}
	found, err := Examine(t.Context(), embeddings(wrong), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if list := found.Of(Alike); len(list) != 1 || !slices.Equal(list[0].Classes, []string{"bee", "cat"}) {
		t.Errorf("alike are %+v", list)
	}
}

// TestNothingToSay: features that do not tell the classes apart call no label wrong, and say so; so do few images.
func TestNothingToSay(t *testing.T) {
	wrong := map[int]int32{}
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 320 {
		wrong[i] = int32(r.IntN(4))
	}
	found, err := Examine(t.Context(), embeddings(wrong), Options{})
	if err != nil || found.Looked || len(found.Of(WrongLabel)) > 0 ||
		!strings.Contains(strings.Join(found.Notes, ""), "too few to call labels wrong") {
		t.Errorf("%+v, %v", found, err)
	}
	few := embeddings(nil)
	for _, half := range []*data.Split{&few.Train, &few.Test} {
		block := half.Images.(data.Block)
		block.Pixels = block.Pixels[:4*block.Size]
		half.Images, half.Y = block, half.Y[:4]
	}
	found, err = Examine(t.Context(), few, Options{})
	if err != nil || !strings.Contains(strings.Join(found.Notes, ""), "of at least three images, and ten images of these: NOT LOOKED FOR") {
		t.Errorf("few: %+v, %v", found, err)
	}
}

// TestRefused: embeddings of other images, and a context that has ended.
func TestRefused(t *testing.T) {
	set := embeddings(nil)
	part := *set
	part.Train.Y = part.Train.Y[:3]
	if _, err := Examine(t.Context(), set, Options{Features: &part}); err == nil ||
		!strings.Contains(err.Error(), "Make the embeddings of all images") {
		t.Errorf("other embeddings: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Examine(ctx, set, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
	large := *set
	large.Classes = 1 << 22
	if _, err := Examine(t.Context(), &large, Options{}); err == nil || !strings.Contains(err.Error(), "data.train_per_class") {
		t.Errorf("too large: %v", err)
	}
}

// TestDrawings: strokes on a blank ground look alike without being copies.
func TestDrawings(t *testing.T) {
	files := map[string][]byte{}
	for n := range 12 {
		img := image.NewRGBA(image.Rect(0, 0, 84, 84))
		draw.Draw(img, image.Rect(38, 12+n%3, 46, 70+n/3), image.White, image.Point{}, draw.Src)
		files[fmt.Sprintf("%s/%d.jpg", []string{"one", "l"}[n%2], n)] = asJPEG(t, img, 95)
	}
	found, err := Examine(t.Context(), opened(t, folder(t, files)), Options{Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found.List {
		if f.Near {
			t.Errorf("%s are no copies", line("", f))
		}
	}
}

// TestDisputed: copies under two labels are one finding, and neither is called wrong by the other.
func TestDisputed(t *testing.T) {
	set := embeddings(nil)
	block := set.Train.Images.(data.Block)
	copy(block.Pixels[block.Size:2*block.Size], block.Pixels[:block.Size]) // a bee that is an ant
	found, err := Examine(t.Context(), set, Options{Quick: true})
	if err != nil || !found.Looked {
		t.Fatalf("%+v, %v", found, err)
	}
	if list := found.Of(TwoLabels); len(list) != 1 || len(list[0].Images) != 2 || list[0].Images[1].Index != 1 ||
		list[0].Images[0].Move || list[0].Images[1].Move {
		t.Errorf("with two labels are %+v", list)
	}
	for _, f := range found.Of(WrongLabel) {
		if f.Images[0].Index < 2 && !f.Images[0].Test {
			t.Errorf("%+v is called wrong", f)
		}
	}
}

// TestSettled: of copies in halves that a person has chosen, the test image stays; in halves that were drawn, it is the
// first by path, whatever half it is in. Under two labels, the one that the features surely say stays, and all where
// they say none.
func TestSettled(t *testing.T) {
	for _, c := range []struct {
		name     string
		kind     Kind
		labels   []int32
		tests    int // how many of the last are for testing
		divided  bool
		disputed []int
		files    []string
		moved    string
	}{
		{"original first", Duplicate, []int32{0, 0, 0}, 0, false, nil, []string{"1 copy.jpg", "1.jpg", "z.jpg"},
			"1 copy.jpg z.jpg"},
		{"test stays", TestInTraining, []int32{0, 0}, 1, false, nil, []string{"train/a.jpg", "test/b.jpg"}, "train/a.jpg"},
		{"one test stays", TestInTraining, []int32{0, 0, 0}, 2, false, nil, []string{"train/a.jpg", "test/c.jpg", "test/b.jpg"},
			"train/a.jpg test/c.jpg"},
		{"drawn", TestInTraining, []int32{0, 0}, 1, true, nil, []string{"cat/1.jpg", "cat/copy.jpg"}, "cat/copy.jpg"},
		{"drawn for testing", TestInTraining, []int32{0, 0}, 1, true, nil, []string{"cat/copy.jpg", "cat/1.jpg"}, "cat/copy.jpg"},
		{"believed", TwoLabels, []int32{0, 1, 1}, 0, false, []int{1, 1, 1}, []string{"cat/1.jpg", "dog/2.jpg", "dog/3.jpg"},
			"cat/1.jpg dog/3.jpg"},
		{"not by all", TwoLabels, []int32{0, 1}, 0, false, []int{0, 1}, []string{"cat/1.jpg", "dog/2.jpg"}, ""},
		{"another class", TwoLabels, []int32{0, 1}, 0, false, []int{2, 2}, []string{"cat/1.jpg", "dog/2.jpg"}, ""},
		{"nobody knows", TwoLabels, []int32{0, 1}, 0, false, []int{-1, -1}, []string{"cat/1.jpg", "dog/2.jpg"}, ""},
	} {
		n := len(c.labels) - c.tests
		e := &exam{set: &data.Set{Divided: c.divided, Train: data.Split{Y: c.labels[:n]}, Test: data.Split{Y: c.labels[n:]}},
			groups: map[int][]int{}, disputed: map[int]int{}, found: &Findings{}}
		f := Finding{Kind: c.kind}
		for i, file := range c.files {
			f.Images = append(f.Images, Image{File: file, Test: i >= n})
			e.groups[0] = append(e.groups[0], i)
			if c.disputed != nil {
				e.disputed[i] = c.disputed[i]
			}
		}
		e.add(f)
		e.settle(t.Context())
		var moved []string
		for _, m := range e.found.List[0].Images {
			if m.Move {
				moved = append(moved, m.File)
			}
		}
		if got := strings.Join(moved, " "); got != c.moved {
			t.Errorf("%s: %q is to go, wanted %q", c.name, got, c.moved)
		}
	}
}

// TestLargestStays: of near copies the one of the most pixels stays, whatever its name.
func TestLargestStays(t *testing.T) {
	dir := t.TempDir()
	f := Finding{Kind: Duplicate, Near: true}
	e := &exam{set: &data.Set{Train: data.Split{Y: make([]int32, 3)}}, groups: map[int][]int{0: {0, 1, 2}},
		found: &Findings{}}
	for i, side := range []int{30, 40, 20} {
		file := filepath.Join(dir, fmt.Sprint(i, ".png"))
		to, err := os.Create(file)
		if err == nil {
			err = errors.Join(png.Encode(to, image.NewGray(image.Rect(0, 0, side, side))), to.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Images = append(f.Images, Image{File: file})
	}
	e.add(f)
	e.settle(t.Context())
	for i, m := range e.found.List[0].Images {
		if m.Move != (i != 1) {
			t.Errorf("image %d is to go: %v", i, m.Move)
		}
	}
}

// TestBeyondChance: by pixels the labels of hard images are not called wrong, and those that were changed are.
func TestBeyondChance(t *testing.T) {
	examine := func(wrong int) *Findings {
		r := rand.New(rand.NewPCG(5, 5))
		set := &data.Set{Name: "made", C: 1, H: 8, W: 8, Classes: 2}
		for _, split := range []*data.Split{&set.Train, &set.Test} {
			block := data.Block{Size: 64}
			for i := range 1500 {
				y := i % 2
				shade := 128 + 30*(2*y-1) + int(30*r.NormFloat64()) // one in six is on the side of the other class
				for range block.Size {
					block.Pixels = append(block.Pixels, uint8(min(max(shade+r.IntN(3), 0), 255)))
				}
				if i < wrong && (shade-128)*(2*y-1) > 80 { // clear ones
					y = 1 - y
				}
				split.Y = append(split.Y, int32(y))
			}
			split.Images = block
		}
		found, err := Examine(t.Context(), set, Options{})
		if err != nil || !found.Looked || found.Accuracy > 0.9 {
			t.Fatalf("%+v, %v", found, err)
		}
		return found
	}
	clean := examine(0)
	if list := clean.Of(WrongLabel); len(list) > 30 || clean.WrongShare > 0.01 ||
		!strings.Contains(strings.Join(clean.Notes, ""), "as many would if all labels were right") {
		t.Errorf("of right labels %d are listed, %.3f; %q", len(list), clean.WrongShare, clean.Notes)
	}
	changed := examine(1500)
	if list := changed.Of(WrongLabel); len(list) < 50 || changed.WrongShare < 0.01 {
		t.Errorf("%d are listed, %.3f", len(list), changed.WrongShare)
	}
	for _, f := range changed.List {
		if f.Kind == WrongLabel && (f.Sure || f.Images[0].Move) {
			t.Errorf("%+v is sure by pixels", f)
		}
	}
}

// TestTooFew: one class, or hardly an image, is examined for all but wrong labels, and that is said.
func TestTooFew(t *testing.T) {
	t.Setenv("OCL_CACHE", t.TempDir())
	one, two := asJPEG(t, scene(1), 95), asJPEG(t, scene(2), 95)
	for name, c := range map[string]struct {
		files map[string][]byte
		want  []string
	}{
		"one":     {map[string][]byte{"cat/1.jpg": one}, []string{"few_images cat"}},
		"flat":    {map[string][]byte{"1.jpg": one, "2.jpg": two, "3.jpg": one}, []string{"duplicate 1.jpg 3.jpg!", "few_images CLASS"}},
		"classes": {map[string][]byte{"cat/1.jpg": one, "dog/2.jpg": one}, []string{"few_images cat", "few_images dog", "two_labels cat/1.jpg dog/2.jpg"}},
	} {
		dir := folder(t, c.files)
		set, err := data.Open(t.Context(), data.Spec{Name: "folder", Dir: dir, SkipUnreadable: true, Whole: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found, err := Examine(t.Context(), set, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := strings.ReplaceAll(strings.Join(lines(dir, found.List), ", "), filepath.Base(dir), "CLASS")
		if want := strings.Join(c.want, ", "); got != want || found.Looked || len(found.Notes) != 1 ||
			!strings.Contains(found.Notes[0], "NOT LOOKED FOR") {
			t.Errorf("%s: %s, wanted %s; %q", name, got, want, found.Notes)
		}
	}
}

// TestCropped: a part of a picture is a copy of it where the features are alike, also one from a corner; another
// picture with the same features is none, and without features none is looked for.
func TestCropped(t *testing.T) {
	cut := func(seed uint64, x, y, side int) []byte {
		return asJPEG(t, scene(seed).SubImage(image.Rect(x, y, x+side, y+side)), 90)
	}
	files, group := map[string][]byte{}, map[string]int{}
	for n := range 10 {
		for name, text := range map[string][]byte{"cat/%d.jpg": asJPEG(t, scene(uint64(n)), 95),
			"dog/%d.jpg": asJPEG(t, scene(uint64(50+n)), 95)} {
			files[fmt.Sprintf(name, n)] = text
			group[fmt.Sprintf(name, n)] = n // a cat and a dog have the same features
		}
	}
	files["cat/1 cut.jpg"], group["cat/1 cut.jpg"] = cut(1, 10, 10, 76), 1
	files["cat/2 corner.jpg"], group["cat/2 corner.jpg"] = cut(2, 26, 0, 70), 2
	dir := folder(t, files)
	set := opened(t, dir)
	made := *set
	made.Embeddings, made.C, made.H, made.W = true, 12, 1, 1
	for _, half := range []*data.Split{&made.Train, &made.Test} {
		block := data.Block{Size: 2 * made.C}
		for i := range half.Len() {
			name, _ := filepath.Rel(dir, set.File(*half, i))
			x, stored := make([]float32, made.C), make([]byte, block.Size)
			x[group[filepath.ToSlash(name)]] = 1
			ocl.Float16{}.Put(stored, x)
			block.Pixels = append(block.Pixels, stored...)
		}
		half.Images = block
	}
	copies := func(o Options) (all []string) {
		found, err := Examine(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found.List {
			if slices.Contains([]Kind{Duplicate, TestInTraining, TwoLabels}, f.Kind) {
				text := line(dir, f)
				all = append(all, text[strings.Index(text, " ")+1:])
			}
		}
		slices.Sort(all)
		return all
	}
	want := []string{"cat/1 cut.jpg! cat/1.jpg near", "cat/2 corner.jpg! cat/2.jpg near"}
	if got := copies(Options{Features: &made}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, o := range []Options{{}, {Features: &made, Quick: true}} {
		if got := copies(o); len(got) > 0 {
			t.Errorf("%+v: got %q", o.Quick, got)
		}
	}
}
