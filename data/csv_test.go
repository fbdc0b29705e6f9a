package data

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ocl/internal/fuzztest"
	"ocl/internal/limit"
)

// listed writes a list beside the image files 1.png to 9.png of the levels 10 to 90, and returns its name.
func listed(t *testing.T, text string) string {
	t.Helper()
	root := photos(t, "1.png", "2.png", "3.png", "4.png", "5.png", "6.png", "7.png", "8.png", "9.png")
	name := filepath.Join(root, "list.csv")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// openCSV opens a list at 8 pixels.
func openCSV(t *testing.T, text string) (*Set, error) {
	t.Helper()
	return Open(t.Context(), Spec{Name: "csv", Dir: listed(t, text), Size: 8})
}

// TestCSVHasLimits: a row that does not end takes little memory, and so does a list of too many images.
func TestCSVHasLimits(t *testing.T) {
	const long = 64 << 20
	for name, c := range map[string]struct{ text, want string }{
		"a line": {"path,label\n1.png,a\n" + strings.Repeat("x", long),
			"line 3: a row has more than 65,536 bytes, which is the limit. Close the quotes"},
		"an open quote": {"path,label\n1.png,a\n\"" + strings.Repeat("x,y\n", long/4),
			"line 3: a row has more than 65,536 bytes"},
		"empty lines": {"path,label\n1.png,a\n" + strings.Repeat("\n", long),
			"line 3: a row has more than 65,536 bytes"},
		"names of columns": {strings.Repeat("path,", long/5), "line 1: a row has more than 65,536 bytes"},
		"a row of commas": {"path,label\n" + strings.Repeat(",", 60_000) + "\n",
			"line 2: the number of fields is not that of the first line"},
		"a field": {"path,label\n" + strings.Repeat("x", 60_000) + ",a\n",
			"line 2: a field has 60,000 bytes, but at most 4,096 are read"},
		"more images": {"path,label\n1,a\n2,a\n3,a\n4,a\n5,a\n",
			"there are more than 4 rows, which is the limit. Use a part of them"},
		"rows of the limit": {"path,label\n1,a\n2,a\n3,a\n4,a\n", ""},
	} {
		const most = 16 << 20
		var err error
		if n := fuzztest.Allocated(most, func() { _, err = readCSV(t.Context(), strings.NewReader(c.text), 4) }); n > most {
			t.Errorf("%s: %d bytes are allocated", name, n)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: the error is %v, not %s", name, err, c.want)
		}
	}
}

// TestCSVIsCountedFirst: of a list that is too long no row is checked, as that takes half a minute; lines within quotes
// and empty ones are no rows.
func TestCSVIsCountedFirst(t *testing.T) {
	if _, err := openCSV(t, "path,label\n"+strings.Repeat("x\n", limit.SetImages+1)); err == nil ||
		!strings.Contains(err.Error(), "there are more than 5,000,000 rows, which is the limit") {
		t.Errorf("the error is %v", err)
	}
	for text, want := range map[string]bool{"p,l\n1,a\n2,a": true, "p,l\n\n\r\n\"1\n\n\",\"a\"\"\n\"\n\n2,a\n": true,
		"p,l\n1,a\n2,a\n3,a\n": false, "": true} {
		if err := fewRows(t.Context(), strings.NewReader(text), 2); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestCSVForms: what spreadsheets write is one and the same list: a mark at the beginning, ends of lines of Windows,
// quotes, blanks, blank lines, columns in another order, capitals.
func TestCSVForms(t *testing.T) {
	for name, text := range map[string]string{
		"plain":        "path,label,split\n1.png,cat,train\n2.png,dog,train\n3.png,cat,test\n",
		"mark":         "\ufeffpath,label,split\n1.png,cat,train\n2.png,dog,train\n3.png,cat,test\n",
		"windows":      "path,label,split\r\n1.png,cat,train\r\n2.png,dog,train\r\n3.png,cat,test",
		"semicolons":   "\ufeffpath;label;split\r\n1.png;cat;train\r\n2.png;dog;train\r\n3.png;cat;test\r\n",
		"tabs":         "path\tlabel\tsplit\n1.png\tcat\ttrain\n2.png\tdog\ttrain\n3.png\tcat\ttest\n",
		"quotes":       "\"path\",\"label\",\"split\"\n\"1.png\",\"cat\",\"train\"\n2.png,\"dog\",train\n3.png,cat,test\n",
		"blanks":       "path, label , split\n 1.png , cat, train\n\n2.png,dog ,train \n3.png,cat,test\n\n",
		"order":        "SPLIT,Label,Path\nTrain,cat,1.png\ntrain,dog,2.png\ntest,cat,3.png\n",
		"val":          "path,label,split\n1.png,cat,train\n2.png,dog,train\n3.png,cat,val\n",
		"val and test": "filename,label,split\n1.png,cat,train\n2.png,dog,train\n3.png,cat,test\n4.png,cat,val\n",
		"no tasks":     "path,label,split,task\n1.png,cat,train,\n2.png,dog,train,\n3.png,cat,test,\n",
		"places":       "path,label,split\n./1.png,cat,train\n../ROOT/2.png,dog,train\nABS/3.png,cat,test\n",
	} {
		file := listed(t, text)
		dir := filepath.Dir(file)
		text = strings.NewReplacer("ROOT", filepath.Base(dir), "ABS", filepath.ToSlash(dir)).Replace(text)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		set, err := Open(t.Context(), Spec{Name: "csv", Dir: file, Size: 8})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		train, test := levels(t, set, set.Train), levels(t, set, set.Test)
		if !slices.Equal(train, []string{"cat 10", "dog 20"}) || !slices.Equal(test, []string{"cat 30"}) || set.Tasks != 0 ||
			set.Train.Task != nil {
			t.Errorf("%s: %q and %q, %d tasks", name, train, test, set.Tasks)
		}
		var notes []string
		if name == "val and test" {
			notes = []string{"1 row of the split val left out, as there are rows of test"}
		}
		if !slices.Equal(set.Notes, notes) {
			t.Errorf("%s: notes %q", name, set.Notes)
		}
	}
}

// TestCSVLabels: whole numbers are in their order, and become classes without gaps; one name makes names of all.
func TestCSVLabels(t *testing.T) {
	for text, want := range map[string][]string{
		"10,9,-3,09": {"-3", "9", "10"},
		"10,9,-3,x":  {"-3", "10", "9", "x"},
		"b,a,c,a":    {"a", "b", "c"},
	} {
		list := "path,label,split\n"
		for i, label := range strings.Split(text, ",") {
			list += fmt.Sprintf("%d.png,%s,train\n", i+1, label)
		}
		set, err := openCSV(t, list+"9.png,"+want[0]+",test\n")
		if err != nil || !slices.Equal(set.ClassNames, want) || set.Classes != len(want) {
			t.Errorf("%s: %v, want the classes %q", text, err, want)
		}
	}
}

// TestCSVTasks: numbers are in their order, from 0 or 1; names in that of their first rows. Test rows have tasks or
// not.
func TestCSVTasks(t *testing.T) {
	const head = "path,label,task,split\n"
	for _, c := range []struct {
		tasks       [3]string
		test        [2]string
		train, want []int32
		names       []string
	}{
		{[3]string{"1", "0", "1"}, [2]string{"0", "1"}, []int32{1, 0, 1}, []int32{0, 1}, nil},
		{[3]string{"3", "1", "2"}, [2]string{"2", "2"}, []int32{2, 0, 1}, []int32{1, 1}, nil},
		{[3]string{"spring", "autumn", "spring"}, [2]string{"autumn", "spring"}, []int32{0, 1, 0}, []int32{1, 0},
			[]string{"spring", "autumn"}},
		{[3]string{"2", "b", "1"}, [2]string{"b", "1"}, []int32{0, 1, 2}, []int32{1, 2}, []string{"2", "b", "1"}},
		{[3]string{"2", "1", "2"}, [2]string{"", ""}, []int32{1, 0, 1}, nil, nil},
	} {
		text := head + fmt.Sprintf("1.png,a,%s,train\n2.png,b,%s,train\n3.png,a,%s,train\n", c.tasks[0], c.tasks[1],
			c.tasks[2]) +
			fmt.Sprintf("4.png,a,%s,test\n5.png,b,%s,test\n", c.test[0], c.test[1])
		set, err := openCSV(t, text)
		if err != nil {
			t.Errorf("%v: %v", c.tasks, err)
			continue
		}
		if !slices.Equal(set.Train.Task, c.train) || !slices.Equal(set.Test.Task, c.want) ||
			(set.Test.Task == nil) != (c.want == nil) || set.Tasks != int(slices.Max(c.train))+1 ||
			!slices.Equal(set.TaskNames, c.names) {
			t.Errorf("%v: %v and %v of %d tasks, want %v and %v", c.tasks, set.Train.Task, set.Test.Task, set.Tasks, c.train,
				c.want)
		}
	}
	a, errA := openCSV(t, head+"1.png,a,1,train\n2.png,b,1,train\n3.png,a,2,train\n4.png,a,,test\n")
	b, errB := openCSV(t, head+"1.png,a,1,train\n2.png,b,2,train\n3.png,a,2,train\n4.png,a,,test\n")
	if errA != nil || errB != nil || a.Digest == b.Digest {
		t.Errorf("the tasks are no part of the digest: %v, %v", errA, errB)
	}
}

// TestCSVInThisFolder: a fault of a list that is given without its folder names the list, and the list of caches says
// where the list is whatever folder a person looks from.
func TestCSVInThisFolder(t *testing.T) {
	file := listed(t, "path,label,split\n1.png,cat,train\n2.png,dog,train\nnone.png,cat,test\n")
	t.Chdir(filepath.Dir(file))
	_, err := Open(t.Context(), Spec{Name: "csv", Dir: "list.csv", Size: 8})
	const want = "data: csv: list.csv: cannot read 1 file: line 4: none.png: no such file or directory. Get what is missing again, or correct the list"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := os.WriteFile(file, []byte("path,label,split\n1.png,cat,train\n2.png,dog,train\n3.png,cat,test\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Spec{Name: "csv", Dir: "list.csv", Size: 8}); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("list.csv")
	if err != nil {
		t.Fatal(err)
	}
	if list, err := Caches(); err != nil || len(list) != 1 || list[0].Source != here {
		t.Errorf("caches %+v (%v), want one of %s", list, err, here)
	}
}

// TestCSVSplit: without a split a fifth of each class of each task is for testing.
func TestCSVSplit(t *testing.T) {
	text := "path,label,task\n"
	for i := range 9 {
		text += fmt.Sprintf("%d.png,%c,%d\n", i+1, "ab"[i/6], i%6/3)
	}
	set, err := openCSV(t, text)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for i, y := range set.Test.Y {
		got[fmt.Sprint(set.ClassName(int(y)), set.Test.Task[i])]++
	}
	if len(got) != 3 || got["a0"] != 1 || got["a1"] != 1 || got["b0"] != 1 || set.Train.Len() != 6 {
		t.Errorf("for testing %v, %d for training", got, set.Train.Len())
	}
}

// TestCSVFaults: each fault of a list is named with its line and what to do.
func TestCSVFaults(t *testing.T) {
	const good = "path,label\n1.png,a\n2.png,a\n3.png,a\n4.png,b\n"
	for _, c := range []struct{ text, want string }{
		{"", "the file is empty. The first line names"},
		{"path,label\n", "there is no row after the names of the columns"},
		{"path;label\n1.png;a\n", "there is one class, a, but at least two"},
		{"path:label\n1.png:a\n", "line 1: no column has the files of the images. The columns are path:label. Use path,label"},
		{"\xff\xfep\x00a\x00", "the file is UTF-16. Save the list as CSV UTF-8"},
		{"path,label\r1.png,a\r2.png,b\r", "line 1: its end is a carriage return alone"},
		{"path,label\n1.png,caf\xe9\n", `line 2: the label "caf\xe9" is not UTF-8. Save the list as CSV UTF-8`},
		{"1.png,a\n2.png,b\n", "line 1: no column has the files of the images. The columns are 1.png, a. "},
		{"path,label,spilt\n", `line 1: "spilt" is no name of a column`},
		{"path,path,label\n", "line 1: the column path is there twice"},
		{"path,task\n1.png,a\n", "line 1: there is no column label"},
		{good + "5.png\n", "line 6: the number of fields is not that of the first line"},
		{good + "5.png,a,b\n", "line 6: the number of fields"},
		{good + "5.png,\"a\n", "line 6, column 10: a quote stands within a field or is not closed"},
		{good + "5\".png,a\n", "line 6, column 2: a quote"},
		{good + "5.png,\n", "line 6: the label is empty. Fill it in"},
		{good + ",a\n", "line 6: the path is empty"},
		{good + "5.png,\x1b[2J\n", `line 6: the label "\x1b[2J" is too long or cannot be printed`},
		{good + "5.png," + strings.Repeat("x", 201) + "\n", "line 6: the label"},
		{"path,label,task\n1.png,a,\"a\x1bb\"\n", `line 2: the task "a\x1bb" is too long or cannot be printed`},
		{good + strings.Repeat("x", 5000) + ",a\n", "line 6: a field has 5,000 bytes, but at most 4,096"},
		{good + "3.png,b\n", "line 6: 3.png is listed on line 4 already. List each image once"},
		{good + "./3.png,a\n", "line 6: ./3.png is listed on line 4 already"},
		{good + "5.png,a\nno.png,b\nx/no.png,b\n",
			"cannot read 2 files: line 7: no.png: no such file or directory, line 8: x/no.png"},
		{good + "n1,a\nn2,a\nn3,a\nn4,a\nn5,a\nn6,a\nn7,a\n",
			"cannot read 7 files: line 6: n1: no such file or directory, line 7: n2: no such file or directory, line 8: n3: " +
				"no such file or directory, line 9: n4: no such file or directory, line 10: n5: no such file or directory, and 2 more"},
		{good + "list.csv,b\n", "line 6: list.csv: "},
		{"path,label\n1.png,a\n2.png,a\n3.png,a\n", "there is one class, a, but at least two are needed"},
		{"path,label\n1.png,a\n2.png,b\n3.png,c\n", "no class has three images"},
		{"path,label,split\n1.png,a,train\n2.png,b,tset\n", `line 3: "tset" is no split. Use train, test or val`},
		{"path,label,split\n1.png,a,train\n2.png,b,\n", "line 3: the split is empty, but other rows have one"},
		{"path,label,split\n1.png,a,train\n2.png,b,train\n", "every row has the split train. Add rows with test"},
		{"path,label,split\n1.png,a,test\n2.png,b,val\n", "no row has the split train"},
		{"path,label,split\n1.png,a,train\n2.png,b,train\n3.png,c,test\n",
			"line 4: the class c has no image for training. Add some"},
		{"path,label,task,split\n1.png,a,1,train\n2.png,b,2,train\n3.png,a,1,test\n4.png,b,,test\n",
			"line 5: of the test rows some have a task and some have none, as on line 4"},
		{"path,label,task,split\n1.png,a,1,train\n2.png,b,2,train\n3.png,a,3,test\n",
			"line 4: task 3 has no image for training"},
		{"path,label,task,split\n1.png,a,1,train\n2.png,b,,train\n3.png,a,1,test\n",
			"line 3: the task is empty, but line 2 has one"},
		{"path,label,task,split\n1.png,a,,train\n2.png,b,,train\n3.png,a,1,test\n",
			"line 2: the task is empty, but line 4 has one"},
		{"path,label,task,split\n1.png,a,1,train\n2.png,b,3,train\n3.png,a,1,test\n",
			"task 2 has no image for training, but task 3 has. Count the tasks anew"},
		{"path,label,task,split\n1.png,a,2,train\n2.png,b,3,train\n3.png,a,2,test\n",
			"the first task with training images is 2, but tasks are counted from 0 or 1"},
	} {
		_, err := openCSV(t, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80q: got %v, want it to say %q", c.text, err, c.want)
			continue
		}
		plainMessage(t, err)
	}
	name := listed(t, good)
	for dir, want := range map[string]string{
		"": "no file is given. Use --data-dir FILE.csv", name + "x": "list.csvx: ",
		filepath.Dir(name): "this is a folder. Use --data-dir FILE.csv",
	} {
		if _, err := Open(t.Context(), Spec{Name: "csv", Dir: dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want it to say %q", dir, err, want)
		}
	}
	if err := os.Truncate(name, limit.ImageList+1); err == nil { // takes no room
		if _, err := Open(t.Context(), Spec{Name: "csv", Dir: name}); err == nil ||
			!strings.Contains(err.Error(), "it has 1,073,741,825 bytes, and 1,073,741,824 are the limit") {
			t.Errorf("a file of a gigabyte: %v", err)
		}
	}
}

// FuzzCSV reads lists: good ones with changes, and any bytes. What is read has classes and tasks without gaps and each
// image once.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{
		"path,label\n1.png,a\n2.png,a\n3.png,a\n4.png,b\n",
		"\ufeffsplit,task,label,path\r\ntrain,1,7,a/1.png\r\ntrain,2,\"9\",\"a/2.png\"\r\ntest,,7,b.png\r\nval,,7,c.png\r\n",
		"path,label,task\n1,a,x\n2,a,x\n3,a,x\n4,b,y\n5,b,y\n6,b,y\n",
	} {
		f.Add([]byte(text), []byte{})
		f.Add([]byte(text), []byte{20, 5, 'x', 3, 6, 9})
	}
	f.Fuzz(func(t *testing.T, text, choices []byte) {
		for c := fuzztest.Of(choices); c.More(); {
			text = fuzztest.Bytes(text, c)
		}
		var l *listing
		var err error
		most := uint64(500*len(text) + 1<<20)
		if n := fuzztest.Allocated(most, func() {
			l = newListing("csv", Spec{Dir: "list.csv"})
			var rows ownRows
			if rows, err = readCSV(t.Context(), strings.NewReader(string(text)), 100); err == nil {
				err = rows.fill(l, Spec{Seed: 1}, true)
			}
		}); n > most {
			t.Fatalf("%d bytes were allocated for a list of %d", n, len(text))
		}
		if err != nil {
			plainMessage(t, err)
			return
		}
		set, trained, tested := l.set, make([]bool, l.set.Classes), 0
		tasks := make([]bool, max(set.Tasks, 1))
		seen := map[string]bool{}
		for i, e := range l.entries {
			if seen[l.pictures.files[i]] {
				t.Errorf("%q is there twice", l.pictures.files[i])
			}
			seen[l.pictures.files[i]] = true
			if e.test {
				tested++
				continue
			}
			trained[e.label], tasks[e.task] = true, true
		}
		if tested == 0 || slices.Contains(trained, false) || slices.Contains(tasks, false) ||
			len(set.ClassNames) != set.Classes {
			t.Errorf("%d test images, classes %v, tasks %v, names %q", tested, trained, tasks, set.ClassNames)
		}
		for _, name := range set.ClassNames {
			if !utf8.ValidString(name) {
				t.Errorf("name %q", name)
			}
		}
		plainMessage(t, errors.New(strings.Join(set.Notes, " ")))
	})
}
