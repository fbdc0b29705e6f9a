package data

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/internal/exiftest"
	"ocl/internal/fuzztest"
)

// layout is a folder in one of the layouts in which pictures are found, and what is read of it.
type layout struct {
	name    string
	files   string            // images, by their paths
	texts   map[string]string // other files
	reading string            // data.reading
	below   string            // what --data-dir names; "" is the folder itself
	train   string            // the images for training, as class and file
	test    string            // those for testing, where the files say so
	says    string            // part of the reading
	note    string            // part of a note
	fault   string            // part of the error, in place of all that
}

const tinyLines = "a.png\tn01443537\t0\t0\t1\t1\n"

var layouts = []layout{
	{name: "class folders", files: "cat/1.png cat/2.jfif cat/3 dog/1.png dog/2.png dog/3.png", train: "cat cat cat dog dog dog",
		says: "each folder is a class"},
	{name: "halves", files: "train/cat/1.png train/dog/2.png valid/cat/3.png", train: "cat dog", test: "cat",
		says: "each folder in train is a class; valid is for testing"},
	{name: "halves twice as deep", files: "seg_train/seg_train/cat/1.png seg_train/seg_train/dog/1.png seg_test/seg_test/dog/2.png seg_pred/9.png",
		train: "cat dog", test: "dog", note: "folders beside seg_train are not used: seg_pred"},
	{name: "a folder too high", files: "a/b/training_set/cat/1.png a/b/training_set/dog/1.png a/b/test_set/dog/2.png a/readme.txt",
		train: "cat dog", test: "dog", note: "all images lie in the folder a, which is read"},
	{name: "Kaggle's flat train", files: "train/cat.0.jpg train/cat.1.jpg train/cat.2.jpg train/dog.0.jpg train/dog.1.jpg train/dog.2.jpg test1/1.jpg",
		train: "cat cat cat dog dog dog", says: "the names of the images in train begin with the class, as cat.0.jpg does",
		note: "the folder test1 is not used, as the names of its images have no class"},
	{name: "Kaggle's flat train twice as deep",
		files: "train/train/cat.0.jpg train/train/cat.1.jpg train/train/cat.2.jpg train/train/dog.0.jpg test/test/1.jpg",
		train: "cat cat cat dog", says: "the names of the images in train/train begin with the class"},
	{name: "images and something else", files: "Images/cat/1.png Images/cat/2.png Images/cat/3.png Images/dog/1.png Annotation/cat/1.xml",
		train: "cat cat cat dog", note: "all images lie in the folder Images, which is read"},
	{name: "images and annotations", files: "images/cat_1.png images/dog_2.png annotations/trimaps/cat_1.png",
		fault: "annotations and images look like parts of a data set and not like classes. Choose one, and give the same words to other commands: " +
			"`ocl data info folder --data-dir ROOT data.reading=folders`, `ocl data info folder --data-dir ROOT/annotations`, `ocl data info folder --data-dir ROOT/images`"},
	{name: "images in a folder", files: "images/cat.1.png images/cat.2.png images/cat.3.png images/dog.1.png", train: "cat cat cat dog"},
	{name: "flat halves", files: "train/cat.0.jpg train/dog.1.jpg val/dog.7.jpg", train: "cat dog", test: "dog"},
	{name: "flat", files: "cat.0.jpg cat.1.jpg cat.2.jpg dog.0.jpg dog.1.jpg dog.2.jpg", train: "cat cat cat dog dog dog"},
	{name: "other names", files: "Abyssinian_1.jpg Abyssinian_2.jpg great_pyrenees_1.jpg great_pyrenees_2.jpg",
		fault: "no folders say the classes, but the names of the images may: Abyssinian, great_pyrenees. If they do not, move the images of each class into a folder that has its name. " +
			"Choose one, and give the same words to other commands: `ocl data info folder --data-dir ROOT data.reading=names`"},
	{name: "names that are asked for", reading: ReadNames,
		files: "images/n02085620_7.jpg images/n02085620_8.jpg images/n02085620_9.jpg images/great_dane_(1).jpg",
		train: "great_dane n02085620 n02085620 n02085620"},
	{name: "names that are asked for and absent", reading: ReadNames, files: "cat_1.jpg dog.jpg",
		fault: "1 of 2 images without a class and a number in the name, as cat.12.jpg has them, such as dog.jpg"},
	{name: "names of cameras", files: "IMG_1.jpg IMG_2.jpg DSC_1.jpg DSC_2.jpg", fault: "the images lie in the folder itself"},
	{name: "metadata.csv", files: "1.png 2.png a/3.png", texts: map[string]string{
		"metadata.csv": "file_name,label,photographer\n1.png,cat,x\n2.png,cat,y\na/3.png,cat,z\n3.png,dog,z\n"},
		fault: "cannot read 1 file: line 5: 3.png"},
	{name: "metadata.csv for halves", files: "train/1.png train/2.png test/3.png", texts: map[string]string{
		"metadata.csv": "photo_file_name,label,photographer\ntrain/1.png,cat,x\ntrain/2.png,dog,y\ntest/3.png,dog,z\n"},
		train: "cat dog", test: "dog", says: "metadata.csv lists the images, with the class of each, as on Hugging Face",
		note: "columns that are not used: photographer"},
	{name: "metadata.jsonl in each half", files: "train/1.png train/2.png dev/3.png", texts: map[string]string{
		"train/metadata.jsonl": `{"file_name":"1.png","label":1,"box":[1,2]}` + "\n\n" + `{"file_name":"2.png","label":10}` + "\n",
		"dev/metadata.jsonl":   `{"file_name":"3.png","label":10,"other":{}}`},
		train: "1 10", test: "10", says: "dev/metadata.jsonl and train/metadata.jsonl list the images"},
	{name: "metadata without a label", files: "cat/1.png dog/2.png", texts: map[string]string{
		"metadata.csv": "file_name,breed,colour\ncat/1.png,x,red\ndog/2.png,y,red\n"},
		fault: "line 1: there is no column label. Choose one, and give the same words to other commands: `ocl data info folder --data-dir ROOT data.reading=folders`, " +
			"`ocl data info folder --data-dir ROOT data.reading=list:breed`, `ocl data info folder --data-dir ROOT data.reading=list:colour`"},
	{name: "metadata without a label or class folders", files: "train/1.png train/2.png", texts: map[string]string{
		"metadata.csv": "file_name,breed\ntrain/1.png,x\ntrain/2.png,y\n"},
		fault: "Choose one, and give the same words to other commands: `ocl data info folder --data-dir ROOT data.reading=list:breed`"},
	{name: "a column that is asked for", reading: "list:Breed", files: "1.png 2.png 3.png 4.png", texts: map[string]string{
		"metadata.csv": "file_name,breed\n1.png,x\n2.png,x\n3.png,x\n4.png,y\n"}, train: "x x x y",
		says: "with the class of each in the column Breed"},
	{name: "a column that is absent", reading: "list:breed", files: "1.png", texts: map[string]string{
		"metadata.csv": "file_name,label\n1.png,x\n"}, fault: `there is no column "breed". The columns are file_name, label`},
	{name: "metadata of something else", files: "cat/1.png cat/2.png cat/3.png dog/1.png", texts: map[string]string{
		"metadata.csv": "class,colour\ncat,red\n"}, train: "cat cat cat dog", says: "each folder is a class"},
	{name: "Parquet", files: "1.png", texts: map[string]string{"metadata.parquet": "PAR1"}, fault: "this is Parquet, which is not read. Write the list as CSV"},
	{name: "a list in a folder", files: "i/1.png i/2.png i/3.png i/4.png", texts: map[string]string{
		"labels.csv": "filepaths,class\ni/1.png,x\ni/2.png,x\ni/3.png,x\ni/4.png,y\n"}, train: "x x x y",
		says: "labels.csv lists the images"},
	{name: "lists in a folder", files: "1.png", texts: map[string]string{"a.csv": "path,label\n1.png,x\n",
		"b.csv": "path,label\n1.png,y\n"},
		fault: "several files list images: a.csv, b.csv. Choose one, and give the same words to other commands: `ocl data info folder --data-dir ROOT/a.csv`, `ocl data info folder --data-dir ROOT/b.csv`"},
	{name: "a list that agrees with folders", files: "Cat/1.png Cat/2.png Cat/3.png dog/1.png", texts: map[string]string{
		"l.csv": "path,label\nCat/1.png,cat\ndog/1.png,dog\nold/1.png,dog\n"}, train: "Cat Cat Cat dog",
		says: "each folder is a class"},
	{name: "a list against folders", files: "cat/1.png cat/2.png cat/3.png dog/1.png", texts: map[string]string{
		"l.csv": "path,label\ncat/1.png,cat\ndog/1.png,wolf\n"},
		fault: "line 3 of l.csv says that dog/1.png is wolf, and it is in the folder of dog. Choose one, and give the same words to other commands: " +
			"`ocl data info folder --data-dir ROOT data.reading=folders`, `ocl data info folder --data-dir ROOT/l.csv`"},
	{name: "folders against a list", reading: ReadFolders, files: "cat/1.png cat/2.png cat/3.png dog/1.png",
		texts: map[string]string{"l.csv": "path,label\ncat/1.png,cat\ndog/1.png,wolf\n"}, train: "cat cat cat dog"},
	{name: "folders that look like sets", reading: ReadFolders, files: "photos/a/1.png photos/a/2.png photos/b/3.png more/c/1.png",
		train: "more photos photos photos"},
	{name: "a list that is given", below: "l.tsv", files: "1.png 2.png 3.png 4.png", texts: map[string]string{
		"l.tsv": "image\tcategory\tsubset\n1.png\tx\ttraining\n2.png\ty\ttraining\n3.png\ty\tvalidation\n"}, train: "x y",
		test: "y"},
	{name: "Tiny-ImageNet", files: "train/n01443537/images/1.png train/n01629819/images/2.png val/images/a.png test/images/t.png",
		texts: map[string]string{"val/" + valAnnotations: tinyLines, "wnids.txt": ""}, train: "n01443537 n01629819",
		test: "n01443537", says: "val is for testing, with the classes of val/val_annotations.txt, as in Tiny-ImageNet"},
	{name: "CUB", files: "CUB_200_2011/images/001.Albatross/a_1.png CUB_200_2011/images/001.Albatross/a_2.png CUB_200_2011/images/002.Auk/b.png",
		texts: cub(), train: "001.Albatross 002.Auk", test: "001.Albatross",
		says: "images.txt, image_class_labels.txt and train_test_split.txt say file, class and half of each image, as in CUB-200-2011"},
	{name: "CUB without a half", files: "images/a.png", texts: map[string]string{birdImages: "1 a.png\n2 b.png\n",
		birdLabels: "1 1\n2 1\n", birdHalves: "1 1\n"}, fault: "image 2 of images.txt has no class in image_class_labels.txt, or neither 0 nor 1"},
	{name: "CUB outside", files: "images/a.png", texts: map[string]string{birdImages: "1 ../a.png\n",
		birdLabels: "1 1\n", birdHalves: "1 1\n"}, fault: "line 1 is \"1 ../a.png"},
	{name: "Roboflow's folders", files: "train/cat/1.png train/dog/2.png valid/cat/3.png test/dog/4.png",
		texts: map[string]string{"README.roboflow.txt": "x"}, train: "cat dog", test: "dog",
		note: "the folder valid is not used, as there is test"},
	{name: "Roboflow's columns", files: "train/1.png train/2.png valid/3.png", texts: map[string]string{
		"train/_classes.csv": "filename, Cat, Dog\n1.png, 1, 0\n2.png,0,1\n", "valid/_classes.csv": "filename, Cat, Dog\n3.png,0,1\n"},
		train: "Cat Dog", test: "Dog", says: "the columns of _classes.csv say the class"},
	{name: "Roboflow's several classes", files: "train/1.png", texts: map[string]string{
		"train/_classes.csv": "filename, Cat, Dog\n1.png, 1, 1\n"},
		fault: "1 image has no class or several, such as line 2 of train/_classes.csv"},
	{name: "Roboflow's boxes", files: "train/1.png", texts: map[string]string{"train/_annotations.coco.json": "{}"},
		fault: "these are boxes of objects in images"},
	{name: "Teachable Machine", texts: map[string]string{"keras_model.h5": "x", "labels.txt": "0 cat\n"},
		fault: "this is a model of Teachable Machine, which has no pictures. Download the samples of each class there, and unpack them into ROOT/CLASS"},
	{name: "Label Studio's CSV", files: "u/1/0123abcd-a.png u/1/0123abcd-b.png c.png d.png", texts: map[string]string{
		"project-1.csv": "annotation_id,annotator,choice,created_at,id,image,lead_time,updated_at\n" +
			"1,1,cat,x,1,/data/upload/1/0123abcd-a.png,1,x\n2,1,dog,x,2,/data/upload/1/0123abcd-b.png,1,x\n" +
			"3,1,cat,x,3,http://localhost:8080/data/upload/1/99999999-c.png,1,x\n4,1,cat,x,4,/data/local-files/?d=my/d.png,1,x\n" +
			"5,1,,x,5,/data/upload/1/x.png,1,x\n6,1,\"{\"\"choices\"\":[\"\"cat\"\",\"\"dog\"\"]}\",x,6,/data/upload/1/y.png,1,x\n"},
		train: "cat cat cat dog", says: "an export of Label Studio says the class of each image",
		note: "1 task with several classes left out"},
	{name: "Label Studio's JSON", files: "a.png b.png c.png d.png e.png", texts: map[string]string{
		"p.json": `[` + lsTask("a", "cat") + `,` + lsTask("b", "cat") + `,` + lsTask("c", "cat") + `,` + lsTask("d", "dog") + `,` +
			lsTask("e", "cat", "dog") + `,{"data":{"image":"/data/upload/1/f.png"},"annotations":[{"was_cancelled":true,"result":[]}]}]`},
		train: "cat cat cat dog", note: "1 image whose annotations differ left out"},
	{name: "Label Studio's JSON_MIN", below: "p.json", files: "a.png b.png c.png d.png", texts: map[string]string{"p.json": `[
		{"image":"/data/upload/1/a.png","id":1,"choice":"cat","annotator":1,"annotation_id":1,"created_at":"x","updated_at":"x","lead_time":1.5},
		{"image":"/data/upload/1/b.png","id":2,"choice":"cat","annotator":1,"annotation_id":2,"created_at":"x","updated_at":"x","lead_time":1.5},
		{"image":"/data/upload/1/c.png","id":3,"choice":"cat","annotator":1,"annotation_id":3,"created_at":"x","updated_at":"x","lead_time":1.5},
		{"image":"/data/upload/1/d.png","id":4,"choice":"dog","annotator":1,"annotation_id":4,"created_at":"x","updated_at":"x","lead_time":1.5}]`},
		train: "cat cat cat dog"},
	{name: "Label Studio without pictures", texts: map[string]string{"p.json": `[` + lsTask("a", "cat") + `]`},
		fault: "an export of Label Studio has no pictures, and 1 image is not below ROOT: 0123abcd-a.png. Copy them beside the export"},
	{name: "Label Studio with two choices", files: "a.png", texts: map[string]string{
		"p.csv": "annotation_id,annotator,kind,colour,created_at,id,image,lead_time,updated_at\n1,1,cat,red,x,1,/data/upload/1/a.png,1,x\n"},
		fault: "several columns of this export of Label Studio may have the class. Choose one, and give the same words to other commands: " +
			"`ocl data info folder --data-dir ROOT data.reading=list:kind`, `ocl data info folder --data-dir ROOT data.reading=list:colour`"},
	{name: "arrays", texts: map[string]string{"pathmnist.npz": "PK", "bloodmnist_64.npz": "PK"},
		fault: "there are arrays, as of MedMNIST, and no images. Write `ocl data info npz --data-dir ROOT/bloodmnist_64.npz` or `ocl data info npz --data-dir ROOT/pathmnist.npz`"},
	{name: "an archive", below: "a.zip", texts: map[string]string{"a.zip": "PK"}, fault: "this is an archive. Unpack it"},
	{name: "names without case", files: "Cat/1.png cat/2.png cat/3.png dog/1.png", train: "cat cat cat dog",
		note: "Cat and cat are one class, as names are compared without case. It is called cat, as 2 of its 3 training images are"},
	{name: "names without case, as many", files: "train/Cat/1.png train/cat/2.png train/dog/1.png test/CAT/3.png", train: "Cat Cat dog",
		test: "Cat", note: "Cat, cat and CAT are one class, as names are compared without case. It is called Cat, as the first of its images is"},
	{name: "labels without case", below: "l.csv", files: "1.png 2.png 3.png 4.png", texts: map[string]string{
		"l.csv": "path,label\n1.png,CAT\n2.png,cat\n3.png,cat\n4.png,dog\n"}, train: "cat cat cat dog",
		note: "CAT and cat are one class"},
	{name: "a reading that is none", reading: "guess", files: "cat/1.png", fault: `data.reading: "guess" is unknown. Use folders, names, list or list:COLUMN`},
	{name: "folders of a file", reading: ReadNames, below: "l.csv", texts: map[string]string{"l.csv": "x"},
		fault: "data.reading is names, but this is a file. Give the folder of the images"},
}

