package experiment

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// stepsHeader names the columns of steps.csv (docs/format/result.md).
const stepsHeader = "step,task,loss,running_accuracy\n"

// stepLog appends to steps.csv. A checkpoint remembers the length; a resumed run cuts what came after it. The nil log
// writes nothing.
type stepLog struct {
	file   *os.File
	buf    *bufio.Writer
	length int64
	line   []byte
}

// openStepLog opens the file and cuts it to length bytes; 0 starts it anew. found is false when the file is shorter
// than that: the steps before are then missing from it.
func openStepLog(path string, length int64) (l *stepLog, found bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, false, err
	}
	found = true
	at, err := f.Seek(0, io.SeekEnd)
	if err == nil && at < length {
		found, length = false, 0
	}
	if err == nil && at > length {
		err = f.Truncate(length)
	}
	if err == nil {
		_, err = f.Seek(length, io.SeekStart)
	}
	if err != nil {
		return nil, false, errors.Join(err, f.Close())
	}
	l = &stepLog{file: f, buf: bufio.NewWriter(f), length: length}
	if length == 0 {
		l.line = append(l.line, stepsHeader...)
		err = l.write()
	}
	return l, found, err
}

// add appends a row: the 1-based step and task, the loss, and the share of the task's incoming samples so far whose
// label was predicted before they were learned (empty without any).
func (l *stepLog) add(step, task int, loss float64, correct, samples int) error {
	if l == nil {
		return nil
	}
	b := strconv.AppendInt(l.line[:0], int64(step), 10)
	b = strconv.AppendInt(append(b, ','), int64(task)+1, 10)
	b = strconv.AppendFloat(append(b, ','), loss, 'g', 6, 64)
	b = append(b, ',')
	if samples > 0 {
		b = strconv.AppendFloat(b, float64(correct)/float64(samples), 'f', 4, 64)
	}
	l.line = append(b, '\n')
	return l.write()
}

func (l *stepLog) write() error {
	n, err := l.buf.Write(l.line)
	l.length += int64(n)
	return l.told(err)
}

// sync makes what was added safe on the disk.
func (l *stepLog) sync() error {
	if l == nil {
		return nil
	}
	err := l.buf.Flush()
	if err == nil {
		err = l.file.Sync()
	}
	return l.told(err)
}

func (l *stepLog) close() error {
	if l == nil {
		return nil
	}
	return l.told(errors.Join(l.buf.Flush(), l.file.Close()))
}

func (l *stepLog) told(err error) error {
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w; want a folder with room; make room, then run the same again", l.file.Name(), err)
	}
	return nil
}
