package experiment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/config"
	"ocl/data"
	"ocl/learn/learner"
	"ocl/run/trained"
)

// halved moves pictures of classes into a folder with a training and a test half, under the names that called gives:
// picture i of a class is NAME-i.png.
func halved(t *testing.T, from config.Data, called func(class string) string) config.Data {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(from.Dir, "*", "*.png"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		class, name := filepath.Base(filepath.Dir(file)), filepath.Base(file)
		half := "train"
		if strings.HasPrefix(name, "1") {
			half = "test"
		}
		copied(t, file, filepath.Join(dir, half, called(class), class+"-"+name))
	}
	return config.Data{Name: "folder", Dir: dir, Size: 8}
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// openForSplit opens data as the command line does.
func openForSplit(ctx context.Context, c config.Config) (*data.Set, error) {
	return OpenData(ctx, c, Options{})
}

// TestSplit: a run whose class became several answers as one that had learned the new classes from the start where the
// method is a sum, and any run has the new names, records the change, and is learned on.
func TestSplit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	all := pictures(t, 20, "cat", "dog", "fox", "owl")
	for _, method := range []string{"ncm", "slda", "ranpac", "er", "ewc++", "lwf"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			c := ofPictures(t, method, "x", "y")
			c.Stream.Tasks = 1
			c.Data = halved(t, all, func(class string) string {
				if class == "cat" || class == "dog" {
					return "pet"
				}
				return class
			})
			dir := t.TempDir()
			out := func(name string) Options { return Options{Out: filepath.Join(dir, name), KeepCheckpoint: true} }
			mustRun(t, c, out("old"))
			by := filepath.Join(dir, "by")
			for _, half := range []string{"train", "test"} {
				files, _ := filepath.Glob(filepath.Join(c.Data.Dir, half, "pet", "dog*"))
				for _, file := range files {
					copied(t, file, filepath.Join(by, "dog", filepath.Base(file)))
				}
			}
			r, err := trained.Split(ctx, out("old").Out, out("new").Out, false, "PET", by, openForSplit)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Changes) != 1 || r.Changes[0].Samples != 9 || len(r.Changes[0].Pictures) != 9 ||
				(r.Carried == "") != slices.Contains([]string{"ncm", "slda", "ranpac"}, method) ||
				!slices.Contains(r.Notes, "nothing is learned of 11 pictures that only tested the run") {
				t.Errorf("%+v", r)
			}
			got := openTrained(t, r.Folder)
			if want := []string{"fox", "owl", "pet", "dog"}; !slices.Equal(got.ClassNames, want) {
				t.Fatalf("classes %q, want %q", got.ClassNames, want)
			}
			if m := learner.MemoryOf(got.Learner); m != nil && m.Counts()[3] == 0 {
				t.Errorf("nothing is stored of the new class: %v", m.Counts())
			}
			if r.Carried == "" {
				named := c
				named.Data = halved(t, all, func(class string) string {
					if class == "cat" {
						return "pet"
					}
					return class
				})
				mustRun(t, named, out("named"))
				sameAnswers(t, got, openTrained(t, out("named").Out), named)
			}
			on := learnOn(t, r.Folder, all)
			on.Data.Size, on.Stream.Tasks = 8, 1
			further := out("on")
			further.NewClasses = true // cat is what pet was
			mustRun(t, on, further)
			if all := openTrained(t, out("on").Out); len(all.ClassNames) != 5 {
				t.Errorf("classes %q after more was learned", all.ClassNames)
			}
		})
	}
}