// cub are the lists of CUB-200-2011 for three images.
func cub() map[string]string {
	return map[string]string{
		"attributes.txt":              "x",
		"CUB_200_2011/" + birdImages:  "1 001.Albatross/a_1.png\n2 001.Albatross/a_2.png\n3 002.Auk/b.png\n",
		"CUB_200_2011/" + birdLabels:  "1 1\n2 1\n3 2\n",
		"CUB_200_2011/" + birdHalves:  "1 1\n2 0\n3 1\n",
		"CUB_200_2011/" + birdClasses: "1 001.Albatross\n2 002.Auk\n",
	}
}

// lsTask is a task of Label Studio's JSON with an annotation for each class.
func lsTask(file string, classes ...string) string {
	var all []string
	for _, class := range classes {
		all = append(all, fmt.Sprintf(`{"was_cancelled":false,"result":[{"type":"choices","from_name":"choice","to_name":"image","value":{"choices":[%q]}}]}`,
			class))
	}
	return fmt.Sprintf(`{"id":1,"data":{"image":"/data/upload/1/0123abcd-%s.png"},"annotations":[%s]}`, file,
		strings.Join(all, ","))
}

// laid writes the files of a layout, and returns what --data-dir names.
func laid(t *testing.T, c layout) (root, dir string) {
	t.Helper()
	root = photos(t, strings.Fields(c.files)...)
	for _, name := range strings.Fields(c.files) {
		if ending := filepath.Ext(name); ending == "" || ending == ".jfif" {
			putFile(t, filepath.Join(root, filepath.FromSlash(name)), square(t, "a.jpg", 50, 9, 9))
		}
	}
	for name, text := range c.texts {
		putFile(t, filepath.Join(root, filepath.FromSlash(name)), []byte(text))
	}
	return root, filepath.Join(root, c.below)
}

