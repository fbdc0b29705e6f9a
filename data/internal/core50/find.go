package core50

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"ocl/internal/cause"
)

// Official are official lists on disk.
type Official struct {
	// Name is the folder or archive of lists, or the folder that has the pickles.
	Name  string
	check func(ctx context.Context, name string) error
}

// Check reads the lists and compares them with the tables. The error names the list and its line, or the pickle and the
// place in it, but not Name.
func (o *Official) Check(ctx context.Context) error { return o.check(ctx, o.Name) }

// Find looks in a folder for the official lists in one of their forms: the folder batches_filelists; an archive whose name
// begins so and ends in .zip, .tar.gz, .tgz, .tar.zst or .tar; the pickles LUP.pkl, paths.pkl and labels.pkl. It returns
// the first that it finds, and nil where there is none.
func Find(folder string) (*Official, error) {
	entries, err := os.ReadDir(folder) // sorted: the folder comes before its archives
	if err != nil {
		return nil, cause.Of(err)
	}
	pickles := false
	for _, e := range entries {
		name := filepath.Join(folder, e.Name())
		if check := form(e.Name(), name); check != nil {
			return &Official{name, check}, nil
		}
		pickles = pickles || e.Name() == lupFile || e.Name() == pathsFile || e.Name() == labelsFile
	}
	if pickles {
		return &Official{folder, checkPickles}, nil
	}
	return nil, nil
}

// form is the check of lists in the form of an entry of a folder, or nil.
func form(entry, path string) func(context.Context, string) error {
	if !strings.HasPrefix(entry, "batches_filelists") {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() { // also through a link
		return checkFolder
	}
	for _, a := range archives {
		if strings.HasSuffix(entry, a.suffix) {
			return a.check
		}
	}
	return nil
}
