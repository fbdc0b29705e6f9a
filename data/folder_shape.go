package data

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/internal/spelling"
)

// setName matches names, in lower case, that people give to data sets and not to classes.
var setName = regexp.MustCompile(`^(?:(?:my|new|old|more|raw|all|other|the)[ _-]*)*(?:photos?|photographs?|pictures?|pics?|images?|imgs?|data|datasets?|set|archive|downloads?|more|new|old|raw|other)[ _-]*\d*$`)

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
	sign := len(list) == 1 && !t.one || slices.ContainsFunc(folders, t.ofRuns)
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
			classes, names[most], right))
		return nil
	}
	return fmt.Errorf("%s: %s has no images but folders of images, %s, and so looks like a data set and not like a class. Use --data-dir %s; if %s a class, list the images in a file for --data csv",
		shown(t.root), names[most], classes, right, cmp.Or(map[bool]string{true: "it is"}[len(names) == 1],
			count.Some(names)+" are each"))
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

// valAnnotations is the file of Tiny-ImageNet that says which class each image of its folder val shows.
const valAnnotations = "val_annotations.txt"

// annotated are the images of a half in the layout of Tiny-ImageNet: all in one folder called images, and a line with
// the file, the class and a box for each.
func (t *tree) annotated(name string) ([]classFolder, error) {
	leave, err := t.enter(name)
	if err != nil {
		return nil, err
	}
	defer leave()
	list := path.Join(name, valAnnotations)
	text, err := readSmall(t.path(list), limit.ImageList)
	if err != nil {
		return nil, t.fault(list, err)
	}
	_, images, err := t.read(path.Join(name, "images"))
	if err != nil {
		return nil, err
	}
	left := map[string]bool{} // images without a line
	for _, f := range images {
		left[f] = true
	}
	files := map[string][]string{} // of each class
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSuffix(line, "\r"); line == "" {
			continue
		}
		fields := strings.Split(line, "\t")
		file := path.Join(name, "images", fields[0])
		switch {
		case len(fields) < 2 || fields[1] == "" || shown(fields[1]) != fields[1]:
			return nil, fmt.Errorf("%s: line %d is %.60q instead of a file, a tab and a class. Get the file again",
				shown(path.Join(t.root, list)), i+1, line)
		case !left[file]:
			return nil, fmt.Errorf("%s: line %d has the image %.60q, which is not in the folder images or has a line already. Get the files again",
				shown(path.Join(t.root, list)), i+1, fields[0])
		}
		delete(left, file)
		class := spelling.Of(fields[1])
		files[class] = append(files[class], file)
	}
	if t.outside += len(left); len(left) > 0 {
		t.remarks = append(t.remarks, fmt.Sprintf("%s has no line for %s of %s", list, count.Of(len(left), "image"),
			path.Join(name, "images")))
	}
	var half []classFolder
	for _, class := range slices.Sorted(maps.Keys(files)) {
		slices.Sort(files[class])
		half = append(half, classFolder{class, files[class]})
	}
	return half, nil
}

// words names classes that are called by numbers of WordNet as the file words.txt of ImageNet does, where it is there:
// by the first word for each. A class keeps its number where another one has that word.
func (t *tree) words(set *Set) error {
	if slices.ContainsFunc(set.ClassNames, func(name string) bool { return !wordNetID.MatchString(name) }) ||
		!exists(t.path("words.txt")) {
		return nil
	}
	text, err := readSmall(t.path("words.txt"), limit.ImageList)
	if err != nil {
		return t.fault("words.txt", err)
	}
	words, err := parseClassNames(text, set.ClassNames)
	if err != nil {
		return fmt.Errorf("%s: %w. Correct the file, or remove it", shown(path.Join(t.root, "words.txt")), err)
	}
	times := map[string]int{}
	for k := range words {
		words[k], _, _ = strings.Cut(words[k], ",")
		words[k] = spelling.Of(strings.TrimSpace(words[k]))
		times[words[k]]++
	}
	for k, word := range words {
		if word == "" || times[word] > 1 {
			words[k] = set.ClassNames[k]
		}
	}
	set.ClassNames = words
	return nil
}
