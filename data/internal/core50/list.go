package core50

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// The scenarios, as the folders of the lists name them.
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
	in, line := bufio.NewScanner(r), 0
	for want := range l.rows {
		line++
		if !in.Scan() {
			if in.Err() != nil {
				return fmt.Errorf("line %d: %w", line, in.Err())
			}
			return fmt.Errorf("the list ends after line %d, wanted %q next", line-1, want)
		}
		if got := in.Bytes(); string(got) != string(want) {
			return fmt.Errorf("line %d is %.60q, wanted %q", line, got, want)
		}
	}
	if in.Scan() {
		return fmt.Errorf("line %d is %.60q, wanted the end of the list", line+1, in.Bytes())
	}
	return in.Err()
}
