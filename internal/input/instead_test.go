package input

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstead: the page of a server, its error and a pointer of Git LFS are told from files, whatever comes before the
// first tag.
func TestInstead(t *testing.T) {
	for text, want := range map[string]string{
		"<!DOCTYPE html><html><head>":                                                   "this is a web page and not the file: the download failed. Get it again",
		"\ufeff\r\n  <HTML lang=en>":                                                    "web page",
		"<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC":                                "web page",
		"<!-- sign in -->\n<html>":                                                      "web page",
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AccessDenied</Code>":  "error of a server",
		"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n": "git lfs pull",
		"": "", "path,label\na.jpg,cat\n": "", "version: 1": "", "\x80\x02}q\x00": "", "<?xml version=\"1.0\"?><svg>": "",
		"<htmlx>": "",
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, _, err := Open(path, Want{Most: 1000})
		if err == nil {
			file.Close()
		}
		if (err == nil) != (want == "") || err != nil &&
			(!strings.Contains(err.Error(), want) || !errors.Is(err, ErrInstead)) {
			t.Errorf("%q: %v, wanted %q", text, err, want)
		}
	}
}
