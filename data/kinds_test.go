//go:build unix

package data

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPipesAreNoData: a pipe in the place of any file of a data set is an error at once. Reading it would wait for its
// writer.
func TestPipesAreNoData(t *testing.T) {
	t.Setenv("OCL_CACHE", t.TempDir())                             // a machine without a home has no other
	for _, c := range []struct{ set, given, pipe, others string }{ // others are files by which the layout is known
		{"csv", "list.csv", "list.csv", ""},
		{"csv", "list", "a.png", "list b.png c.png d.png"},
		{"npz", "mine.npz", "mine.npz", ""},
		{"npz", ".", "mine.npz", ""},
		{"cifar10", "cifar-10-binary.tar.gz", "cifar-10-binary.tar.gz", ""},
		{"cifar10", ".", "data_batch_1.bin", "data_batch_2.bin"},
		{"cifar100", ".", "train.bin", "test.bin"},
		{"cifar100", ".", "train", "test"},
		{"mini-imagenet", ".", "train.csv", "val.csv"},
		{"mini-imagenet", ".", "mini-imagenet-cache-train.pkl", ""},
		{"mnist", ".", "train-images-idx3-ubyte.gz",
			"train-labels-idx1-ubyte.gz t10k-images-idx3-ubyte.gz t10k-labels-idx1-ubyte.gz"},
		{"emnist", "gzip.zip", "gzip.zip", ""},
		{"emnist", ".", "gzip.zip", ""},
	} {
		t.Run(c.set+" "+c.pipe, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range strings.Fields(c.others) {
				text := ""
				if name == "list" {
					text = "path,label,split\na.png,x,train\nb.png,y,train\nc.png,x,test\nd.png,y,test\n"
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := syscall.Mkfifo(filepath.Join(dir, c.pipe), 0o600); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				_, err := Open(t.Context(), Spec{Name: c.set, Dir: filepath.Join(dir, c.given)})
				ended <- err
			}()
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), "it is a pipe, not a regular file") {
					t.Errorf("error %v, wanted one that says that it is a pipe", err)
				}
			case <-time.After(20 * time.Second):
				t.Error("opening the data set hangs")
			}
		})
	}
}

// TestPipesAreNoFolders: what lies in the place of a folder is called what it is.
func TestPipesAreNoFolders(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "x")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"folder", "mnist", "mini-imagenet", "core50"} {
		for dir, want := range map[string]string{pipe: pipe + ": this is a pipe. Use --data-dir",
			"/dev/null": "/dev/null: this is a device. Use --data-dir"} {
			if _, err := Open(t.Context(), Spec{Name: set, Dir: dir}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, wanted one that says %s", set, err, want)
			}
		}
	}
}
