package study

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ocl/internal/input"
	"ocl/internal/limit"
)

// logFolder holds the logs of a study: a file for each process. Nothing depends on them.
const logFolder = "log"

// logFile is the log of one process. A line is a JSON object whose first key is the checksum of the others, so that a
// damaged line is known as one. A fault of the disk ends the log and nothing else.
type logFile struct {
	dir, host, program string

	mu     sync.Mutex
	file   *os.File
	broken bool
}

// add writes an event with the time. The file appears with the first one.
func (l *logFile) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		return
	}
	if err := l.write(e); err != nil {
		l.broken = true // a full disk must not delay the results
	}
}

func (l *logFile) write(e Event) error {
	if l.file == nil {
		folder := filepath.Join(l.dir, logFolder)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%d-%s.jsonl", fileWord(l.host), os.Getpid(), time.Now().UTC().Format("20060102T150405.000000000"))
		f, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		l.file = f
		if err := l.write(Event{Event: EventWorker, Host: l.host, Program: l.program}); err != nil {
			return err
		}
	}
	e.Time = time.Now().UTC().Format(time.RFC3339)
	line, err := checkedLine(e)
	if err == nil {
		_, err = l.file.Write(line)
	}
	return err
}

// checkedLine is a JSON object on one line, whose first key is the checksum of the others.
func checkedLine(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "{\"crc\":\"%08x\",%s\n", crc32.ChecksumIEEE(text), text[1:]), nil
}

func (l *logFile) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = true
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// fileWord is a word for the name of a file.
func fileWord(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '_'
	}, text)
}

// ReadLog reads what the processes of a study have noted, file by file in the order of their names. skipped counts lines
// that are damaged, and the last lines of killed processes. Files that cannot be read are skipped too: a log is dispensable.
func ReadLog(dir string) (events []Event, skipped int, err error) {
	files, err := input.ReadDir(filepath.Join(dir, logFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("study: %w", err)
	}
	for _, file := range files {
		if file.IsDir() || filepath.Ext(file.Name()) != ".jsonl" {
			continue
		}
		f, _, err := input.Open(filepath.Join(dir, logFolder, file.Name()), input.Want{Most: limit.StudyLog})
		if err != nil {
			skipped++
			continue
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, limit.StudyLine)
		for lines.Scan() {
			var e Event
			if parseLine(lines.Bytes(), &e) {
				events = append(events, e)
			} else {
				skipped++
			}
		}
		if lines.Err() != nil {
			skipped++
		}
		f.Close()
	}
	return events, skipped, nil
}

// parseLine reads a line of checkedLine; it is false for a damaged one.
func parseLine(line []byte, v any) bool {
	const head, width = `{"crc":"`, 8
	rest, ok := bytes.CutPrefix(line, []byte(head))
	if !ok || len(rest) < width+3 || string(rest[width:width+2]) != `",` {
		return false
	}
	text := append([]byte("{"), rest[width+2:]...)
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) == string(rest[:width]) && json.Unmarshal(text, v) == nil
}
