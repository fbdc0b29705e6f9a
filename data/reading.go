package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/internal/nearest"
	"ocl/internal/spelling"
)

// Values of Spec.Reading: how a person's own images say which class they show.
const (
	ReadFolders = "folders" // by the folders that they are in
	ReadNames   = "names"   // by the names of their files, such as cat.12.jpg
	ReadList    = "list"    // by a file that lists them; list:COLUMN says which of its columns has the class
)

// reading is what was found in a place of a person's own images.
type reading struct {
	says    string // what is there, and what says the classes: a sentence without its end
	rows    ownRows
	list    string // the file that has the rows, below the root; "" is none or several
	numbers bool   // labels that are all whole numbers are in their order
	plain   bool   // class folders, of which nothing needs to be said
}

// checkReading refuses a value of Spec.Reading that the data set does not have.
func (i Info) checkReading(text string) error {
	kind, column, named := strings.Cut(text, ":")
	if text != "" && !slices.Contains(i.Readings, kind) || named && (kind != ReadList || column == "") {
		return fmt.Errorf("data.reading: %.40q is unknown. Use %s", text, nearest.Or(i.Readings))
	}
	return nil
}

// unsure is the error about images that can be read in several ways, or that say their classes in none that is usual.
type unsure struct {
	why      string
	readings []string // values of Spec.Reading to choose from
	dirs     []string // places to choose from
}

func (u *unsure) Error() string { return u.why }

// choices are the commands that choose.
func (u *unsure) choices(spec Spec) string {
	var list []string
	for _, r := range u.readings {
		list = append(list, fmt.Sprintf("`ocl data info %s --data-dir %s data.reading=%s`", spec.Name, escape.Word(spec.Dir),
			escape.Word(r)))
	}
	for _, dir := range u.dirs {
		list = append(list, fmt.Sprintf("`ocl data info folder --data-dir %s`", escape.Word(dir)))
	}
	const most = 10
	text := strings.Join(list[:min(most, len(list))], ", ")
	if len(list) > most {
		text += fmt.Sprintf(", or %d more like these", len(list)-most)
	}
	return "Choose one, and give the same words to other commands: " + text
}

// listOwn finds a person's own images: it says what it sees in a folder, or in a file that lists them, and reads that.
func listOwn(ctx context.Context, spec Spec) (*listing, error) {
	kind, column, _ := strings.Cut(spec.Reading, ":")
	t, r, err := look(ctx, spec, kind, column)
	if spec.Whole && errors.Is(err, errNoClasses) { // nobody asked for two classes
		spec.OneClass = true
		if t, r, err = look(ctx, spec, kind, column); errors.Is(err, errNoClasses) {
			t, r, err = unclassed(ctx, spec, err)
		}
	}
	var l *listing
	if err == nil {
		l = newListing(spec.Name, spec)
		if l.pictures.root, l.set.Reading = t.root, r.says; !r.plain && spec.Name != csvName {
			l.set.Notes = append(l.set.Notes, r.says)
		}
		if r.list != "" {
			l.pictures.list = t.path(r.list)
		}
		if err = r.rows.fill(l, spec, r.numbers); err != nil {
			err = fmt.Errorf("%s: %w", shown(cmp.Or(l.pictures.list, t.root)), err)
		}
	}
	var u *unsure
	if errors.As(err, &u) && len(u.readings)+len(u.dirs) > 0 {
		return nil, fmt.Errorf("%w. %s", err, u.choices(spec))
	}
	if err != nil {
		return nil, err
	}
	if r.list != "" {
		l.pictures.respell()
	}
	if err := t.words(l.set); err != nil {
		return nil, err
	}
	l.set.Notes = append(l.set.Notes, t.notes()...)
	return l, nil
}

// unclassed are the images of a folder itself, as one class that has its name. Without any, it is the error why.
func unclassed(ctx context.Context, spec Spec, why error) (*tree, *reading, error) {
	t := newTree(ctx, spec)
	_, images, err := t.read("")
	full, failed := filepath.Abs(spec.Dir)
	if err = errors.Join(err, failed); err != nil {
		return nil, nil, err
	}
	if len(images) == 0 {
		return nil, nil, why
	}
	r := &reading{says: "no folders say the classes"}
	for _, file := range images {
		r.rows = append(r.rows, ownRow{path: file, label: shown(filepath.Base(full))})
	}
	return t, r, nil
}