// TestLayouts: each layout in which people have pictures is named and read, or refused with what to do. Where several
// readings are possible, the choices are commands.
func TestLayouts(t *testing.T) {
	for _, c := range layouts {
		root, dir := laid(t, c)
		set, err := Open(t.Context(), Spec{Name: "folder", Dir: dir, Size: 8, Reading: c.reading})
		if c.fault != "" {
			want := strings.ReplaceAll(c.fault, "ROOT", root)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v,\nwanted %s", c.name, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		names := func(s Split) (all []string) {
			for _, y := range s.Y {
				all = append(all, set.ClassName(int(y)))
			}
			slices.Sort(all)
			return all
		}
		train, test := names(set.Train), names(set.Test)
		if c.test == "" {
			train, test = append(train, test...), nil
			slices.Sort(train)
		}
		if strings.Join(train, " ") != c.train || strings.Join(test, " ") != c.test {
			t.Errorf("%s: %q for training and %q for testing", c.name, train, test)
		}
		if !strings.Contains(set.Reading, c.says) || set.Reading == "" || strings.HasSuffix(set.Reading, ".") {
			t.Errorf("%s: the reading is %q, wanted %q", c.name, set.Reading, c.says)
		}
		plain := strings.HasPrefix(set.Reading, "each folder")
		if plain == slices.Contains(set.Notes, set.Reading) {
			t.Errorf("%s: of the reading %q the notes are %q", c.name, set.Reading, set.Notes)
		}
		if all := strings.Join(set.Notes, "\n"); !strings.Contains(all, c.note) {
			t.Errorf("%s: notes\n%s\nwanted %s", c.name, all, c.note)
		}
		for _, note := range append(set.Notes, set.Reading) {
			plainMessage(t, errors.New(note))
		}
	}
}

