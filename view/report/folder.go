package report

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/escape"
)

// Folder is a folder that a report is written to. After the first error nothing more is written.
type Folder struct {
	Path  string
	Files []string // paths of what was written
	Err   error    // the first error; it names the path and says what to do, or is that of Context
	// Context ends the writing.
	Context context.Context //nolint:containedctx // it is that of one call of Write
}

// Make makes folders below the folder, of which "" is itself, and all above them.
func (f *Folder) Make(names ...string) {
	for _, name := range names {
		if f.Err != nil {
			return
		}
		path := filepath.Join(f.Path, name)
		if err := os.MkdirAll(path, 0o777); err != nil {
			f.Err = fmt.Errorf("report: %s: %w. Use a folder that can be written to, with \"--out DIR\"", path, cause.Of(err))
		}
	}
}

// Write writes a file below the folder, whole or not at all. Its name has slashes. Characters that do not show, such as
// those that turn what follows, are escaped in files for people ([shown]).
func (f *Folder) Write(name string, text []byte) {
	if f.Err != nil {
		return
	}
	if f.Err = f.Context.Err(); f.Err != nil {
		return
	}
	path := filepath.Join(f.Path, filepath.FromSlash(name))
	text = shown(name, text)
	if err := atomicfile.WriteBytes(path, text); err != nil {
		f.Err = fmt.Errorf("report: %s: %w. Free some disk space, or use another folder with \"--out DIR\"", path,
			cause.Of(err))
		return
	}
	f.Files = append(f.Files, path)
}

// shown is the text of a file. Characters that do not show are escaped in files for people.
func shown(name string, text []byte) []byte {
	switch filepath.Ext(name) {
	case ".html", ".svg", ".md", ".tex", ".json":
		return []byte(escape.Lines(string(text)))
	}
	return text
}
