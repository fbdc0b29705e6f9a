package input

import (
	"errors"
	"regexp"
)

// ErrInstead is wrapped by errors about files that hold something else in the place of what their names promise.
var ErrInstead = errors.New("this is not the file")

// instead is an error that wraps ErrInstead.
type instead string

func (i instead) Error() string        { return string(i) }
func (i instead) Is(target error) bool { return target == ErrInstead }

var instances = []struct {
	begins *regexp.Regexp
	fault  instead
}{
	{regexp.MustCompile(`^version https://git-lfs\.github\.com/spec/`),
		"this is a pointer of Git LFS and not the file. Get the file with `git lfs pull`, or download it from the page of its repository"},
	{regexp.MustCompile(`(?i)^(\x{feff})?\s*(<\?xml[^<]*)?(<!--[^<]*)?<(!doctype\s+html|html|head|body|script|title|meta)\b`),
		"this is a web page and not the file: the download failed. Get it again"},
	{regexp.MustCompile(`(?i)^(\x{feff})?\s*<\?xml[^<]*<error\b`),
		"this is an error of a server and not the file: the download failed. Get it again"},
}

// Instead says from its first bytes what lies in the place of a file: the web page that a server sent instead of it, or
// the pointer that Git leaves where Git LFS is missing. It is nil for everything else. [Open] asks it; whoever unpacks
// a file asks it again.
func Instead(begin []byte) error {
	for _, i := range instances {
		if i.begins.Match(begin) {
			return i.fault
		}
	}
	return nil
}
