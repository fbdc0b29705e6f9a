package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ocl/data/internal/pickle"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// readLists reads train.csv, val.csv and test.csv. Images are in the order of the lists, and classes in that of their
// first images.
func (f miniFormat) readLists(ctx context.Context, root string) (classed, error) {
	var all classed
	seen := map[string]bool{}
	for i, list := range f.lists {
		text, err := readSmall(filepath.Join(root, f.csv(i)), limit.MiniImageNetList)
		if err != nil {
			return classed{}, fmt.Errorf("%s: %w. All three lists are needed; %s", f.csv(i), err, miniFetch)
		}
		files, ids, err := parseList(ctx, text, seen)
		if err == nil {
			err = all.add(files, ids, list.classes)
		}
		if err != nil {
			return classed{}, fmt.Errorf("%s: %w", f.csv(i), err)
		}
	}
	return all, nil
}

// parseList reads a list: a line filename,label and then one such pair for each image. Files are relative to the folder
// of images; seen has those of earlier lists.
func parseList(ctx context.Context, text []byte, seen map[string]bool) (files, ids []string, err error) {
	rows, err := readCSV(ctx, bytes.NewReader(text), limit.SetImages)
	for _, r := range rows {
		name := path.Join(miniImages, r.path)
		switch {
		case !filepath.IsLocal(filepath.FromSlash(r.path)) || shown(r.path) != r.path:
			return nil, nil, fmt.Errorf("line %d has the file %.60q, which is no name of a file below %s. Correct the list",
				r.line, r.path, miniImages)
		case seen[name]:
			return nil, nil, fmt.Errorf("line %d has the file %s of an earlier list. Remove one of the two lines", r.line,
				r.path)
		}
		seen[name] = true
		files, ids = append(files, name), append(ids, r.label)
	}
	return files, ids, err
}

// add adds the images of a list: their files, which may be nil, and their classes. The list has so many classes, none
// of which is in an earlier list.
func (c *classed) add(files, ids []string, classes int) error {
	earlier := len(c.ids)
	place := map[string]int32{}
	for _, id := range ids {
		k, known := place[id]
		if !known {
			if slices.Contains(c.ids[:earlier], id) {
				return fmt.Errorf("class %s is also in an earlier list. Get the three lists again, all from one source", shown(id))
			}
			k = int32(len(c.ids))
			place[id] = k
			c.ids = append(c.ids, id)
		}
		c.labels = append(c.labels, k)
	}
	c.files = append(c.files, files...)
	if n := len(c.ids) - earlier; n != classes {
		return fmt.Errorf("it has %s instead of %d. Get it again", count.Of(n, "class"), classes)
	}
	return nil
}

// wordNetID matches the names of ImageNet's classes.
var wordNetID = regexp.MustCompile(`^n\d{8}$`)

// readFolders reads folders of classes. Classes and images are in the order of their names. Files whose names do not
// end as those of images do are left out.
func (f miniFormat) readFolders(root string) (classed, error) {
	entries, err := input.ReadDir(root)
	if err != nil {
		return classed{}, cause.Of(err)
	}
	var c classed
	for _, e := range entries {
		if !wordNetID.MatchString(e.Name()) {
			continue
		}
		inside, err := input.ReadDir(filepath.Join(root, e.Name()))
		if err != nil {
			return classed{}, fmt.Errorf("%s: %w. Make it a folder of images", e.Name(), cause.Of(err))
		}
		for _, file := range inside {
			if IsPicture(file.Name()) {
				c.files = append(c.files, path.Join(e.Name(), file.Name()))
				c.labels = append(c.labels, int32(len(c.ids)))
			}
		}
		c.ids = append(c.ids, e.Name())
	}
	if len(c.ids) == 0 {
		return classed{}, errNoLayout
	}
	return c, nil
}

// readPickles reads the three pickles but for their pixels, which are read when an image is decoded. Images are in the
// order of the pickles, and classes in that of their first images.
func (f miniFormat) readPickles(root string) (classed, *packed, error) {
	var all classed
	var parts []*pickle.MiniImageNet
	for i, list := range f.lists {
		m, err := readPickle(filepath.Join(root, f.pickle(i)))
		if err == nil {
			parts = append(parts, m)
			err = all.add(nil, m.Classes, list.classes)
		}
		if err != nil {
			return classed{}, nil, fmt.Errorf("%s: %w. All three files are needed; %s", f.pickle(i), cause.Of(err), miniFetch)
		}
	}
	return all, &packed{len(all.labels), func(i int, dst []uint8) error { return readPacked(parts, i, dst) }}, nil
}

func readPickle(name string) (*pickle.MiniImageNet, error) {
	file, size, err := input.Open(name, input.Want{Most: limit.DataFile})
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return pickle.ReadMiniImageNet(reopened{name, info}, size)
}

// reopened is a file that is opened for each read, so that nobody has to close it.
type reopened struct {
	name  string
	first fs.FileInfo // of the file whose contents are known
}

// ReadAt implements [io.ReaderAt]. A file that has taken the place of the first one is an error, as its images may lie
// elsewhere.
func (r reopened) ReadAt(b []byte, at int64) (int, error) {
	file, _, err := input.Open(r.name, input.Want{Most: limit.DataFile})
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && (!os.SameFile(info, r.first) || info.Size() != r.first.Size() ||
		!info.ModTime().Equal(r.first.ModTime())) {
		err = fmt.Errorf("%s was changed while it was read. Run the same command again", r.name)
	}
	if err != nil {
		return 0, err
	}
	return file.ReadAt(b, at)
}

// readPacked reads image i of the pickles, whose colours lie side by side, as planes.
func readPacked(parts []*pickle.MiniImageNet, i int, dst []uint8) error {
	at := 0
	for i >= len(parts[at].Classes) {
		i -= len(parts[at].Classes)
		at++
	}
	const plane = miniSide * miniSide
	var pixels [3 * plane]uint8
	if _, err := parts[at].Images.ReadAt(pixels[:], int64(i)*3*plane); err != nil {
		return err
	}
	r, g, b := dst[:plane], dst[plane:2*plane], dst[2*plane:3*plane]
	for p := range plane {
		r[p], g[p], b[p] = pixels[3*p], pixels[3*p+1], pixels[3*p+2]
	}
	return nil
}

// readClassNames reads the file of names where it is there: lines of an id, a tab and a name. A class without a name
// keeps its id.
func readClassNames(file string, ids []string) ([]string, error) {
	text, err := readSmall(file, limit.ClassNames)
	if errors.Is(err, fs.ErrNotExist) {
		return ids, nil
	}
	names := ids
	if err == nil {
		names, err = parseClassNames(text, ids)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w. Correct the file, or remove it", miniNames, err)
	}
	return names, nil
}

// parseClassNames are the names of ids.
func parseClassNames(text []byte, ids []string) ([]string, error) {
	names := slices.Clone(ids)
	seen := map[string]bool{}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSuffix(line, "\r"); line == "" {
			continue
		}
		id, name, ok := strings.Cut(line, "\t")
		switch {
		case !ok || name == "" || shown(name) != name:
			return nil, fmt.Errorf("line %d is %.60q instead of an id, a tab and a name", i+1, line)
		case seen[id]:
			return nil, fmt.Errorf("line %d has the id %.60q again", i+1, id)
		}
		seen[id] = true
		if k := slices.Index(ids, id); k >= 0 {
			names[k] = name
		}
	}
	return names, nil
}

// readSmall reads a file of at most so many bytes.
func readSmall(name string, most int64) ([]byte, error) {
	text, err := input.ReadFile(name, input.Want{Most: most})
	return text, cause.Of(err)
}
