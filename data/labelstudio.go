package data

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// columnsOfLabelStudio are those of its exports as CSV and JSON_MIN that say nothing of image or class.
var columnsOfLabelStudio = []string{"annotation_id", "annotator", "created_at", "id", "lead_time", "updated_at",
	"agreement", "sentiment_id"}

// ofLabelStudio says whether a list is an export of Label Studio.
func (t *table) ofLabelStudio() bool {
	return slices.Contains(t.columns, "annotation_id") && slices.Contains(t.columns, "lead_time")
}

// isLabelStudioJSON says whether a file in the root begins as an export of Label Studio does.
func (t *tree) isLabelStudioJSON(name string) bool {
	file, _, err := input.Open(t.path(name), input.Want{Most: limit.ImageListWhole})
	if err != nil {
		return false
	}
	defer file.Close()
	begin, _ := bufio.NewReaderSize(file, 1<<16).Peek(1 << 16)
	text := strings.TrimSpace(string(begin))
	return strings.HasPrefix(text, "[") && (strings.Contains(text, `"annotations"`) || strings.Contains(text, `"annotation_id"`))
}

// task is an image of a project of Label Studio with the classes that an annotation gives it.
type task struct {
	line    int // in a CSV file; 0 in JSON
	image   string
	classes []string
}

// labelStudioTable reads an export as CSV. The columns of image and class are called as in the project.
func (t *tree) labelStudioTable(from *table, column string) (*reading, error) {
	var rows [][]string
	var lines []int
	for {
		fields, line, err := from.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(rows) == limit.SetImages {
			return nil, tooManyRows(limit.SetImages)
		}
		rows, lines = append(rows, slices.Clone(fields)), append(lines, line)
	}
	return t.labelStudioRows(from.columns, rows, lines, column)
}

// labelStudioRows finds the columns of image and class by what is in them.
// lines are those of the rows in a file that has a line for each.
func (t *tree) labelStudioRows(columns []string, rows [][]string, lines []int, column string) (*reading, error) {
	image := -1
	var rest []string
	for i, c := range columns {
		if slices.Contains(columnsOfLabelStudio, c) {
			continue
		}
		isImage := slices.ContainsFunc(rows, func(fields []string) bool { return fields[i] != "" }) &&
			!slices.ContainsFunc(rows, func(fields []string) bool { return fields[i] != "" && !isImageOfLabelStudio(fields[i]) })
		if image < 0 && isImage {
			image = i
		} else {
			rest = append(rest, c)
		}
	}
	if image < 0 {
		return nil, fmt.Errorf("no column of this export of Label Studio has images. The columns are %s. Export a project of images",
			count.First(20, shownAll(columns)))
	}
	switch {
	case column != "" && !slices.Contains(rest, column):
		return nil, fmt.Errorf("there is no column %.40q. The columns are %s", column, count.First(20, shownAll(rest)))
	case column != "":
		rest = []string{column}
	case len(rest) > 1:
		u := &unsure{why: "several columns of this export of Label Studio may have the class"}
		for _, c := range rest {
			u.readings = append(u.readings, ReadList+":"+c)
		}
		return nil, u
	case len(rest) == 0:
		return nil, errors.New("no column of this export of Label Studio has classes. Export a project with choices that is labelled")
	}
	class := slices.Index(columns, rest[0])
	tasks := make([]task, len(rows))
	for i, fields := range rows {
		if tasks[i] = (task{image: fields[image], classes: classesOfChoice(fields[class])}); lines != nil {
			tasks[i].line = lines[i]
		}
	}
	return t.labelStudio(tasks)
}

// isImageOfLabelStudio says whether a field names an image: a path or an address.
func isImageOfLabelStudio(field string) bool {
	return strings.HasPrefix(field, "/data/") || strings.Contains(field, "://") || IsPicture(field)
}

// classesOfChoice are the classes of a field: one, or several as an object.
func classesOfChoice(field string) []string {
	var several struct {
		Choices []string `json:"choices"`
	}
	switch {
	case field == "":
		return nil
	case strings.HasPrefix(field, "{") && json.Unmarshal([]byte(field), &several) == nil:
		return several.Choices
	}
	return []string{field}
}

