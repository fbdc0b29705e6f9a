package data

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/internal/input"
	"ocl/internal/spelling"
)

// setName matches names, in lower case, that people give to data sets and not to classes.
var setName = regexp.MustCompile(`^(?:(?:my|new|old|more|raw|all|other|the)[ _-]*)*(?:photos?|photographs?|pictures?|pics?|images?|imgs?|data|datasets?|set|archive|downloads?|more|new|old|raw|other)[ _-]*\d*$`)

// partName matches names, in lower case, that data sets give to folders of something else than images of classes.
var partName = regexp.MustCompile(`^(?:annotations?|labels?|masks?|trimaps?|segmentations?|bbox(?:es)?|boxes|gt|ground[ _-]?truth)$`)

// parts refuses folders whose names are all those of parts of a data set, as images and annotations beside each other.
func (t *tree) parts(list []classFolder) error {
	u := &unsure{readings: []string{ReadFolders}}
	var names []string
	for _, c := range list {
		name := strings.ToLower(c.name)
		if !setName.MatchString(name) && !partName.MatchString(name) {
			return nil
		}
		names, u.dirs = append(names, shown(c.name)), append(u.dirs, filepath.Join(t.root, c.name))
	}
	isPart := func(c classFolder) bool { return partName.MatchString(strings.ToLower(c.name)) }
	if len(list) < 2 || !slices.ContainsFunc(list, isPart) {
		return nil
	}
	u.why = fmt.Sprintf("%s: %s look like parts of a data set and not like classes", shown(t.root), count.And(names))
	return u
}

// only says whether all images lie in folders below the only class folder, so that these are the classes. A learner
// that knows other classes may learn the one.
func (t *tree) only(list []classFolder) bool {
	if t.one || len(list) != 1 {
		return false
	}
	below := map[string]bool{}
	for _, f := range list[0].files {
		inside, _, deep := strings.Cut(f[strings.IndexByte(f, '/')+1:], "/")
		if !deep {
			return false
		}
		below[inside] = true
	}
	return len(below) > 1
}

// sets refuses folders that look like data sets with classes of their own, as of a folder that was given one level too
// high: none has an image itself, one has several folders of images, and their names or what is in them tell of sets.
// Without such a sign the folders are classes, and a note says so.
func (t *tree) sets(folders []string, list []classFolder) error {
	below := make([]map[string]bool, len(list)) // the folders of images in each
	most := 0
	for i, c := range list {
		below[i] = map[string]bool{}
		for _, f := range c.files {
			inside, _, deep := strings.Cut(f[strings.IndexByte(f, '/')+1:], "/")
			if !deep {
				return nil
			}
			below[i][spelling.Of(inside)] = true
		}
		if len(below[i]) > len(below[most]) {
			most = i
		}
	}
	if len(list) == 0 || len(below[most]) < 2 {
		return nil
	}
	names := make([]string, len(list))
	sign := len(list) == 1 || slices.ContainsFunc(folders, t.ofRuns)
	named := 0
	for i, c := range list {
		names[i] = c.name
		if setName.MatchString(strings.ToLower(c.name)) {
			named++
		}
		sign = sign || 2*named >= len(list) || halved(below[i])
		for _, other := range below[:i] {
			sign = sign || across(below[i], other)
		}
	}
	classes := count.Some(slices.Sorted(maps.Keys(below[most])))
	right := filepath.Join(t.root, names[most])
	if !sign {
		t.remarks = append(t.remarks, fmt.Sprintf("all images lie in folders below those of the classes, such as %s in %s. If these are the classes, use --data-dir %s",
			classes, names[most], escape.Word(right)))
		return nil
	}
	u := &unsure{why: fmt.Sprintf("%s: %s has no images but folders of images, %s, and so looks like a data set and not like a class",
		shown(t.root), names[most], classes), readings: []string{ReadFolders}, dirs: []string{right}}
	for i, name := range names {
		if i != most && len(below[i]) > 1 {
			u.dirs = append(u.dirs, filepath.Join(t.root, name))
		}
	}
	return u
}

// ofRuns says whether a folder has results of this program.
func (t *tree) ofRuns(name string) bool {
	const file = "experiment.yaml"
	if exists(t.path(path.Join(name, file))) {
		return true
	}
	entries, err := input.ReadDir(t.path(name))
	return err == nil && slices.ContainsFunc(entries,
		func(e fs.DirEntry) bool { return exists(t.path(path.Join(name, e.Name(), file))) })
}

// halved says whether folders are the halves of a set.
func halved(folders map[string]bool) bool {
	train := false
	for name := range folders {
		is := halfOf(name)
		if is == "" {
			return false
		}
		train = train || is == "train"
	}
	return train
}

// across says whether each of two folders has names that the other one has and some that it has not, as sets do that
// share classes.
func across(a, b map[string]bool) bool {
	shared := 0
	for name := range a {
		if b[name] {
			shared++
		}
	}
	return shared > 0 && shared < len(a) && shared < len(b)
}
