package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ocl/internal/faulttest"
)

// crashFolder names the folder in which the child process of TestStoppedAtAnyInstant saves.
const crashFolder = "OCL_TEST_CRASH"

func TestMain(m *testing.M) {
	faulttest.Arm()
	os.Exit(m.Run())
}

// lastSaved is the step of the last checkpoint of the child.
const lastSaved = 3

// TestStoppedAtAnyInstant kills a process that makes its folder and saves three checkpoints before every single change
// of its files, and lets every one of them fail. What is loaded then is whole: the last checkpoint whose name the
// process had seen on the disk, or the one that was being saved; and the next process can go on saving.
func TestStoppedAtAnyInstant(t *testing.T) {
	if folder := os.Getenv(crashFolder); folder != "" {
		saveAll(t, folder)
		return
	}
	var ops []faulttest.Op
	run := func(decide func(faulttest.Op) faulttest.Verdict) (folder string, err error) {
		t.Helper()
		top := t.TempDir()
		folder = filepath.Join(top, "er", "ck")
		child := exec.Command(os.Args[0], "-test.run=^TestStoppedAtAnyInstant$")
		child.Env = append(os.Environ(), crashFolder+"="+folder)
		_, err = faulttest.Run(child, "checkpoint.test", top, decide)
		if errors.Is(err, faulttest.ErrNoTraps) {
			t.Skip(err)
		}
		return folder, err
	}
	if _, err := run(func(o faulttest.Op) faulttest.Verdict {
		ops = append(ops,
			o)
		return faulttest.Verdict{}
	}); err != nil {
		t.Fatal(err)
	}
	checkOrder(t, ops)
	for _, at := range ops {
		for _, v := range []faulttest.Verdict{{Kill: true}, {Err: syscall.EIO}} {
			saved := 0 // the last checkpoint whose folder was synced after it got its name
			folder, _ := run(func(o faulttest.Op) faulttest.Verdict {
				if o.N == at.N {
					return v
				}
				if o.N < at.N && o.Call == "fsync" && filepath.Base(o.Path) == "ck" {
					saved++
				}
				return faulttest.Verdict{}
			})
			d, err := OpenDir(folder)
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.Load()
			if saved == 0 && errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil || len(got.Skipped) > 0 {
				t.Fatalf("%v, %+v: %v, skipped %v", at, v, err, got.Skipped)
			}
			if step := stepIn(t, got); step < saved || v.Kill && step > saved+1 {
				t.Errorf("%v, %+v: loaded step %d after %d were saved", at, v, step, saved)
			}
			if _, err := d.Save(9, numbered(9)); err != nil {
				t.Errorf("%v, %+v: saving on: %v", at, v, err)
			}
			if files, _ := filepath.Glob(filepath.Join(folder, "*")); len(files) > 2 {
				t.Errorf("%v, %+v: the folder holds %v", at, v, files)
			}
		}
	}
}

// saveAll goes on after an error, as a run does that is started again.
func saveAll(t *testing.T, folder string) {
	d, err := OpenDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for step := 1; step <= lastSaved; step++ {
		if _, err := d.Save(step, numbered(step)); err != nil {
			t.Log(err)
		}
	}
}

// checkOrder: a power cut loses nothing that was said to be saved, as a file is synced before it gets its name, and its
// folder afterwards, before an older one is removed.
func checkOrder(t *testing.T, ops []faulttest.Op) {
	t.Helper()
	var calls []string
	number := regexp.MustCompile(`[0-9]+-[0-9]+-[0-9]+`)
	for _, o := range ops {
		name := number.ReplaceAllString(filepath.Base(o.Path), "N")
		if strings.Contains(o.Path, "er") && o.Call != "close" && o.Call != "write" {
			calls = append(calls, o.Call+" "+name)
		}
	}
	var want []string
	for _, step := range []string{"step-1.ckpt", "step-2.ckpt", "step-3.ckpt"} {
		temp := "." + step + ".N.tmp"
		want = append(want, "open "+temp, "fsync "+temp, "rename "+step, "fsync ck")
	}
	want = append([]string{"mkdir er", "mkdir ck", "fsync er"}, want...)
	want = append(want, "remove step-1.ckpt")
	if !slices.Equal(calls, want) {
		t.Errorf("operations %q, want %q", calls, want)
	}
}
