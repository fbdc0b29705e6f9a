package pickle

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ocl/internal/fuzztest"
)

// wantError checks that an error says something.
func wantError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want it to say %q", name, err, want)
	}
}

// le is an integer as Python writes it.
func le(n int) string { return "J" + le4(uint32(n)) }

// ints is a list of integers.
func ints(ns ...int) string {
	s := "]("
	for _, n := range ns {
		s += le(n)
	}
	return s + "e"
}

// str is a str of Python 2.
func str(s string) string { return "T" + le4(uint32(len(s))) + s }

// dictionary is a dictionary of keys and values that alternate.
func dictionary(kvs ...string) string {
	s := "}("
	for i := 0; i < len(kvs); i += 2 {
		s += str(kvs[i]) + kvs[i+1]
	}
	return s + "u"
}

// uint8s is an array of zeros.
func uint8s(shape ...int) string {
	s, n := "(", 1
	for _, d := range shape {
		s, n = s+le(d), n*d
	}
	return strings.TrimSuffix(array(s+"t", u1, str(string(make([]byte, n)))), ".")
}

func TestCIFAR(t *testing.T) {
	rows := make([]byte, 2*3072)
	for i := range rows {
		rows[i] = byte(i / 24 % 251)
	}
	for _, name := range []string{"cifar100-py2.pkl", "cifar100-4.pkl"} {
		c, err := ReadCIFAR(source(file(t, name)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(c.Images, rows) {
			t.Errorf("%s: %d bytes of images differ from the script's", name, len(c.Images))
		}
		if !slices.Equal(c.Labels, []int64{0, 99}) || !slices.Equal(c.Coarse, []int64{4, 19}) {
			t.Errorf("%s: labels %v and %v, want [0 99] and [4 19]", name, c.Labels, c.Coarse)
		}
		if !slices.Equal(c.Files, []string{"apple_s_000001.png", "bos_taurus_s_000507.png"}) {
			t.Errorf("%s: files %q", name, c.Files)
		}
	}
	c, err := ReadCIFAR(source(file(t, "cifar10-py2.pkl")))
	if err != nil || !slices.Equal(c.Labels, []int64{9, 0}) || c.Coarse != nil || c.Files != nil || !bytes.Equal(c.Images, rows) {
		t.Errorf("CIFAR-10: %+v (%v)", c, err)
	}
}

func TestCIFARNames(t *testing.T) {
	n, err := ReadCIFARNames(source(file(t, "meta100-py2.pkl")))
	if err != nil || len(n.Labels) != 100 || n.Labels[42] != "fine42" || len(n.Coarse) != 20 || n.Coarse[19] != "coarse19" {
		t.Errorf("CIFAR-100: %+v (%v)", n, err)
	}
	n, err = ReadCIFARNames(source(file(t, "meta10-py2.pkl")))
	if err != nil || len(n.Labels) != 10 || n.Labels[9] != "class9" || n.Coarse != nil {
		t.Errorf("CIFAR-10: %+v (%v)", n, err)
	}
	for name, c := range map[string]struct{ pickle, want string }{
		"other names": {dictionary("names", "]"), "the pickle: found a dictionary of 'names', wanted 'label_names' in it"},
		"too few":     {dictionary("label_names", "]("+str("a")+str("b")+"e"), "['label_names']: found 2 texts, wanted 10"},
		"numbers":     {dictionary("label_names", ints(1)), "['label_names'][0]: found the integer 1, wanted a text"},
		"no coarse":   {dictionary("fine_label_names", "]("+strings.Repeat(str("a"), 100)+"e"), "wanted 'coarse_label_names' in it"},
		"one text":    {dictionary("label_names", str("a")), "['label_names']: found a string of 1 byte, wanted a list of texts"},
	} {
		_, err := ReadCIFARNames(source([]byte(c.pickle + ".")))
		wantError(t, name, err, c.want)
	}
}

func TestCIFARThatIsNone(t *testing.T) {
	data := uint8s(2, 3072)
	for name, c := range map[string]struct{ pickle, want string }{
		"a list":            {"]", "the pickle: found a list of 0, wanted a dictionary"},
		"the file of names": {dictionary("label_names", "]"), "the pickle: found a dictionary of 'label_names', wanted 'data' in it"},
		"empty":             {"}", "the pickle: found an empty dictionary, wanted 'data' in it"},
		"many keys":         {dictionary("a", "N", "b", "N", "c", "N", "d", "N", "e", "N", "f", "N", "g", "N", "h", "N", "i", "N"), "found a dictionary of 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', …, wanted"},
		"evil keys":         {dictionary("\x1b[2J'", "N"), `found a dictionary of "\x1b[2J'", wanted`},
		"data in a list":    {dictionary("data", ints(1)), "['data']: found a list of 1, wanted an array of uint8 [N,3072]"},
		"data of MNIST":     {dictionary("data", uint8s(2, 784)), "['data']: found an array of uint8 [2,784], wanted an array of uint8 [N,3072]"},
		"four axes":         {dictionary("data", uint8s(2, 3, 32, 32)), "found an array of uint8 [2,3,32,32], wanted"},
		"Fortran order":     {dictionary("data", strings.Replace(data, "\x89T", "\x88T", 1)), "['data']: found an array of uint8 in Fortran order [2,3072], wanted"},
		"int8":              {dictionary("data", strings.Replace(data, "u1", "i1", 1)), "['data']: found an array of int8 [2,3072], wanted"},
		"no labels":         {dictionary("data", data), "found a dictionary of 'data', wanted 'labels' in it"},
		"labels of texts":   {dictionary("data", data, "labels", "]("+le(1)+str("a")+"e"), "['labels'][1]: found a string of 1 byte, wanted an integer"},
		"labels in a text":  {dictionary("data", data, "labels", str("a")), "['labels']: found a string of 1 byte, wanted a list or an array of integers"},
		"a label too few":   {dictionary("data", data, "labels", ints(1)), "['labels']: found 1 label, wanted 2, one for each image"},
		"label 10":          {dictionary("data", data, "labels", ints(1, 10)), "['labels'][1]: found 10, wanted 0 to 9"},
		"label -1":          {dictionary("data", data, "labels", ints(-1, 0)), "['labels'][0]: found -1, wanted 0 to 9"},
		"fine label 100":    {dictionary("data", data, "fine_labels", ints(99, 100)), "['fine_labels'][1]: found 100, wanted 0 to 99"},
		"no coarse labels":  {dictionary("data", data, "fine_labels", ints(99, 0)), "wanted 'coarse_labels' in it"},
		"coarse label 20":   {dictionary("data", data, "fine_labels", ints(99, 0), "coarse_labels", ints(20, 0)), "['coarse_labels'][0]: found 20, wanted 0 to 19"},
		"a file too few":    {dictionary("data", data, "labels", ints(1, 2), "filenames", "]"+str("a")+"a"), "['filenames']: found 1 text, wanted 2"},
		"a set":             {"\x8f", "byte 0: the pickle has a set (EMPTY_SET), which is not read"},
	} {
		_, err := ReadCIFAR(source([]byte(c.pickle + ".")))
		wantError(t, name, err, c.want)
	}
}

// miniOf reads a file of images 2×2.
func miniOf(b []byte) (*MiniImageNet, error) {
	root, err := Read(source(b))
	if err != nil {
		return nil, err
	}
	return root.miniImageNet(2)
}

// TestMiniImageNet: the classes are in the order of their images, whatever the order of the dictionary.
func TestMiniImageNet(t *testing.T) {
	for _, name := range []string{"mini-py2.pkl", "mini-5.pkl"} {
		b := file(t, name)
		m, err := miniOf(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.Count != 5 || len(m.Images) != 60 || m.Images[59] != 59 {
			t.Errorf("%s: %d images of %d bytes, want 5 of 60", name, m.Count, len(m.Images))
		}
		if !slices.Equal(m.Classes, []string{"n01", "n02", "n03"}) || !slices.Equal(m.Labels, []int32{0, 0, 1, 1, 2}) {
			t.Errorf("%s: classes %q, labels %v; want n01 n02 n03 and [0 0 1 1 2]", name, m.Classes, m.Labels)
		}
		_, err = ReadMiniImageNet(source(b))
		wantError(t, name, err, "['image_data']: found an array of uint8 [5,2,2,3], wanted an array of uint8 [N,84,84,3]")
	}
}

// TestViewOfMiniImageNet: the images of a file in memory are where they are in the file.
func TestViewOfMiniImageNet(t *testing.T) {
	b := []byte(dictionary("class_dict", dictionary("n01", ints(0, 1)), "image_data", uint8s(2, 84, 84, 3)) + ".")
	m, err := ViewMiniImageNet(b)
	if err != nil || m.Count != 2 || len(m.Images) != 2*84*84*3 {
		t.Fatalf("%+v (%v)", m, err)
	}
	at := bytes.LastIndex(b, make([]byte, len(m.Images)))
	b[at] = 7
	if m.Images[0] != 7 {
		t.Error("the images are a copy")
	}
	if grown := fuzztest.Allocated(0, func() { ViewMiniImageNet(b) }); grown > 1<<14 {
		t.Errorf("%d bytes are allocated for %d images", grown, m.Count)
	}
	_, err = ViewMiniImageNet(b[:len(b)-1])
	wantError(t, "cut off", err, "the file is cut off here")
}

func TestMiniImageNetThatIsNone(t *testing.T) {
	images := uint8s(3, 84, 84, 3)
	for name, c := range map[string]struct{ pickle, want string }{
		"no images":         {"}", "wanted 'image_data' in it"},
		"no classes":        {dictionary("image_data", images), "found a dictionary of 'image_data', wanted 'class_dict' in it"},
		"a list of classes": {dictionary("image_data", images, "class_dict", "]"), "['class_dict']: found a list of 0, wanted a dictionary"},
		"numbered classes":  {dictionary("image_data", images, "class_dict", "}"+le(7)+"]s"), "['class_dict']: found the key 7, wanted texts"},
		"an empty class":    {dictionary("image_data", images, "class_dict", dictionary("n01", "]")), "['class_dict']['n01']: found no images, wanted at least 1"},
		"no list":           {dictionary("image_data", images, "class_dict", dictionary("n01", le(1))), "['class_dict']['n01']: found the integer 1, wanted a list or"},
		"image 3":           {dictionary("image_data", images, "class_dict", dictionary("n01", ints(0, 3))), "['class_dict']['n01'][1]: found 3, wanted 0 to 2"},
		"image -1":          {dictionary("image_data", images, "class_dict", dictionary("n01", ints(-1))), "['class_dict']['n01'][0]: found -1, wanted 0 to 2"},
		"in two classes":    {dictionary("image_data", images, "class_dict", dictionary("n01", ints(0, 1), "n02", ints(2, 1))), "['class_dict']['n02']: found image 1, which is also in 'n01'; wanted one class for each image"},
		"in no class":       {dictionary("image_data", images, "class_dict", dictionary("n01", ints(0, 2))), "['class_dict']: image 1 is in no class; wanted one class for each of 3 images"},
	} {
		_, err := ReadMiniImageNet(source([]byte(c.pickle + ".")))
		wantError(t, name, err, c.want)
	}
}

// TestCORe50: the lists of LUP.pkl and labels.pkl, of integers and of arrays.
func TestCORe50(t *testing.T) {
	for _, name := range []string{"lup-0.pkl", "lup-3.pkl", "lup-4.pkl"} {
		c, err := ReadCORe50(source(file(t, name)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s := c.Scenarios(); !slices.Equal(s, []string{"ni", "nc"}) {
			t.Errorf("%s: scenarios %q, want ni and nc", name, s)
		}
		if n, err := c.Runs("ni"); err != nil || n != 2 {
			t.Errorf("%s: %d runs (%v), want 2", name, n, err)
		}
		for _, run := range []struct {
			scenario string
			run      int
			want     string
		}{{"ni", 0, "[[0 1] [2 3] [4 5]]"}, {"ni", 1, "[[2 3] [0 1] [4 5]]"}, {"nc", 0, "[[3 0] [1] [4 5]]"}} {
			if b, err := c.Batches(run.scenario, run.run, 6); err != nil || fmt.Sprint(b) != run.want {
				t.Errorf("%s: %s, run %d: %v (%v), want %s", name, run.scenario, run.run, b, err, run.want)
			}
		}
		_, err = c.Batches("nic", 0, 6)
		wantError(t, name, err, "the pickle: found a dictionary of 'ni', 'nc', wanted 'nic' in it")
		_, err = c.Runs("nic")
		wantError(t, name, err, "wanted 'nic' in it")
		_, err = c.Batches("ni", 2, 6)
		wantError(t, name, err, "['ni']: found a list of 2, wanted number 2 in it")
		_, err = c.Batches("ni", -1, 6)
		wantError(t, name, err, "['ni']: found a list of 2, wanted number -1 in it")
		_, err = c.Batches("ni", 1, 5)
		wantError(t, name, err, "['ni'][1][2][1]: found 5, wanted 0 to 4")
	}
}

func TestCORe50ThatIsNone(t *testing.T) {
	_, err := ReadCORe50(source([]byte("].")))
	wantError(t, "a list", err, "the pickle: found a list of 0, wanted a dictionary")
	_, err = ReadCORe50(source([]byte("}" + le(1) + "Ns.")))
	wantError(t, "numbers", err, "the pickle: found the key 1, wanted texts")
	again := ints(make([]int, 1000)...) + "q\x00" + strings.Repeat("h\x00", 100)
	for name, c := range map[string]struct{ pickle, want string }{
		"no runs":       {"N", "['ni']: found None, wanted a list"},
		"no batches":    {"(" + le(1) + "l", "['ni'][0]: found the integer 1, wanted a list"},
		"flat":          {"(" + ints(1, 2) + "l", "['ni'][0][0]: found the integer 1, wanted a list or an array of integers"},
		"two axes":      {"((" + uint8s(2, 2) + "ll", "['ni'][0][0]: found an array of uint8 [2,2], wanted a list or an array of integers"},
		"truth values":  {"((" + strings.Replace(uint8s(2), "u1", "b1", 1) + "ll", "['ni'][0][0]: found an array of bool [2], wanted integers"},
		"again & again": {"((" + again + "ll", "['ni'][0]: found more integers than the file has bytes"},
	} {
		f, err := ReadCORe50(source([]byte(dictionary("ni", c.pickle) + ".")))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, err = f.Batches("ni", 0, 100)
		wantError(t, name, err, c.want)
	}
}

func TestCORe50Paths(t *testing.T) {
	paths, err := ReadCORe50Paths(source(file(t, "paths-3.pkl")))
	if err != nil || len(paths) != 6 || paths[5] != "s5/o1/C_05_01_000.png" {
		t.Errorf("%q (%v)", paths, err)
	}
	_, err = ReadCORe50Paths(source([]byte("(" + str("a") + "Nl.")))
	wantError(t, "None", err, "[1]: found None, wanted a text")
}

func TestCORe50Names(t *testing.T) {
	c, err := ReadCORe50Names(source(file(t, "names-3.pkl")))
	if err != nil {
		t.Fatal(err)
	}
	if names, err := c.Names("ni", 0); err != nil || !slices.Equal(names, []string{"can1", "cup1"}) {
		t.Errorf("%q (%v), want can1 and cup1", names, err)
	}
	for name, c := range map[string]struct{ pickle, want string }{
		"a list":        {"]", "['ni'][0]: found a list of 0, wanted a dictionary from labels to names"},
		"a gap":         {"}(" + le(0) + str("a") + le(2) + str("b") + "u", "['ni'][0]: found a dictionary of 0, 2, wanted the labels 0 to 1"},
		"names as keys": {dictionary("can1", le(0)), "found a dictionary of 'can1', wanted the labels 0 to 0"},
		"no text":       {"}" + le(0) + "Ns", "['ni'][0][0]: found None, wanted a text"},
	} {
		f, err := ReadCORe50Names(source([]byte(dictionary("ni", "("+c.pickle+"l") + ".")))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, err = f.Names("ni", 0)
		wantError(t, name, err, c.want)
	}
	_, err = ReadCORe50Names(source([]byte("].")))
	wantError(t, "a list", err, "the pickle: found a list of 0, wanted a dictionary")
}

// TestRealCORe50Names reads the file that CORe50 publishes, where OCL_DATA has it.
func TestRealCORe50Names(t *testing.T) {
	b, err := os.ReadFile(os.Getenv("OCL_DATA") + "/labels2names.pkl")
	if err != nil {
		t.Skip("OCL_DATA has no labels2names.pkl")
	}
	c, err := ReadCORe50Names(source(b))
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range []string{"ni", "nc", "nic"} {
		for run := range 10 {
			if names, err := c.Names(scenario, run); err != nil || len(names) != 50 {
				t.Errorf("%s, run %d: %d names (%v), want 50", scenario, run, len(names), err)
			}
		}
	}
	if names, _ := c.Names("nc", 0); names[1] != "mobile_phone1" {
		t.Errorf("label 1 of run 0 of nc is %q, want mobile_phone1", names[1])
	}
}
