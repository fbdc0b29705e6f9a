package data

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/internal/limit"
	"ocl/internal/spelling"
)

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
	text, err := readSmall(t.path(list), limit.ImageListWhole)
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
	text, err := readSmall(t.path("words.txt"), limit.ImageListWhole)
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

// Files of CUB-200-2011, Caltech's birds: a number and a text on each line.
const (
	birdImages  = "images.txt"             // of an image, its file below the folder images
	birdLabels  = "image_class_labels.txt" // of an image, the number of its class
	birdHalves  = "train_test_split.txt"   // of an image, 1 for training and 0 for testing
	birdClasses = "classes.txt"            // of a class, its name
)

// birds reads the layout of CUB-200-2011; without its files it returns nil.
func (t *tree) birds() (*reading, error) {
	for _, name := range []string{birdImages, birdLabels} {
		if !exists(t.path(name)) {
			return nil, nil
		}
	}
	lists := map[string]map[string]string{}
	var order []string // numbers of the images
	for _, name := range []string{birdImages, birdLabels, birdHalves, birdClasses} {
		if name == birdClasses && !exists(t.path(name)) {
			continue
		}
		numbers, texts, err := t.numbered(name)
		if err != nil {
			return nil, err
		}
		if lists[name] = texts; name == birdImages {
			order = numbers
		}
	}
	r := &reading{says: fmt.Sprintf("%s, %s and %s say file, class and half of each image, as in CUB-200-2011", birdImages,
		birdLabels, birdHalves)}
	for _, number := range order {
		class, half := lists[birdLabels][number], lists[birdHalves][number]
		if class == "" || half != "0" && half != "1" {
			return nil, fmt.Errorf("%s: image %s of %s has no class in %s, or neither 0 nor 1 in %s. Get the files again",
				shown(t.root), shown(number), birdImages, birdLabels, birdHalves)
		}
		if name := lists[birdClasses][class]; name != "" {
			class = name
		}
		r.rows = append(r.rows, ownRow{path: path.Join("images", lists[birdImages][number]), label: class,
			split: map[string]string{"1": "train", "0": "test"}[half]})
	}
	return r, nil
}

// numbered reads a list of numbers with a text each, in the order of the file.
func (t *tree) numbered(name string) (numbers []string, texts map[string]string, err error) {
	text, err := readSmall(t.path(name), limit.ImageListWhole)
	if err != nil {
		return nil, nil, t.fault(name, err)
	}
	texts = map[string]string{}
	n := 0
	for line := range strings.Lines(string(text)) {
		if n++; strings.TrimSpace(line) == "" {
			continue
		}
		number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		_, twice := texts[number]
		switch {
		case rest == "" || shown(rest) != rest || name == birdImages && !filepath.IsLocal(filepath.FromSlash(rest)):
			return nil, nil, fmt.Errorf("%s: line %d is %.60q instead of a number and %s. Get the file again",
				shown(t.path(name)), n, line, map[bool]string{true: "a file", false: "a word"}[name == birdImages])
		case twice:
			return nil, nil, fmt.Errorf("%s: line %d has the number %.20q again. Get the file again", shown(t.path(name)), n,
				number)
		case len(numbers) == t.most:
			return nil, nil, fmt.Errorf("%s: %w", shown(t.path(name)), tooManyRows(t.most))
		}
		numbers, texts[number] = append(numbers, number), rest
	}
	if len(numbers) == 0 {
		return nil, nil, fmt.Errorf("%s: %w. Get the file again", shown(t.path(name)), errors.New("the file is empty"))
	}
	return numbers, texts, nil
}