func openTrained(t *testing.T, folder string) *trained.Model {
	t.Helper()
	m, err := trained.Open(context.Background(), folder, trained.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// sameAnswers compares what two learners of sums say to the pictures of a run.
func sameAnswers(t *testing.T, a, b *trained.Model, c config.Config) {
	t.Helper()
	x, err := Open(context.Background(), c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	st, err := x.newStream(x.Config())
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range st.Test(0) {
		if err != nil {
			t.Fatal(err)
		}
		one, other := make([]ocl.Label, batch.Len()), make([]ocl.Label, batch.Len())
		if err := a.Learner.Predict(one, batch.X); err != nil {
			t.Fatal(err)
		}
		if err := b.Learner.Predict(other, batch.X); err != nil {
			t.Fatal(err)
		}
		for i := range one {
			if p, q := a.ClassNames[one[i]], b.ClassNames[other[i]]; p != q {
				t.Errorf("a picture of %s is %s, and %s to whom learned it so", b.ClassNames[batch.Y[i]], p, q)
			}
		}
	}
}

// TestSplitTwice: what was split off is not of the class any more; a class that keeps nothing goes; and where the data
// have changed, that is said.
func TestSplitTwice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	all := pictures(t, 20, "cat", "dog", "fox")
	c := ofPictures(t, "slda", "x", "y")
	c.Stream.Tasks = 1
	c.Data = halved(t, all, func(class string) string {
		return map[string]string{"cat": "pet", "dog": "pet", "fox": "fox"}[class]
	})
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	mustRun(t, c, Options{Out: old, KeepCheckpoint: true})
	folder := func(name string, classes map[string]string) string {
		by := filepath.Join(dir, name)
		for class, of := range classes {
			files, _ := filepath.Glob(filepath.Join(c.Data.Dir, "train", "*", of+"-*"))
			for _, file := range files {
				copied(t, file, filepath.Join(by, class, filepath.Base(file)))
			}
		}
		return by
	}
	dogs := folder("dogs", map[string]string{"dog": "dog"})
	r, err := trained.Split(ctx, old, filepath.Join(dir, "one"), false, "pet", dogs, openForSplit)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(run, class, by, want string) {
		t.Helper()
		r, err := trained.Split(ctx, run, filepath.Join(dir, "no"), false, class, by, openForSplit)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %+v\nwant %s", err, r, want)
		}
		if _, err := os.Stat(filepath.Join(dir, "no")); err == nil {
			t.Fatal("a run is there")
		}
	}
	again := folder("again", map[string]string{"poodle": "dog"})
	refused(r.Folder, "pet", again, "9 pictures of folder: the run has not learned them as pet. Take them out: "+
		filepath.Join(again, "poodle", "dog-"))
	refused(old, "pet", folder("foxes", map[string]string{"vixen": "fox"}), "the run has not learned them as pet")
	refused(old, "pet", folder("taken", map[string]string{"Fox": "dog"}), "Fox is the name of another class")
	refused(old, "pet", folder("none", map[string]string{"pet": "dog", "PET": "cat"}), "nothing is split off")
	refused(old, "pat", dogs, "there is no class pat. Did you mean pet?")
	refused(old, "pet", t.TempDir(), "found 0 folders with images")
	damaged := folder("damaged", map[string]string{"dog": "dog"})
	if err := os.WriteFile(filepath.Join(damaged, "dog", "dog-0.png"), []byte("nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused(old, "pet", damaged, "dog-0.png")

	r, err = trained.Split(ctx, r.Folder, filepath.Join(dir, "two"), false, "pet",
		folder("rest", map[string]string{"cat": "cat"}), openForSplit)
	if err != nil || !slices.Contains(r.Notes, "pet keeps no picture and is gone") {
		t.Fatalf("%+v, %v", r, err)
	}
	known, err := openTrained(t, r.Folder).Classes()
	if err != nil || len(known) != 3 || known[1].Name != "dog" || *known[1].Samples != 9 || *known[2].Samples != 9 {
		t.Errorf("%+v, %v", known, err)
	}
	if err := os.RemoveAll(c.Data.Dir); err != nil {
		t.Fatal(err)
	}
	copied(t, filepath.Join(dogs, "dog", "dog-0.png"), filepath.Join(dir, "many", "dog", "0.png"))
	r, err = trained.Split(ctx, old, filepath.Join(dir, "three"), false, "pet", filepath.Join(dir, "many"), openForSplit)
	if err != nil || !strings.HasPrefix(r.Notes[len(r.Notes)-1], "nobody could check") {
		t.Errorf("%+v, %v", r, err)
	}
	for i := range 20 {
		copied(t, filepath.Join(dogs, "dog", "dog-0.png"), filepath.Join(dir, "many", "dog", fmt.Sprint(i, ".png")))
	}
	refused(old, "pet", filepath.Join(dir, "many"), "20 pictures are given, and the run has learned 18 of pet")
	ofICaRL := ofPictures(t, "icarl", "x", "y")
	mustRun(t, ofICaRL, Options{Out: filepath.Join(dir, "icarl"), KeepCheckpoint: true})
	refused(filepath.Join(dir, "icarl"), "x", dogs, "a learner of icarl cannot make two classes of one")
}