// look reads what is at spec.Dir.
func look(ctx context.Context, spec Spec, kind, column string) (*tree, *reading, error) {
	const ofFolder = "Use --data-dir with a folder that has a folder of images for each class, or with a list of images"
	const ofList = "Use --data-dir FILE.csv, a list with the columns path and label"
	of, use := "folder", ofFolder
	if spec.Name == csvName {
		of, use = "file", ofList
	}
	info, err := given(of, spec.Dir, use)
	if err != nil {
		return nil, nil, err
	}
	t := newTree(ctx, spec)
	switch {
	case !info.IsDir() && (kind == "" || kind == ReadList):
		t.root = filepath.Dir(spec.Dir)
		name := filepath.Base(spec.Dir)
		if what := unlisted(spec.Dir, info, use); what != "" && spec.Name != csvName {
			return nil, nil, fmt.Errorf("%s: %s", shown(spec.Dir), what)
		}
		r, err := t.list(name, column)
		return t, r, err
	case !info.IsDir():
		return nil, nil, fmt.Errorf("%s: data.reading is %s, but this is %s. Give the folder of the images", shown(spec.Dir),
			kind, input.Kind(info))
	case spec.Name == csvName:
		return nil, nil, fmt.Errorf("%s: this is a folder. %s; for class folders use --data folder", shown(spec.Dir), use)
	}
	t.above = []os.FileInfo{info}
	r, err := t.see(kind, column)
	return t, r, err
}

// see says what the folder has, and reads it. kind is "" where nobody has chosen.
func (t *tree) see(kind, column string) (*reading, error) {
	switch kind {
	case ReadNames:
		return t.named(true)
	case ReadFolders:
		return t.byFolders(true)
	case ReadList:
		r, err := t.metadata(true, column)
		if r == nil && err == nil {
			r, err = t.listed(column)
		}
		return r, err
	}
	if err := t.descend(); err != nil {
		return nil, err
	}
	for _, look := range []func() (*reading, error){t.birds, t.exported,
		func() (*reading, error) { return t.metadata(false, "") }, t.marked} {
		if r, err := look(); r != nil || err != nil {
			return r, err
		}
	}
	remarks := len(t.remarks)
	r, err := t.byFolders(false)
	if err != nil && !errors.Is(err, errNoClasses) {
		return nil, err
	}
	lists, failed := t.lists()
	switch {
	case failed != nil:
		return nil, failed
	case err == nil:
		return r, t.compare(r, lists)
	case len(lists) > 0:
		t.remarks = t.remarks[:remarks]
		return t.listed("")
	}
	if arrays := t.arrays(); len(arrays) > 0 {
		err = fmt.Errorf("%s: there are arrays, as of MedMNIST, and no images. %s", shown(t.root), useArrays(arrays...))
	}
	return nil, err
}

// arrays are up to ten files of arrays in the root, where it has no images.
func (t *tree) arrays() (names []string) {
	_, images, err := t.peek("")
	entries, failed := input.ReadDir(t.root)
	if err != nil || failed != nil || len(images) > 0 {
		return nil
	}
	for _, e := range entries {
		if strings.EqualFold(path.Ext(e.Name()), ".npz") && len(names) < 10 {
			names = append(names, t.path(e.Name()))
		}
	}
	return names
}

// descend goes down to the one folder that everything lies in, as of an archive that was unpacked into a folder of its
// own.
func (t *tree) descend() error {
	for range limit.SetDepth {
		inner, err := t.within()
		if inner == "" || err != nil {
			return err
		}
		if err := t.into(inner); err != nil {
			return err
		}
	}
	return nil
}

// into makes a folder the root.
func (t *tree) into(folder string) error {
	info, err := os.Stat(t.path(folder))
	if err != nil {
		return t.fault(folder, err)
	}
	t.remarks = append(t.remarks, fmt.Sprintf("all images lie in the folder %s, which is read", shown(folder)))
	t.root, t.above, t.peeked, t.found = t.path(folder), append(t.above, info), nil, 0
	return nil
}

