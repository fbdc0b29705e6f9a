package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/internal/fuzztest"
)

// smallMini is Mini-ImageNet with four classes, three images of each, one of them for testing.
var smallMini = miniFormat{lists: []miniList{{"train", 2}, {"val", 1}, {"test", 1}}, perClass: 3, test: 1}

// miniIDs are the classes of smallMini in the order of the lists, which is not that of their names.
var miniIDs = []string{"n00000003", "n00000001", "n00000004", "n00000002"}

// miniPixel is a pixel of image i of smallMini, counted in the order of the lists.
func miniPixel(i, x, y int) color.NRGBA {
	return color.NRGBA{uint8(20*i + x), uint8(3 * y), uint8(7 * (x + i)), 255}
}

// miniImage is image i as a PNG file, w×84. PNG keeps every bit, whatever the name of the file.
func miniImage(t testing.TB, i, w int) []byte {
	img := image.NewNRGBA(image.Rect(0, 0, w, miniSide))
	for y := range miniSide {
		for x := range w {
			img.SetNRGBA(x, y, miniPixel(i, x, y))
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// miniFile is the name of image i in the lists.
func miniFile(i int) string { return fmt.Sprintf("%s%08d.jpg", miniIDs[i/3], i) }

// miniLists are the three lists and the images of smallMini.
func miniLists(t testing.TB) map[string][]byte {
	files := map[string][]byte{}
	at := 0
	for i, l := range smallMini.lists {
		list := "filename,label\n"
		for range 3 * l.classes {
			list += miniFile(at) + "," + miniIDs[at/3] + "\n"
			files["images/"+miniFile(at)] = miniImage(t, at, miniSide)
			at++
		}
		files[smallMini.csv(i)] = []byte(list)
	}
	return files
}

// miniPickles are the three pickles of smallMini, as Python 2 writes them.
func miniPickles() map[string][]byte {
	files := map[string][]byte{}
	first := 0
	for i, l := range smallMini.lists {
		n := 3 * l.classes
		var pixels []byte
		for k := range n {
			for at := range miniSide * miniSide {
				c := miniPixel(first+k, at%miniSide, at/miniSide)
				pixels = append(pixels, c.R, c.G, c.B)
			}
		}
		classes := "}("
		for k := range l.classes {
			classes += pickledText(miniIDs[first/3+k]) + "](" + "J" + size4(3*k) + "J" + size4(3*k+1) + "J" + size4(3*k+2) + "e"
		}
		files[smallMini.pickle(i)] = []byte("\x80\x02}(" + pickledText("class_dict") + classes + "u" +
			pickledText("image_data") +
			"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR" +
			"(K\x01(J" + size4(n) +
			"KTKTK\x03tcnumpy\ndtype\n(U\x02u1\x89\x88tR(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89" +
			pickledText(string(pixels)) + "tbu.")
		first += n
	}
	return files
}

// miniFolders are the folders of classes of smallMini.
func miniFolders(t testing.TB) map[string][]byte {
	files := map[string][]byte{}
	for i := range 12 {
		files[miniIDs[i/3]+"/"+miniFile(i)] = miniImage(t, i, miniSide)
	}
	return files
}

// writeTree writes files whose names may have folders.
func writeTree(t testing.TB, dir string, files map[string][]byte) string {
	t.Helper()
	for name, b := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, b, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// openMini opens smallMini with a cache of its own.
func openMini(t testing.TB, spec Spec) (*Set, error) {
	t.Helper()
	t.Setenv("OCL_CACHE", t.TempDir())
	small := Info{Name: miniFolder, list: smallMini.list}
	set, err := small.opened(t.Context(), spec)
	if err == nil {
		set.Digest, err = digest(context.Background(), set)
	}
	return set, err
}

func mustOpenMini(t testing.TB, spec Spec) *Set {
	t.Helper()
	set, err := openMini(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// numbers are the numbers of the images of a half, by their first pixels.
func numbers(t testing.TB, s Split) []int {
	t.Helper()
	var list []int
	buf := make([]uint8, 3*miniSide*miniSide)
	for k := range s.Len() {
		p, err := s.Images.Image(k, buf)
		if err != nil {
			t.Fatal(err)
		}
		i := int(p[0]) / 20
		for at := range miniSide * miniSide {
			c := miniPixel(i, at%miniSide, at/miniSide)
			if p[at] != c.R || p[miniSide*miniSide+at] != c.G || p[2*miniSide*miniSide+at] != c.B {
				t.Fatalf("pixel %d of image %d differs from that of the file", at, i)
			}
		}
		list = append(list, i)
	}
	return list
}

// TestMiniImageNetReadOnly: without a cache, files and pickles give the same images, and nothing is written.
func TestMiniImageNetReadOnly(t *testing.T) {
	for _, files := range []map[string][]byte{miniLists(t), miniPickles()} {
		dir := writeTree(t, t.TempDir(), files)
		cached := mustOpenMini(t, Spec{Dir: dir})
		set := mustOpenMini(t, Spec{Dir: dir, ReadOnly: true})
		if entries, err := os.ReadDir(os.Getenv("OCL_CACHE")); err != nil || len(entries) > 0 {
			t.Errorf("the folder of caches has %v (%v)", entries, err)
		}
		if set.Digest != cached.Digest || !slices.Equal(numbers(t, set.Train), numbers(t, cached.Train)) ||
			!slices.Equal(numbers(t, set.Test), numbers(t, cached.Test)) {
			t.Errorf("images %v and %v with digest %s, in a cache %v and %v with %s", numbers(t, set.Train),
				numbers(t, set.Test), set.Digest,
				numbers(t, cached.Train), numbers(t, cached.Test), cached.Digest)
		}
	}
}

// TestMiniImageNetLayouts: the lists and the pickles of the same images are the same set, in the order of the lists.
// Folders have the same images, and the order of names.
func TestMiniImageNetLayouts(t *testing.T) {
	lists := mustOpenMini(t, Spec{Dir: writeTree(t, t.TempDir(), miniLists(t))})
	holder := t.TempDir()
	writeTree(t, filepath.Join(holder, "mini-imagenet"), miniPickles())
	pickles := mustOpenMini(t, Spec{Dir: holder})
	folders := mustOpenMini(t, Spec{Dir: writeTree(t, t.TempDir(), miniFolders(t))})
	for _, set := range []*Set{lists, pickles} {
		train, test := numbers(t, set.Train), numbers(t, set.Test)
		if !slices.IsSorted(train) || !slices.IsSorted(test) || len(test) != 4 {
			t.Errorf("images %v and %v are not in the order of the lists", train, test)
		}
		if all := slices.Sorted(slices.Values(slices.Concat(train, test))); len(slices.Compact(all)) != 12 {
			t.Errorf("images %v and %v are not all twelve", train, test)
		}
		for k, i := range train {
			if set.Train.Y[k] != int32(i/3) {
				t.Errorf("image %d has label %d, want %d", i, set.Train.Y[k], i/3)
			}
		}
		if !slices.Equal(set.ClassNames, miniIDs) || !slices.Equal(set.Test.Y, []int32{0, 1, 2, 3}) {
			t.Errorf("classes %v, labels for testing %v", set.ClassNames, set.Test.Y)
		}
		if set.Incomplete || len(set.Notes) != 0 {
			t.Errorf("a whole set has notes: %q", set.Notes)
		}
	}
	if lists.Digest != pickles.Digest {
		t.Errorf("digest %s of the lists, %s of the pickles", lists.Digest, pickles.Digest)
	}
	for k, i := range numbers(t, folders.Train) {
		if id := folders.ClassName(int(folders.Train.Y[k])); id != miniIDs[i/3] {
			t.Errorf("image %d is of class %s, want %s", i, id, miniIDs[i/3])
		}
	}
	if !slices.IsSorted(folders.ClassNames) || folders.Train.Len() != 8 || folders.Test.Len() != 4 {
		t.Errorf("folders: %d and %d images of %v", folders.Train.Len(), folders.Test.Len(), folders.ClassNames)
	}
}

// TestMiniImageNetIsDividedByTheDataSeed: the test images are a function of the data seed alone.
func TestMiniImageNetIsDividedByTheDataSeed(t *testing.T) {
	dir := writeTree(t, t.TempDir(), miniPickles())
	seen := map[string]bool{}
	for seed := range uint64(4) {
		a, b := mustOpenMini(t, Spec{Dir: dir, Seed: seed}), mustOpenMini(t, Spec{Dir: dir, Seed: seed})
		if a.Digest != b.Digest {
			t.Errorf("seed %d gives %s and %s", seed, a.Digest, b.Digest)
		}
		seen[fmt.Sprint(numbers(t, a.Test))] = true
	}
	if len(seen) < 2 {
		t.Errorf("four seeds give the test images %v", seen)
	}
}

// TestMiniImageNetNames: class_names.tsv names classes; one that it does not know keeps its id.
func TestMiniImageNetNames(t *testing.T) {
	files := miniPickles()
	files[miniNames] = []byte("n00000001\tgoose\r\nn00000003\thouse finch, linnet\n\nn99999999\tanother\n")
	set := mustOpenMini(t, Spec{Dir: writeTree(t, t.TempDir(), files)})
	if want := []string{"house finch, linnet", "goose", "n00000004", "n00000002"}; !slices.Equal(set.ClassNames, want) {
		t.Errorf("names %q, want %q", set.ClassNames, want)
	}
	for text, want := range map[string]string{
		"n00000001 goose":                     "line 1 is",
		"n00000001\t\n":                       "line 1 is",
		"n1\ta\nn00000001\t\x1b[2J":           "line 2 is",
		"n00000001\tgoose\nn00000001\tgander": "line 2 has the id \"n00000001\" again",
	} {
		_, err := parseClassNames([]byte(text), miniIDs)
		wantFault(t, text, err, want)
	}
}

// wantFault holds that an error says something and shows nothing raw.
func wantFault(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want it to say %q", name, err, want)
		return
	}
	plainMessage(t, err)
}

// TestMiniImageNetStretches: an image of another size fills the square.
func TestMiniImageNetStretches(t *testing.T) {
	files := miniLists(t)
	for i := range 12 {
		files["images/"+miniFile(i)] = miniImage(t, i, 2*miniSide)
	}
	set := mustOpenMini(t, Spec{Dir: writeTree(t, t.TempDir(), files)})
	p, err := set.Train.Images.Image(0, nil)
	if err != nil || set.H != miniSide || set.W != miniSide {
		t.Fatalf("%d×%d, %v", set.H, set.W, err)
	}
	if across := int(p[83]) - int(p[0]); across < 160 || across > 167 {
		t.Errorf("the first row goes from %d to %d, want all 168 columns of the file in it", p[0], p[83])
	}
}

// TestPartOfMiniImageNet: equally many images of each class, but fewer than published, are a part and noted as one.
func TestPartOfMiniImageNet(t *testing.T) {
	files := miniFolders(t)
	for i := 0; i < 12; i += 3 {
		delete(files, miniIDs[i/3]+"/"+miniFile(i))
	}
	files["README.txt"], files[miniIDs[0]+"/Thumbs.db"] = []byte("x"), []byte("x") // neither a class nor an image
	set := mustOpenMini(t, Spec{Dir: writeTree(t, t.TempDir(), files)})
	if !slices.Equal(set.Notes, []string{"a part: 2 of 3 images of each class"}) || set.Train.Len() != 4 ||
		set.Test.Len() != 4 {
		t.Errorf("%d and %d images, notes %q", set.Train.Len(), set.Test.Len(), set.Notes)
	}
}

func TestMiniImageNetFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		files func(testing.TB) map[string][]byte
		harm  func(files map[string][]byte)
		want  string
	}{
		{"a list is missing", miniLists, func(f map[string][]byte) { delete(f, "val.csv") }, "val.csv: no such file"},
		{"a list is empty", miniLists, func(f map[string][]byte) { f["val.csv"] = nil }, "val.csv: the file is empty"},
		{"another first line", miniLists, func(f map[string][]byte) { f["val.csv"] = f["val.csv"][15:] },
			"val.csv: line 1: "},
		{"a row twice", miniLists, func(f map[string][]byte) {
			f["val.csv"] = append(f["val.csv"],
				miniFile(0)+",n00000004\n"...)
		},
			"val.csv: line 5 has the file " + miniFile(0) + " of an earlier list"},
		{"a file elsewhere", miniLists, func(f map[string][]byte) {
			f["val.csv"] = append(f["val.csv"],
				"../x.jpg,n00000004\n"...)
		},
			"line 5 has the file \"../x.jpg\", which is no name of a file below images"},
		{"an absolute file", miniLists, func(f map[string][]byte) {
			f["val.csv"] = append(f["val.csv"],
				"/etc/x.jpg,n00000004\n"...)
		}, "line 5 has the file"},
		{"a class in two lists", miniLists, func(f map[string][]byte) {
			f["test.csv"] = append(f["test.csv"],
				"x.jpg,n00000001\n"...)
		},
			"test.csv: class n00000001 is also in an earlier list"},
		{"a class too many", miniLists, func(f map[string][]byte) {
			f["train.csv"] = append(f["train.csv"],
				"x.jpg,n00000009\n"...)
		},
			"train.csv: it has 3 classes instead of 2"},
		{"a class too small", miniLists, func(f map[string][]byte) {
			f["test.csv"] = []byte(strings.Join(strings.SplitAfter(string(f["test.csv"]), "\n")[:3], ""))
		}, "class n00000002 has 2 images instead of 3"},
		{"a class too large", miniLists, func(f map[string][]byte) {
			f["test.csv"] = append(f["test.csv"], "x.jpg,n00000002\n"...)
		}, "class n00000002 has 4 images instead of 3"},
		{"images are missing", miniLists, func(f map[string][]byte) { delete(f, "images/"+miniFile(2)) },
			"cannot read 1 file: images/" + miniFile(2)},
		{"an empty image", miniLists, func(f map[string][]byte) { f["images/"+miniFile(2)] = nil }, "the file is empty"},
		{"an image cut off", miniLists,
			func(f map[string][]byte) { f["images/"+miniFile(2)] = f["images/"+miniFile(2)][:120] },
			"images/" + miniFile(2) + ": the PNG image is damaged"},
		{"a pickle is missing", pickled, func(f map[string][]byte) { delete(f, smallMini.pickle(2)) },
			"mini-imagenet-cache-test.pkl: no such file"},
		{"a pickle is empty", pickled, func(f map[string][]byte) { f[smallMini.pickle(1)] = nil },
			"mini-imagenet-cache-val.pkl: byte 0: the file is cut off here"},
		{"a pickle is cut off", pickled, func(f map[string][]byte) { f[smallMini.pickle(1)] = f[smallMini.pickle(1)][:5000] },
			"the file is cut off"},
		{"a pickle calls something", pickled, func(f map[string][]byte) { f[smallMini.pickle(1)] = []byte("cos\nsystem\n(S'id'\ntR.") },
			"the pickle calls 'os.system'"},
		{"a pickle twice", pickled, func(f map[string][]byte) { f[smallMini.pickle(2)] = f[smallMini.pickle(1)] },
			"class n00000004 is also in an earlier list"},
		{"a folder is missing", miniFolders, func(f map[string][]byte) {
			for i := range 3 {
				delete(f, miniIDs[0]+"/"+miniFile(i))
			}
		}, "there are images of 3 classes instead of 4"},
		{"a single image of each class", miniFolders, func(f map[string][]byte) {
			for i := range 12 {
				if i%3 > 0 {
					delete(f, miniIDs[i/3]+"/"+miniFile(i))
				}
			}
		}, "class n00000001 has 1 image instead of 3"},
		{"a file in place of a folder", miniFolders, func(f map[string][]byte) { f["n00000009"] = []byte("x") },
			"n00000009: "},
		{"names", pickled, func(f map[string][]byte) { f[miniNames] = []byte("x\n") }, "class_names.tsv: line 1 is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := c.files(t)
			c.harm(files)
			_, err := openMini(t, Spec{Dir: writeTree(t, t.TempDir(), files)})
			wantFault(t, c.name, err, c.want)
		})
	}
}

func pickled(testing.TB) map[string][]byte { return miniPickles() }

func TestMiniImageNetWrongPlace(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(writeFolder(t, root, map[string][]byte{"x.zip": {1}}), "x.zip")
	for dir, want := range map[string]string{
		"":                             "Use --data-dir with the folder",
		filepath.Join(root, "nowhere"): "nowhere: no such file",
		file:                           "x.zip: this is a file",
		root:                           "folders of classes such as n01532829 are here or in mini-imagenet. The folder holds x.zip",
	} {
		_, err := openMini(t, Spec{Dir: dir})
		wantFault(t, dir, err, want)
	}
}

// FuzzMiniImageNetLists reads the fuzzer's bytes as a list and as class names: what is accepted has a file below the
// folder of images and a printable class for each line.
func FuzzMiniImageNetLists(f *testing.F) {
	f.Add([]byte("filename,label\na.jpg,n01\nb.jpg,n01\n"), []byte("n01\tgoose\n"))
	f.Add([]byte("filename,label\n../a.jpg,n01\n"), []byte("n01"))
	f.Add([]byte("filename,label\n\"a\nb.jpg\",n01\n/a,n02\n"), []byte("\t\n"))
	f.Fuzz(func(t *testing.T, list, names []byte) {
		var files, ids []string
		var err error
		most := uint64(200*len(list) + 1<<17)
		if n := fuzztest.Allocated(most, func() {
			files, ids, err = parseList(t.Context(), list, map[string]bool{})
		}); n > most {
			t.Errorf("%d bytes are allocated for a list of %d", n, len(list))
		}
		if err != nil {
			plainMessage(t, err)
		} else if len(files) != len(ids) || len(slices.Compact(slices.Sorted(slices.Values(files)))) != len(files) {
			t.Errorf("%d files, %d classes", len(files), len(ids))
		}
		for i, name := range files {
			if !filepath.IsLocal(name) || !strings.HasPrefix(name, "images") || shown(ids[i]) != ids[i] {
				t.Errorf("file %q of class %q", name, ids[i])
			}
		}
		got, err := parseClassNames(names, []string{"n01", "n02"})
		if err != nil {
			plainMessage(t, err)
		} else if len(got) != 2 || shown(got[0]) != got[0] || got[0] == "" {
			t.Errorf("names %q", got)
		}
	})
}

// TestRealMiniImageNet opens the real images where OCL_DATA has them.
func TestRealMiniImageNet(t *testing.T) {
	dir := os.Getenv("OCL_DATA")
	if !exists(filepath.Join(dir, miniFolder, "train.csv")) || dir == "" {
		t.Skip("OCL_DATA has no mini-imagenet; set it to the folder that holds it to test the real images")
	}
	t.Setenv("OCL_CACHE", t.TempDir())
	set, err := Open(t.Context(), Spec{Name: miniFolder, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	train, test := make([]int, 100), make([]int, 100)
	for _, y := range set.Train.Y {
		train[y]++
	}
	for _, y := range set.Test.Y {
		test[y]++
	}
	if slices.Min(train) != 500 || slices.Max(train) != 500 || slices.Min(test) != 100 || slices.Max(test) != 100 {
		t.Errorf("%v images for training, %v for testing", train, test)
	}
	if set.ClassName(0) != "house finch, linnet, Carpodacus mexicanus" || len(set.Notes) != 0 {
		t.Errorf("class 0 is %s, notes %q", set.ClassName(0), set.Notes)
	}
}

// BenchmarkMiniImageNet builds the cache of the real images in a new folder, and opens that of OCL_CACHE.
func BenchmarkMiniImageNet(b *testing.B) {
	dir := os.Getenv("OCL_DATA")
	if dir == "" {
		b.Skip("OCL_DATA is unset; set it to the folder that holds mini-imagenet")
	}
	open := func(b *testing.B) {
		if _, err := Open(b.Context(), Spec{Name: miniFolder, Dir: dir}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			b.Setenv("OCL_CACHE", b.TempDir())
			open(b)
		}
	})
	b.Run("open", func(b *testing.B) {
		open(b)
		for b.Loop() {
			open(b)
		}
	})
}

// TestReplacedPickleIsAnError: places of images in the old file mean nothing in the new one.
func TestReplacedPickleIsAnError(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.pkl")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(name, "old")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	r, b := reopened{name, info}, make([]byte, 3)
	if n, err := r.ReadAt(b, 0); n != 3 || err != nil || string(b) != "old" {
		t.Errorf("read %q, %v", b[:n], err)
	}
	write(name+".new", "new")
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadAt(b, 0); err == nil || !strings.Contains(err.Error(), "was changed while it was read") {
		t.Errorf("error %v after the file was replaced", err)
	}
}
