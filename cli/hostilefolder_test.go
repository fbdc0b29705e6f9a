//go:build linux

package cli

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestHostileFolders: no command prints what a terminal obeys, or what does not show, of the names of the files and
// folders that it reads and writes. Without OCL_LONG a third of the lines is drawn; -killseed repeats them.
func TestHostileFolders(t *testing.T) {
	t.Parallel()
	const name = "a\x1b[31m\u202e\u009b"
	world := makeWorld(t)
	var wg sync.WaitGroup
	places := make(chan struct{}, 2)
	draw := draws(t)
	for _, path := range slices.Sorted(maps.Keys(leaves(t))) {
		for _, line := range lines[path] {
			if os.Getenv(longTier) == "" && draw.IntN(3) > 0 { // a third of the lines
				continue
			}
			args := strings.Fields(line)
			for i, word := range args {
				if i <= strings.Count(path, " ") {
					continue
				}
				key, value, pair := strings.Cut(word, "=")
				if !pair {
					key, value = "", word
				} else {
					key += "="
				}
				_, err := os.Stat(filepath.Join(world, value))
				if err == nil || i > 0 && slices.Contains([]string{"-o", "--out"}, args[i-1]) {
					args[i] = key + name + "/" + value
				}
			}
			if !strings.Contains(strings.Join(args, " "), name) {
				continue
			}
			wg.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				dir := t.TempDir()
				// Some runs of the world have the images as data.
				err := errors.Join(os.CopyFS(filepath.Join(dir, name), os.DirFS(world)),
					os.Symlink(name+"/images", filepath.Join(dir, "images")))
				if err != nil {
					t.Error(err)
					return
				}
				args = slices.DeleteFunc(args, func(word string) bool { return word == "--quiet" })
				r := give(dir, args)
				if text := r.stdout + r.stderr; r.err != nil || strings.ContainsAny(text, "\x1b\u202e\u009b") {
					t.Errorf("ocl %q: %v, and it prints %q", args, r.err, text)
				}
			})
		}
	}
	wg.Wait()
}