// within is the only folder of the root, if it looks like a data set and not like a class; "" is none.
func (t *tree) within() (string, error) {
	folders, images, err := t.peek("")
	if err != nil || len(folders) != 1 || len(images) > 0 || halfOf(folders[0]) != "" || t.hasMark() {
		return "", err
	}
	in := t.aside()
	in.root = t.path(folders[0])
	if in.hasMark() {
		return folders[0], nil
	}
	inner, images, err := in.peek("")
	if err == nil && len(images) > 0 && !t.one && setName.MatchString(strings.ToLower(folders[0])) {
		return folders[0], nil
	}
	if err != nil || len(images) > 0 {
		return "", nil //nolint:nilerr // what cannot be read is said when it is read
	}
	names := map[string]bool{}
	for _, name := range inner {
		names[name] = true
	}
	if halved(names) || !t.one && len(inner) > 1 {
		return folders[0], nil
	}
	if deeper, err := in.within(); err != nil || deeper == "" {
		return "", err
	}
	return folders[0], nil
}

// hasMark says whether the root has a file by which a published layout or an export is known.
func (t *tree) hasMark() bool {
	return slices.ContainsFunc([]string{birdImages, "metadata.csv", "metadata.jsonl", "metadata.parquet", "wnids.txt",
		oneHotList, boxesList, "README.roboflow.txt"}, func(name string) bool { return exists(t.path(name)) })
}

// unlisted says what a file is that a person has given and that lists no images; "" is a list.
func unlisted(name string, info os.FileInfo, use string) string {
	switch ending := strings.ToLower(filepath.Ext(name)); {
	case !info.Mode().IsRegular():
	case ending == ".npz":
		return "these are arrays. " + useArrays(name)
	case slices.Contains([]string{".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar"}, ending):
		return "this is an archive. Unpack it, and give its folder"
	case isListFile(name):
		return ""
	}
	return fmt.Sprintf("this is %s. %s", input.Kind(info), use)
}

// useArrays is the command that reads files of arrays.
func useArrays(names ...string) string {
	commands := make([]string, len(names))
	for i, name := range names {
		commands[i] = fmt.Sprintf("`ocl data info npz --data-dir %s`", escape.Word(name))
	}
	return fmt.Sprintf("Write %s, and --data npz in other commands", nearest.Or(commands))
}

// isListFile says whether the ending of a name is that of a list of images.
func isListFile(name string) bool {
	return slices.Contains([]string{".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet"},
		strings.ToLower(path.Ext(name)))
}

// list reads a file that lists images, below the root. Its columns are those of Label Studio, or as [table.find] says.
func (t *tree) list(name, column string) (*reading, error) {
	fault := func(err error) error { return fmt.Errorf("%s: %w", shown(t.path(name)), err) }
	if strings.EqualFold(path.Ext(name), ".json") {
		r, err := t.labelStudioJSON(name, column)
		if err != nil {
			return nil, fault(err)
		}
		return r, nil
	}
	from, file, err := t.table(name)
	if err == nil {
		defer file.Close()
		err = t.fewRows(name)
	}
	if err != nil {
		return nil, fault(err)
	}
	if from.ofLabelStudio() {
		r, err := t.labelStudioTable(from, column)
		if err != nil {
			return nil, fault(err)
		}
		r.list = name
		return r, nil
	}
	rows, left, err := from.read(t.ctx, column, limit.SetImages)
	if err != nil {
		return nil, fault(err)
	}
	t.leftOut(left)
	return &reading{says: fmt.Sprintf("%s lists the images, with the class of each%s", shown(name), inColumn(column)),
		rows: rows, list: name, numbers: true}, nil
}

