package fetch

import (
	"crypto/md5"
	"encoding/hex"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTableIsSound(t *testing.T) {
	places, sums := map[string]string{}, map[string]string{}
	for name := range files {
		list, ok := Files(name)
		if !ok || len(list) == 0 {
			t.Errorf("%s has no files", name)
		}
		for _, f := range list {
			if sum, err := hex.DecodeString(f.MD5); err != nil || len(sum) != md5.Size || !filepath.IsLocal(f.Name) {
				t.Errorf("%s: %+v", name, f)
			}
			if path.Base(f.Name) != path.Base(f.URL) {
				t.Errorf("%s: %s is saved as %s", name, f.URL, f.Name)
			}
			if other := places[f.Name]; other != "" {
				t.Errorf("%s and %s would both be saved as %s", name, other, f.Name)
			}
			if other := sums[f.MD5]; other != "" {
				t.Errorf("%s and %s have the same checksum", f.Name, other)
			}
			places[f.Name], sums[f.MD5] = name, f.Name
		}
	}
	if len(files) != 6 || len(places) != 12 {
		t.Errorf("%d data sets with %d files, want 6 with 12", len(files), len(places))
	}
}

func TestHowTo(t *testing.T) {
	for name, word := range map[string]string{"core50": "unzip core50_128x128.zip",
		"mini-imagenet": "kaggle.com/whitemoon/miniimagenet"} {
		text := HowTo(name)
		if !strings.Contains(text, word) || !strings.HasSuffix(text, "\n") {
			t.Errorf("%s: %q lacks %q", name, text, word)
		}
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(line) > 101 {
				t.Errorf("%s: line of more than 100 columns: %s", name, line)
			}
		}
	}
	if got := HowTo("cifar100") + HowTo("nothing"); got != "" {
		t.Errorf("%q, want nothing to do", got)
	}
}
