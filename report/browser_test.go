package report

import (
	"os"
	"path/filepath"
	"testing"

	"ocl/experiment/result"
	"ocl/internal/browsertest"
)

// TestPageInABrowser: Chromium shows pages of one run, of all methods with error analyses and several memories, and of several streams
// with foreign results, as they should be on a phone and on a screen.
func TestPageInABrowser(t *testing.T) {
	b := browsertest.Start(t)
	for _, c := range []struct {
		name   string
		fakes  []fake
		aliens []*result.Result
	}{
		{"one", pair(1)[1:], nil},
		{"many", manyFakes(), nil},
		{"streams", streamFakes(), []*result.Result{alien("avalanche 0.4", 1, 10, 0.5), alien("a program with quite a long name", 1, 7, 0.5)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != "one" {
				t.Skip("-short leaves out the large pages")
			}
			dir := t.TempDir()
			save(t, dir, c.fakes)
			dirs := []string{dir}
			for i, r := range c.aliens {
				text, err := result.Encode(r)
				if err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(t.TempDir(), string(rune('a'+i))+".json")
				if err := os.WriteFile(path, text, 0o666); err != nil {
					t.Fatal(err)
				}
				dirs = append(dirs, path)
			}
			w, err := Write(t.Context(), dirs, filepath.Join(t.TempDir(), c.name), Options{Known: methods})
			if err != nil {
				t.Fatal(err)
			}
			page := filepath.Join(filepath.Dir(w.Page), c.name+".html") // names of pictures are those of pages
			if err := os.Rename(w.Page, page); err != nil {
				t.Fatal(err)
			}
			b.Check(t, page)
		})
	}
}

// manyFakes are all methods of the survey, with several seeds, memories and fates.
func manyFakes() []fake {
	var all []fake
	for i, name := range surveyed {
		f := fake{method: name, title: name, memory: -1, seed: 1, tasks: 20, perTask: 5, level: 0.7 - 0.02*float64(i), decay: 0.8, errors: true, signals: []string{"task boundaries"}}
		for _, memory := range []int{1000, 5000} {
			if i%2 == 0 {
				f.memory = memory
			}
			for seed := range uint64(2) {
				f.seed = seed + 1
				all = append(all, f)
			}
		}
	}
	all[3].state, all[3].through = result.Diverged, 4
	all[7].concurrency, all[9].kernel = 3, "avx2"
	return all
}

// streamFakes are two methods in streams that differ in their tasks and protocols.
func streamFakes() []fake {
	all := pair(2)
	for _, f := range pair(2) {
		f.tasks, f.protocol, f.seed = 8, "survey", f.seed+10
		all = append(all, f)
	}
	return all
}