// TestOneClassInALayout: what a learner learns on may be one class, whose folder may have folders. Whether these are
// classes of their own only the person knows.
func TestOneClassInALayout(t *testing.T) {
	root := photos(t, "cat/mon/1.png", "cat/tue/2.png", "cat/tue/3.png")
	spec := Spec{Name: "folder", Dir: root, Size: 8, OneClass: true}
	want := "`ocl data info folder --data-dir " + root + " data.reading=folders`, `ocl data info folder --data-dir " +
		filepath.Join(root, "cat") + "`"
	if _, err := Open(t.Context(), spec); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	spec.Reading = ReadFolders
	set, err := Open(t.Context(), spec)
	if err != nil || !slices.Equal(set.ClassNames, []string{"cat"}) {
		t.Errorf("%v", err)
	}
	if set, err = Open(t.Context(), Spec{Name: "folder", Dir: root, Size: 8}); err == nil ||
		!strings.Contains(err.Error(), "no class has three images") { // mon and tue
		t.Errorf("two classes: %v, %v", set, err)
	}
}

// TestReadingOfOtherSets: a reading is for one's own images alone, and of a list only a column can be chosen.
func TestReadingOfOtherSets(t *testing.T) {
	for name, want := range map[string]string{"glyphs": "data.reading is names, but the files of glyphs are read in one way",
		"csv": `data.reading: "names" is unknown. Use list or list:COLUMN`} {
		_, err := Open(t.Context(), Spec{Name: name, Reading: ReadNames})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTurnedPictures: a photograph that is stored on its side is read as it is seen, in folders and lists.
func TestTurnedPictures(t *testing.T) {
	t.Setenv("OCL_CACHE", t.TempDir())
	var digests []string
	for _, photo := range [][]byte{exiftest.Photo(t), exiftest.Sideways(t)} {
		root := t.TempDir()
		for _, name := range []string{"cat/1.jpg", "cat/2.jpg", "cat/3.jpg", "dog/1.jpg"} {
			putFile(t, filepath.Join(root, filepath.FromSlash(name)), photo)
		}
		list := filepath.Join(t.TempDir(), "l.csv")
		putFile(t, list, fmt.Appendf(nil, "path,label\n%[1]s/cat/1.jpg,cat\n%[1]s/cat/2.jpg,cat\n%[1]s/cat/3.jpg,cat\n%[1]s/dog/1.jpg,dog\n",
			filepath.ToSlash(root)))
		for _, spec := range []Spec{{Name: "folder", Dir: root, Size: 16}, {Name: "csv", Dir: list, Size: 16}} {
			digests = append(digests, openSmall(t, spec).Digest)
		}
	}
	if len(slices.Compact(digests)) != 1 {
		t.Errorf("digests %q", digests)
	}
}

// TestMedMNIST: its arrays are read, and val_images is not.
func TestMedMNIST(t *testing.T) {
	arrays := map[string][]byte{}
	for half, n := range map[string]int{"train": 4, "val": 1, "test": 2} {
		arrays[half+"_images"] = array{descr: "|u1", shape: fmt.Sprintf("(%d, 2, 2, 3)", n), data: make([]byte, 12*n)}.bytes()
		labels := make([]byte, n)
		for i := range labels {
			labels[i], arrays[half+"_images"][len(arrays[half+"_images"])-1-12*i] = byte(i%2), byte(10*i+n)
		}
		arrays[half+"_labels"] = array{descr: "|u1", shape: fmt.Sprintf("(%d, 1)", n), data: labels}.bytes()
	}
	write := func() string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			e, err := w.Create(name + ".npy")
			if err != nil {
				t.Fatal(err)
			}
			e.Write(arrays[name])
		}
		w.Close()
		name := filepath.Join(t.TempDir(), "pathmnist.npz")
		putFile(t, name, b.Bytes())
		return name
	}
	set, err := Open(t.Context(), Spec{Name: "npz", Dir: write()})
	if err != nil {
		t.Fatal(err)
	}
	if set.Train.Len() != 4 || set.Test.Len() != 2 || set.Classes != 2 ||
		!strings.Contains(set.Reading, "as in MedMNIST") || !slices.Equal(set.Notes, []string{"val_images and val_labels are not used, as there are test_images"}) {
		t.Errorf("%d and %d images, %q, notes %q", set.Train.Len(), set.Test.Len(), set.Reading, set.Notes)
	}
	arrays["train_labels"] = array{descr: "|u1", shape: "(4, 14)", data: make([]byte, 56)}.bytes()
	if _, err := Open(t.Context(), Spec{Name: "npz", Dir: write()}); err == nil ||
		!strings.Contains(err.Error(), "train_labels has shape [4 14]: several labels for each image, and ocl learns one") {
		t.Errorf("several labels: %v", err)
	}
	delete(arrays, "test_labels")
	if _, err := Open(t.Context(), Spec{Name: "npz", Dir: write()}); err == nil ||
		!strings.Contains(err.Error(), "test_labels is missing among the arrays of the file") {
		t.Errorf("no labels: %v", err)
	}
}

