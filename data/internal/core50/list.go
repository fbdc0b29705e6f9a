package core50

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The scenarios, as the lists' folders and the pickles' keys name them in capital or small letters.
const (
	NC = "NC" // new classes: tasks of 10, then 5 objects, in all training sessions
	NI = "NI" // new instances: tasks of one session with all objects
)

// List is one official list of files: those of a task, or those for testing.
type List struct {
	Scenario string // NC or NI
	Run      int    // 0 to 9
	Task     int    // from 0; TestTask is the test set
}

// TestTask is the Task of a list of test files.
const TestTask = -1

// Lists are all official lists of NC and NI.
func Lists() []List {
	var lists []List
	for _, scenario := range []string{NC, NI} {
		for run := range Runs {
			for task := range tasksOf(scenario) {
				lists = append(lists, List{scenario, run, task})
			}
			lists = append(lists, List{scenario, run, TestTask})
		}
	}
	return lists
}

// tasksOf is how many tasks a scenario has.
func tasksOf(scenario string) int {
	if scenario == NC {
		return len(ncGroups)
	}
	return len(TrainSessions)
}

// Path is where the list lies, with slashes: "NC_inc/run0/train_batch_00_filelist.txt".
func (l List) Path() string {
	name := "test_filelist.txt"
	if l.Task != TestTask {
		name = fmt.Sprintf("train_batch_%02d_filelist.txt", l.Task)
	}
	return fmt.Sprintf("%s_inc/run%d/%s", l.Scenario, l.Run, name)
}

// Cells are the cells whose frames the list names, in its order.
func (l List) Cells() []Cell {
	switch {
	case l.Task == TestTask:
		return Cells(TestSessions, upTo(Objects))
	case l.Scenario == NC:
		return Cells(TrainSessions, ncObjects(l.Run, l.Task))
	}
	return Cells([]int{niSessions[l.Run][l.Task]}, upTo(Objects))
}

// Labels are the labels of the list: [object], 1-based. NI counts the objects from 0. Each run of NC counts them in the
// order of its tasks, so an object has another label in another run.
func (l List) Labels() [Objects + 1]int {
	var labels [Objects + 1]int
	order := upTo(Objects)
	if l.Scenario == NC {
		order = NCOrders()[l.Run]
	}
	for label, object := range order {
		labels[object] = label
	}
	return labels
}

// WriteTo writes the list as it was published: a file and its label a line.
func (l List) WriteTo(w io.Writer) (int64, error) {
	out, n := bufio.NewWriter(w), int64(0)
	for row := range l.rows {
		m, err := out.Write(append(row, '\n'))
		n += int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, out.Flush()
}

// rows are the lines of the list, each valid until the next.
func (l List) rows(yield func([]byte) bool) {
	labels := l.Labels()
	var row []byte
	for _, c := range l.Cells() {
		folder := c.Folder() + "/"
		for f := c.First(); f < Frames; f++ {
			row = c.appendName(append(row[:0], folder...), f)
			row = strconv.AppendInt(append(row, ' '), int64(labels[c.Object]), 10)
			if !yield(row) {
				return
			}
		}
	}
}

// Check reads a list and compares it with the table, line by line. The error names the line. Lines may end as on Windows,
// and the last one without a newline.
func (l List) Check(r io.Reader) error {
	in, line := bufio.NewReader(r), 0
	for want := range l.rows {
		line++
		got, err := nextLine(in)
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the list ends after line %d, wanted %q next", line-1, want)
		case err != nil:
			return fmt.Errorf("line %d: %w", line, err)
		case string(got) != string(want):
			return fmt.Errorf("line %d is %.60q, wanted %q", line, got, want)
		}
	}
	got, err := nextLine(in)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("line %d: %w", line+1, err)
	}
	return fmt.Errorf("line %d is %.60q, wanted the end of the list", line+1, got)
}

// nextLine is the next line without its end, valid until the next call; of a line that is far too long the beginning.
func nextLine(in *bufio.Reader) ([]byte, error) {
	row, err := in.ReadSlice('\n')
	if len(row) == 0 && err != nil {
		return nil, err
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	row = row[:len(row)-len(ending(row))]
	return row, nil
}

// ending is the end of a line: a newline, perhaps after a carriage return.
func ending(row []byte) string {
	for _, end := range []string{"\r\n", "\n"} {
		if strings.HasSuffix(string(row[max(0, len(row)-2):]), end) {
			return end
		}
	}
	return ""
}

// listAt is the list whose path ends a name, such as "batches_filelists/NC_inc/run0/test_filelist.txt".
func listAt(name string, lists map[string]List) (List, bool) {
	parts := strings.Split(name, "/")
	l, ok := lists[strings.Join(parts[max(0, len(parts)-3):], "/")]
	return l, ok
}

// byPath are all lists by their paths.
func byPath() map[string]List {
	lists := map[string]List{}
	for _, l := range Lists() {
		lists[l.Path()] = l
	}
	return lists
}

// missing are the paths of lists that were not checked, sorted.
func missing(lists map[string]List, done map[List]bool) []string {
	var names []string
	for name, l := range lists {
		if !done[l] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