// table reads the names of the columns of a list, below the root. The caller closes the file.
func (t *tree) table(name string) (from *table, file io.Closer, err error) {
	ending := strings.ToLower(path.Ext(name))
	if ending == ".parquet" {
		return nil, nil, errors.New("this is Parquet, which is not read. Write the list as CSV, such as `pandas.read_parquet(FILE).to_csv(NEW)`")
	}
	f, _, err := input.Open(t.path(name), input.Want{Most: limit.ImageList})
	if err != nil {
		return nil, nil, fmt.Errorf("%w. Give a list of images that can be read", cause.Of(err))
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	in := until{t.ctx, f}
	if ending == ".jsonl" || ending == ".ndjson" {
		from, err = tableOfJSONLines(in)
		return from, f, err
	}
	from, err = tableOfCSV(in)
	return from, f, err
}

// fewRows refuses a list of too many rows before any of them is checked.
func (t *tree) fewRows(name string) error {
	file, _, err := input.Open(t.path(name), input.Want{Most: limit.ImageList})
	if err != nil {
		return cause.Of(err)
	}
	defer file.Close()
	return fewRows(t.ctx, file, limit.SetImages)
}

// inColumn names the column of the classes, where a person has chosen it.
func inColumn(column string) string {
	if column == "" {
		return ""
	}
	return " in the column " + shown(column)
}

// leftOut notes columns that are not used.
func (t *tree) leftOut(columns []string) {
	if len(columns) > 0 {
		t.remarks = append(t.remarks, "columns that are not used: "+count.First(20, columns))
	}
}

// lists are the files in the root that list images, by the names of their columns.
func (t *tree) lists() (names []string, err error) {
	entries, err := input.ReadDir(t.root)
	if err != nil {
		return nil, t.fault("", err)
	}
	const most = 20 // files that are looked at
	looked := 0
	for _, e := range entries {
		if name := e.Name(); isListFile(name) && !strings.HasPrefix(name, ".") && looked < most {
			if looked++; t.listsImages(name) {
				names = append(names, name)
			}
		}
	}
	return names, t.ctx.Err()
}

// listsImages says whether a file in the root is a list of images.
func (t *tree) listsImages(name string) bool {
	if strings.EqualFold(path.Ext(name), ".json") {
		return t.isLabelStudioJSON(name)
	}
	from, file, err := t.table(name)
	if err != nil {
		return false
	}
	defer file.Close()
	return from.ofLabelStudio() || from.listsImages()
}

// listed reads the list in the root. Where there are several, the choice is the person's.
func (t *tree) listed(column string) (*reading, error) {
	names, err := t.lists()
	if err == nil && len(names) == 0 && column != "" { // the column has no usual name, so no list was known
		names, err = t.tables()
	}
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, fmt.Errorf("%s: there is no list of images, such as metadata.csv or a file with the columns path and label. Give one, or another data.reading",
			shown(t.root))
	case len(names) == 1:
		return t.list(names[0], column)
	}
	u := &unsure{why: fmt.Sprintf("%s: several files list images: %s", shown(t.root), count.Some(shownAll(names)))}
	for _, name := range names {
		u.dirs = append(u.dirs, t.path(name))
	}
	return nil, u
}

// tables are the files in the root that may be lists.
func (t *tree) tables() (names []string, err error) {
	entries, err := input.ReadDir(t.root)
	if err != nil {
		return nil, t.fault("", err)
	}
	for _, e := range entries {
		if isListFile(e.Name()) && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func shownAll(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = shown(name)
	}
	return all
}

// compare refuses class folders beside a list that gives their images other classes: only the person knows which are
// right. A list of other images is not about them.
func (t *tree) compare(r *reading, lists []string) error {
	if len(lists) == 0 {
		return nil
	}
	label := map[string]string{} // of each image
	for _, row := range r.rows {
		label[row.path] = row.label
	}
	for _, name := range lists {
		of, err := t.aside().list(name, "")
		if err != nil {
			continue // the folders can be read without it
		}
		for _, row := range of.rows {
			folder, there := label[path.Clean(filepath.ToSlash(row.path))]
			if there && spelling.Key(folder) != spelling.Key(row.label) {
				return &unsure{why: fmt.Sprintf("%s: line %d of %s says that %s is %s, and it is in the folder of %s", shown(t.root),
					row.line, shown(name), shown(row.path), shown(row.label), shown(folder)),
					readings: []string{ReadFolders}, dirs: []string{t.path(name)}}
			}
		}
	}
	return nil
}