// FuzzLists reads a list of each kind beside three images: good ones with changes, and any bytes. Memory is in
// proportion, what is read has a class and a file for each row, and messages are plain.
func FuzzLists(f *testing.F) {
	seeds := []struct{ name, text string }{
		{"metadata.jsonl", `{"file_name":"1.png","label":1}` + "\n" + `{"file_name":"2.png","label":10,"x":{}}`},
		{"p.json", `[` + lsTask("1", "cat") + `,` + lsTask("2", "cat", "dog") + `]`},
		{"p.json", `[{"image":"/data/upload/1/1.png","choice":"cat","annotation_id":1,"lead_time":1}]`},
		{"p.csv", "annotation_id,choice,image,lead_time\n1,cat,/data/upload/1/1.png,1\n2,dog,http://x/2.png?a=b,1\n"},
		{birdImages, "1 1.png\n2 2.png\n"},
		{oneHotList, "filename, Cat, Dog\n1.png,1,0\n2.png,0,1\n"},
	}
	for _, s := range seeds {
		f.Add(s.name, []byte(s.text), []byte{})
		f.Add(s.name, []byte(s.text), []byte{20, 5, 'x', 3, 6, 9})
	}
	root := f.TempDir()
	for _, name := range []string{"1.png", "2.png", "3.png", "images/1.png", "images/2.png"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, name string, text, choices []byte) {
		for c := fuzztest.Of(choices); c.More(); {
			text = fuzztest.Bytes(text, c)
		}
		if !slices.ContainsFunc(seeds, func(s struct{ name, text string }) bool { return s.name == name }) {
			name = "metadata.jsonl"
		}
		folder := t.TempDir()
		if err := os.CopyFS(folder, os.DirFS(root)); err != nil {
			t.Fatal(err)
		}
		putFile(t, filepath.Join(folder, name), text)
		putFile(t, filepath.Join(folder, birdLabels), []byte("1 1\n2 2\n"))
		putFile(t, filepath.Join(folder, birdHalves), []byte("1 1\n2 0\n"))
		tr := newTree(t.Context(), Spec{Dir: folder})
		var r *reading
		var err error
		most := uint64(600*len(text) + 4<<20)
		if n := fuzztest.Allocated(most, func() {
			switch name {
			case birdImages:
				r, err = tr.birds()
			case oneHotList:
				r, err = tr.marked()
			default:
				r, err = tr.list(name, "")
			}
		}); n > most {
			t.Fatalf("%d bytes were allocated for a list of %d", n, len(text))
		}
		if err != nil {
			plainMessage(t, err)
			return
		}
		for _, row := range r.rows {
			if row.path == "" || row.label == "" || row.check() != nil {
				t.Errorf("row %+v", row)
			}
		}
		for _, note := range append(tr.notes(), r.says) {
			plainMessage(t, errors.New(note))
		}
	})
}
