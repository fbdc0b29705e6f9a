package data

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/internal/limit"
)

// places are the folders of the root in which an export may have its files: the root itself, and those that are named
// as halves, by their names, "" for the root.
func (t *tree) places() ([]string, error) {
	folders, _, err := t.peek("")
	if err != nil {
		return nil, err
	}
	places := []string{""}
	for _, name := range folders {
		if halfOf(name) != "" {
			places = append(places, name)
		}
	}
	return places, nil
}

// with are the places that have a file of that name.
func (t *tree) with(name string) (places []string, err error) {
	all, err := t.places()
	return slices.DeleteFunc(all, func(place string) bool { return !isFile(t.path(path.Join(place, name))) }), err
}

// metadata reads the lists of Hugging Face: metadata.csv or metadata.jsonl beside the images, in the root or in each
// half. Without one it returns nil. Unless a person asks for lists, a file without a column of that name is about
// something else.
func (t *tree) metadata(asked bool, column string) (*reading, error) {
	var lists []string
	for _, name := range []string{"metadata.csv", "metadata.jsonl", "metadata.parquet"} {
		places, err := t.with(name)
		if err != nil {
			return nil, err
		}
		for _, place := range places {
			if list := path.Join(place, name); asked || t.ofHuggingFace(list) {
				lists = append(lists, list)
			}
		}
	}
	if len(lists) == 0 {
		return nil, nil
	}
	r := &reading{numbers: true}
	halves := map[string]bool{}
	for _, list := range lists {
		of, err := t.list(list, column)
		var u *unsure
		if errors.As(err, &u) {
			if train, _, err := t.aside().halves(true, &reading{}); err == nil && len(train) > 1 {
				u.readings = append([]string{ReadFolders}, u.readings...)
			}
		}
		if err != nil {
			return nil, err
		}
		in := path.Dir(list)
		for _, row := range of.rows {
			if row.path = path.Join(in, strings.ReplaceAll(row.path, `\`, "/")); row.split == "" {
				first, _, _ := strings.Cut(row.path, "/")
				row.split = splitOf(halfOf(first))
			}
			halves[row.split] = true
			r.rows = append(r.rows, row)
		}
	}
	if len(halves) == 1 { // all in train, or no half
		for i := range r.rows {
			r.rows[i].split = ""
		}
	}
	r.says = count.And(shownAll(lists)) + " " + map[bool]string{true: "lists", false: "list"}[len(lists) == 1] +
		" the images, with the class of each" + inColumn(column) + ", as on Hugging Face"
	if r.list = lists[0]; len(lists) > 1 {
		r.list = ""
		for i := range r.rows {
			r.rows[i].line = 0 // of one of several lists
		}
	}
	return r, nil
}

// ofHuggingFace says whether a list may be of Hugging Face: it has a column of files that is called as there, or cannot
// be read, which is said later.
func (t *tree) ofHuggingFace(list string) bool {
	from, file, err := t.table(list)
	if err != nil {
		return true
	}
	defer file.Close()
	return slices.ContainsFunc(from.columns, func(name string) bool {
		name = strings.ToLower(strings.TrimSpace(name))
		return name == "file_name" || strings.HasSuffix(name, "_file_name")
	})
}

// Files of exports of Roboflow, in each half.
const (
	oneHotList = "_classes.csv"           // for each image 0 or 1 in the column of each class
	boxesList  = "_annotations.coco.json" // boxes of objects
)

// marked reads an export of Roboflow that has lists; without them it returns nil. Its class folders are read as others.
func (t *tree) marked() (*reading, error) {
	boxes, err := t.with(boxesList)
	if err != nil {
		return nil, err
	}
	if len(boxes) > 0 || isFile(t.path("data.yaml")) && exists(t.path("train/labels")) {
		return nil, fmt.Errorf("%s: these are boxes of objects in images, as of COCO or YOLO, and ocl learns one class for each image. Export them from Roboflow for classification (Folder Structure)",
			shown(t.root))
	}
	places, err := t.with(oneHotList)
	if err != nil || len(places) == 0 {
		return nil, err
	}
	r := &reading{says: "the columns of " + oneHotList + " say the class of each image, as in exports of Roboflow"}
	several := 0
	var example string
	for _, place := range places {
		name := path.Join(place, oneHotList)
		text, err := readSmall(t.path(name), limit.ImageListWhole)
		if err != nil {
			return nil, t.fault(name, err)
		}
		from, err := tableOfCSV(strings.NewReader(string(text)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shown(t.path(name)), err)
		}
		for {
			fields, line, err := from.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", shown(t.path(name)), err)
			}
			row := ownRow{path: path.Join(place, fields[0]), split: splitOf(halfOf(place))}
			ones := 0
			for i, field := range fields[1:] {
				if strings.TrimSpace(field) == "1" {
					row.label = strings.TrimSpace(from.columns[i+1])
					ones++
				}
			}
			if ones != 1 {
				several++
				example = fmt.Sprintf("line %d of %s", line, name)
				continue
			}
			if err := row.check(); err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", shown(t.path(name)), line, err)
			}
			if len(r.rows) == t.most {
				return nil, fmt.Errorf("%s: %w", shown(t.path(name)), tooManyRows(t.most))
			}
			r.rows = append(r.rows, row)
		}
	}
	if several > 0 {
		return nil, fmt.Errorf("%s: %s no class or several, such as %s, and ocl learns one class for each image. Export a project with one class for each image (single-label)",
			shown(t.root), count.Of(several, "image")+map[bool]string{true: " has", false: " have"}[several == 1], example)
	}
	return r, nil
}

// exported refuses what was exported without pictures.
func (t *tree) exported() (*reading, error) {
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !isFile(t.path(name)) })
	}
	if has("metadata.json", "model.json") || has("keras_model.h5", "labels.txt") || has("model_unquant.tflite", "labels.txt") ||
		has("model.tflite", "labels.txt") {
		return nil, fmt.Errorf("%s: this is a model of Teachable Machine, which has no pictures. Download the samples of each class there, and unpack them into %s/CLASS",
			shown(t.root), escape.Word(t.root))
	}
	return nil, nil
}