// labelStudioJSON reads an export as JSON, or as JSON_MIN, which has the columns of the CSV file.
func (t *tree) labelStudioJSON(name, column string) (*reading, error) {
	const want = "this is no export of Label Studio (JSON or JSON_MIN). Export it again, or write the list as CSV with the columns path and label"
	text, err := readSmall(t.path(name), limit.ImageListWhole)
	if err != nil {
		return nil, fmt.Errorf("%w. Check the file", err)
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil || len(list) == 0 {
		return nil, errors.New(want)
	}
	if len(list) > limit.SetImages {
		return nil, tooManyRows(limit.SetImages)
	}
	keys := map[string]bool{}
	for _, object := range list {
		for key := range object {
			keys[key] = true
		}
	}
	if keys["annotations"] && keys["data"] {
		return t.labelStudioTasks(list, column)
	}
	if !keys["annotation_id"] {
		return nil, errors.New(want)
	}
	columns := slices.Sorted(maps.Keys(keys))
	rows := make([][]string, len(list))
	for i, object := range list {
		for _, key := range columns {
			rows[i] = append(rows[i], scalar(object[key]))
		}
	}
	return t.labelStudioRows(columns, rows, nil, column)
}

// labelStudioTasks reads the tasks of an export as JSON: each has data, and annotations with results.
func (t *tree) labelStudioTasks(list []map[string]json.RawMessage, column string) (*reading, error) {
	type annotation struct {
		Cancelled bool `json:"was_cancelled"`
		Result    []struct {
			Type  string `json:"type"`
			From  string `json:"from_name"`
			Value struct {
				Choices []string `json:"choices"`
			} `json:"value"`
		} `json:"result"`
	}
	var tasks []task
	names := map[string]bool{} // of the choices of the project
	for i, object := range list {
		var annotations []annotation
		var fields map[string]json.RawMessage
		if json.Unmarshal(object["annotations"], &annotations) != nil || json.Unmarshal(object["data"], &fields) != nil {
			return nil, fmt.Errorf("task %d has no annotations or no data as Label Studio writes them. Export the project again",
				i+1)
		}
		image := ""
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if field := scalar(fields[key]); image == "" && isImageOfLabelStudio(field) {
				image = field
			}
		}
		if image == "" {
			return nil, fmt.Errorf("task %d has no image in its data. Export a project of images", i+1)
		}
		labelled := false
		for _, a := range annotations {
			for _, result := range a.Result {
				if a.Cancelled || result.Type != "choices" || column != "" && result.From != column {
					continue
				}
				names[result.From], labelled = true, true
				tasks = append(tasks, task{image: image, classes: result.Value.Choices})
			}
		}
		if !labelled {
			tasks = append(tasks, task{image: image})
		}
	}
	if len(names) > 1 {
		u := &unsure{why: "several choices of this project of Label Studio may be the class"}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			u.readings = append(u.readings, ReadList+":"+name)
		}
		return nil, u
	}
	return t.labelStudio(tasks)
}

// hashOfLabelStudio is what Label Studio puts before the name of an uploaded file.
var hashOfLabelStudio = regexp.MustCompile(`^[0-9a-f]{8}-`)

// labelStudio finds the images of tasks below the root, by the names of their files, and leaves out those that have not
// one class.
func (t *tree) labelStudio(tasks []task) (*reading, error) {
	files, err := t.aside().walk("")
	if err != nil {
		return nil, err
	}
	called := map[string][]string{} // the files of a name
	for _, file := range files {
		called[path.Base(file)] = append(called[path.Base(file)], file)
	}
	labels := map[string]map[string]int{} // of each image, the classes with a line that says so
	var order, missing []string
	none, several := 0, 0
	for _, task := range tasks {
		name := fileOfLabelStudio(task.image)
		found := called[path.Base(name)]
		if found == nil {
			found = called[hashOfLabelStudio.ReplaceAllString(path.Base(name), "")]
		}
		if i := slices.IndexFunc(found, func(file string) bool { return strings.HasSuffix("/"+name, "/"+file) }); i >= 0 {
			found = found[i : i+1]
		}
		switch {
		case len(task.classes) == 0:
			none++
		case len(task.classes) > 1:
			several++
		case len(found) == 0:
			missing = append(missing, shown(path.Base(name)))
		case len(found) > 1:
			return nil, fmt.Errorf("the image %s may be %s. Remove or rename all but one", shown(task.image),
				count.Some(shownAll(found)))
		default:
			if labels[found[0]] == nil {
				labels[found[0]] = map[string]int{}
				order = append(order, found[0])
			}
			labels[found[0]][task.classes[0]] = task.line
		}
	}
	if len(missing) > 0 && (len(order) == 0 || !t.skip) {
		return nil, fmt.Errorf("an export of Label Studio has no pictures, and %s below %s: %s. Copy them beside the export; Label Studio keeps uploaded files in media/upload of its data folder",
			count.Of(len(missing), "image")+map[bool]string{true: " is not", false: " are not"}[len(missing) == 1],
			shown(t.root), count.Some(missing))
	}
	r := &reading{says: "an export of Label Studio says the class of each image", numbers: true}
	differ := 0
	for _, file := range order {
		if len(labels[file]) > 1 {
			differ++
			continue
		}
		for label, line := range labels[file] {
			row := ownRow{line: line, path: file, label: strings.TrimSpace(label)}
			if err := row.check(); err != nil {
				return nil, fmt.Errorf("%s: %w", shown(file), err)
			}
			r.rows = append(r.rows, row)
		}
	}
	for _, left := range []struct {
		n         int
		noun, why string
	}{{none, "task", "without a class"}, {several, "task", "with several classes"},
		{differ, "image", "whose annotations differ"}, {len(missing), "image", "that is not there"}} {
		if left.n > 0 {
			t.remarks = append(t.remarks, fmt.Sprintf("%s %s left out", count.Of(left.n, left.noun), left.why))
		}
	}
	if len(r.rows) == 0 {
		return nil, errors.New("no image of this export of Label Studio has one class. Label some, and export them again")
	}
	return r, nil
}

// fileOfLabelStudio is the path of a file in an address or in what a local storage of Label Studio has in its place.
func fileOfLabelStudio(image string) string {
	address, err := url.Parse(image)
	if err != nil {
		return image
	}
	if local := address.Query().Get("d"); strings.HasPrefix(address.Path, "/data/local-files") && local != "" {
		return local
	}
	return address.Path
}
