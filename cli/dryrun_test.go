package cli

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDryRunInterrupted: no plan is printed where the trial was cut off, before it or in it.
func TestDryRunInterrupted(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 300 * time.Millisecond} { // the trial takes a second
		for _, more := range [][]string{nil, {"--json=all"}} {
			ctx, cancel := context.WithCancel(context.Background())
			if after == 0 {
				cancel()
			}
			timer := time.AfterFunc(after, cancel)
			var out, errs bytes.Buffer
			args := append([]string{"run", "--dry-run", "--method", "finetune", "data.train_per_class=30",
				"data.test_per_class=1"}, more...)
			code := execute(ctx, args, &out, &errs)
			timer.Stop()
			cancel()
			if code != exitInterrupted || out.Len() > 0 ||
				!strings.Contains(errs.String(), "interrupted before the plan was ready.\n") {
				t.Errorf("%v %v: exit code %d, %q, %q", after, more, code, out.String(), errs.String())
			}
		}
	}
}

// TestDryRunWritesNothing: a dry run of images that have to be decoded makes no cache of them either, and says the same
// as with one.
func TestDryRunWritesNothing(t *testing.T) {
	work := t.TempDir()
	t.Chdir(work)
	t.Setenv("OCL_CACHE", filepath.Join(work, "cache"))
	for class := range 6 {
		folder := filepath.Join("photos", string(rune('a'+class)))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for n := range 10 {
			m := image.NewGray(image.Rect(0, 0, 12, 12))
			for i := range m.Pix {
				m.Pix[i] = uint8(40*class + 3*n + i)
			}
			var b bytes.Buffer
			if err := png.Encode(&b, m); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(n, ".png")), b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	settings := "data: {name: folder, dir: photos, size: 12}\nstream: {tasks: 3, batch: 4}\nmethods: [er]\nmemory: 10\nnetwork: {name: mlp, hidden: [4]}\n"
	for name, text := range map[string]string{"plain.yaml": settings, "study.yaml": "study: 1\n" + settings,
		"grid.yaml":  "optimizer.lr: [0.1, 0.01]\n",
		"tuned.yaml": settings + "protocol: survey\ntune: {grid: grid.yaml, repeats: 1}\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := listing(t, work)
	plans := func() (all []string) {
		for _, args := range [][]string{
			{"run", "--config", "plain.yaml", "--out", "out", "--json=all"},
			{"sweep", "study.yaml", "--out", "out", "--json=all"},
			{"tune", "--config", "plain.yaml", "--grid", "grid.yaml", "--search", "halving", "--out", "out", "--json=all"},
			{"run", "--config", "tuned.yaml", "--out", "out"},
			{"sweep", "tuned.yaml", "--out", "out", "--json=all"},
		} {
			var out, errs bytes.Buffer
			if code := execute(t.Context(), append(args, "--dry-run"), &out, &errs); code != 0 {
				t.Errorf("%v: exit code %d, %s", args, code, &errs)
			}
			all = append(all, timeless.ReplaceAllString(out.String(), ""))
		}
		return all
	}
	without := plans()
	if made := slices.DeleteFunc(listing(t, work),
		func(path string) bool { return slices.Contains(before, path) }); len(made) > 0 {
		t.Errorf("dry runs made %q", made)
	}
	var out, errs bytes.Buffer
	if code := execute(t.Context(), []string{"run", "--config", "plain.yaml", "--out", "real", "--quiet", "--no-report"},
		&out, &errs); code != 0 {
		t.Fatalf("exit code %d, %s", code, &errs)
	}
	if with := plans(); !slices.Equal(without, with) {
		t.Errorf("with a cache the plans are %q, and without %q", with, without)
	}
}

// timeless matches what a plan says of times, which differ from plan to plan.
var timeless = regexp.MustCompile(`(?m)"seconds": .*|About .*|  +\S+$`)

// listing is all files and folders below a folder.
func listing(t *testing.T, root string) (all []string) {
	t.Helper()
	if err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
