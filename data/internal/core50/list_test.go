package core50

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// eachList calls do with the path and the text of each official list, those of NC first: a line for each image of a
// task, and then for each test image, with its label. NI counts the objects from 0, and each run of NC in the order of
// its tasks.
func eachList(do func(path string, text []byte)) {
	tests := Cells(TestSessions, upTo(Objects))
	for run, order := range NCOrders() {
		for task, from := 0, 0; task < len(NCSizes()); task++ {
			to := from + NCSizes()[task]
			do(fmt.Sprintf("NC_inc/run%d/train_batch_%02d_filelist.txt", run, task),
				textOf(Cells(TrainSessions, order[from:to]), order))
			from = to
		}
		do(fmt.Sprintf("NC_inc/run%d/test_filelist.txt", run), textOf(tests, order))
	}
	for run, sessions := range NIOrders() {
		for task, session := range sessions {
			do(fmt.Sprintf("NI_inc/run%d/train_batch_%02d_filelist.txt", run, task),
				textOf(Cells([]int{session}, upTo(Objects)), upTo(Objects)))
		}
		do(fmt.Sprintf("NI_inc/run%d/test_filelist.txt", run), textOf(tests, upTo(Objects)))
	}
}

// textOf are the lines of cells, whose labels are the places of their objects in an order.
func textOf(cells []Cell, order []int) (text []byte) {
	labels := make([]int, Objects+1)
	for label, object := range order {
		labels[object] = label
	}
	for _, c := range cells {
		for f := c.First(); f < Frames; f++ {
			text = fmt.Appendf(text, "%s/%s %d\n", c.Folder(), c.Name(f), labels[c.Object])
		}
	}
	return text
}

// TestOfficialLists: the tables say what the official lists say. The SHA-256 is that of the published lists, one after
// the other, which are compared too where OCL_DATA has them.
func TestOfficialLists(t *testing.T) {
	if testing.Short() {
		t.Skip("41 MB of lists")
	}
	folder := filepath.Join(os.Getenv("OCL_DATA"), "core50", "batches_filelists")
	_, missing := os.Stat(folder)
	mine, published := sha256.New(), sha256.New()
	eachList(func(path string, text []byte) {
		_, _ = mine.Write(text)
		if missing == nil {
			file, err := os.Open(filepath.Join(folder, path))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			_, _ = io.Copy(published, file)
		}
	})
	const want = "edcd047694290d85c89ba07062a5be58b759cc3298acec993ec288dfcdc59dee"
	if got := fmt.Sprintf("%x", mine.Sum(nil)); got != want {
		t.Errorf("the SHA-256 is %s, want %s", got, want)
	}
	if got := fmt.Sprintf("%x", published.Sum(nil)); missing == nil && got != want {
		t.Errorf("that of the published lists is %s, want %s", got, want)
	}
}
