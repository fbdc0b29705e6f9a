package study

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ocl/config"
	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/experiment"
)

// Load reads the study of a folder. It ends when ctx does. dataDir is where the data lie on this machine; "" is where
// they lay when it was made.
func Load(ctx context.Context, dir, dataDir string) (*Study, error) {
	made, text, err := ReadMade(dir)
	if err != nil {
		return nil, err
	}
	s, err := Parse(ctx, filepath.Join(dir, StudyFile), text, cmp.Or(dataDir, made.DataDir), true)
	if err == nil {
		useGrids(dir, s.Combinations)
	}
	return s, err
}

// ReadMade reads what was fixed when the study of a folder was made, and the text of the study. The error wraps
// fs.ErrNotExist if there is none.
func ReadMade(dir string) (made Made, text []byte, err error) {
	path := filepath.Join(dir, StudyFile)
	text, err = input.ReadFile(path, input.Want{Most: limit.Config})
	if errors.Is(err, fs.ErrNotExist) {
		if _, missing := os.Stat(dir); errors.Is(missing, fs.ErrNotExist) {
			return made, nil, cause.As(fmt.Errorf("study: %s is not there. Give the folder of a study, as `ocl sweep` makes it, or a join file",
				dir), fs.ErrNotExist)
		}
		return made, nil, cause.As(fmt.Errorf("study: %s has no %s. Give the folder of a study, as `ocl sweep` makes it", dir,
			StudyFile), fs.ErrNotExist)
	}
	if err != nil {
		return made, nil, fmt.Errorf("study: %w. Give the folder of a study whose %s can be read", err, StudyFile)
	}
	sheet, err := experiment.Schema().ParseSheet(path, text)
	if fault := made.read(sheet.Made); fault != nil {
		err = fault // it may be the cause of the other one
	}
	if err == nil && made.IsZero() {
		err = fmt.Errorf("study: %s: it does not say what was made of it. Give `ocl sweep` the study's file again", path)
	}
	return made, text, err
}

// Make makes a folder that of a study, or adds what is new to the study that it has. That must have the same engine and
// data, and all its jobs must be among the given ones: nothing that was computed may fall out of a study by accident.
func Make(dir string, s *Study, jobs []Job, made Made) error {
	if err := atomicfile.MakeFolder(dir); err != nil {
		return fmt.Errorf("study: %w. Use --out to choose a folder that can be written", err)
	}
	entries, err := input.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("study: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, StudyFile)); errors.Is(err, fs.ErrNotExist) {
		for _, e := range entries {
			if n := e.Name(); !atomicfile.IsTemporary(n, StudyFile) && !atomicfile.IsTemporary(n, jobsFile) && n != jobsFile &&
				n != gridsFolder && n != experiment.LockFile {
				return fmt.Errorf("study: %s: the folder has other files, such as %q, and no %s. Choose another --out", dir,
					e.Name(), StudyFile)
			}
		}
	} else if old, err := ReadJobs(dir); err == nil {
		here := map[string]bool{}
		for _, j := range jobs {
			here[j.Key] = true
		}
		var gone []string
		for _, e := range old {
			if !here[e.Key] {
				gone = append(gone, e.Folder)
			}
		}
		if len(gone) > 0 {
			return fmt.Errorf("study: %s: the study there has %d jobs that are not in the file, such as %s. Add them to the file, or choose another --out",
				dir, len(gone), gone[0])
		}
	}
	if err := keepGrids(dir, s.Combinations); err != nil {
		return err
	}
	text := s.Text
	if is, err := config.IsSheet(s.Name, text); err == nil && !is {
		if text, err = asSheet(s.Combinations, text); err != nil {
			return err
		}
	}
	whole, err := made.encode(text)
	if err != nil {
		return err
	}
	if err := experiment.WriteShared(dir, StudyFile, whole); errors.Is(err, input.ErrKind) { // which says to remove it
		return fmt.Errorf("study: %w", err)
	} else if err != nil {
		return fmt.Errorf("study: %w. Make room on the disk, or choose another --out", err)
	}
	return WriteJobs(dir, Entries(jobs))
}

// asSheet turns a config into a study file: its keys and the line study: 1.
func asSheet(runs []Combination, text []byte) ([]byte, error) {
	c, err := experiment.Schema().Parse("config", text)
	if err != nil {
		return nil, err
	}
	if len(runs) > 0 {
		c.Data.Dir = runs[0].Config.Data.Dir
	}
	text, err = c.YAML()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "study: %d\n", config.SheetVersion)
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "version:") {
			b.WriteString(line)
		}
	}
	return []byte(b.String()), nil
}

// jobsHead is the first line of the list of jobs.
type jobsHead struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Jobs    int    `json:"jobs"`
}

const jobsFormat = "ocl-jobs"

// WriteJobs writes the list of a study's jobs, from which `ocl sweep status` knows them without the data.
func WriteJobs(dir string, entries []Entry) error {
	var b bytes.Buffer
	line, err := checkedLine(jobsHead{jobsFormat, 1, len(entries)})
	b.Write(line)
	for _, e := range entries {
		if err == nil {
			line, err = checkedLine(e)
			b.Write(line)
		}
	}
	if err != nil {
		return err
	}
	if err := experiment.WriteShared(dir, jobsFile, b.Bytes()); err != nil {
		return fmt.Errorf("study: %w. Make room on the disk", err)
	}
	return nil
}

// ReadJobs reads the list of a study's jobs. A damaged one is an error; `ocl sweep join` writes it anew.
func ReadJobs(dir string) ([]Entry, error) {
	path := filepath.Join(dir, jobsFile)
	f, _, err := input.Open(path, input.Want{Most: limit.StudyJobs})
	if err != nil {
		return nil, fmt.Errorf("study: %w. `ocl sweep join` writes it anew", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, limit.StudyLine)
	var head jobsHead
	bad := func(n int) error {
		return fmt.Errorf("study: %s:%d: the line is damaged. Remove the file; `ocl sweep join` writes it anew", path, n)
	}
	if !lines.Scan() || !parseLine(lines.Bytes(), &head) || head.Format != jobsFormat {
		return nil, bad(1)
	}
	if head.Version > 1 {
		return nil, fmt.Errorf("study: %s: a newer ocl wrote it (version %d). Use the newer ocl", path, head.Version)
	}
	var entries []Entry
	for lines.Scan() {
		var e Entry
		if !parseLine(lines.Bytes(), &e) || e.Key == "" || e.Folder == "" || !filepath.IsLocal(e.Folder) ||
			filepath.Base(e.Folder) != e.Folder {
			return nil, bad(len(entries) + 2)
		}
		entries = append(entries, e)
	}
	if lines.Err() != nil || len(entries) != head.Jobs {
		return nil, bad(len(entries) + 1)
	}
	return entries, nil
}

// FilesOf lists the files that [Load] and [Join] need of a study's folder, as paths below it with slashes.
func FilesOf(dir string) ([]string, error) {
	paths := []string{StudyFile, jobsFile}
	grids, err := input.ReadDir(filepath.Join(dir, gridsFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("study: %w", err)
	}
	for _, g := range grids {
		if g.Type().IsRegular() && !strings.HasPrefix(g.Name(), ".") {
			paths = append(paths, gridsFolder+"/"+g.Name())
		}
	}
	return paths, nil
}

// Join opens the jobs of a folder's study for a worker. It is an error if the runs of this machine could not be
// compared with those of the study.
func Join(dir string, s *Study, jobs []Job) error {
	entries, err := ReadJobs(dir)
	if err != nil {
		return WriteJobs(dir, Entries(jobs)) // it follows from the study
	}
	here, listed := map[string]bool{}, map[string]bool{}
	for _, j := range jobs {
		here[j.Key] = true
	}
	for _, e := range entries {
		listed[e.Key] = true
		if !here[e.Key] && !s.Part {
			return fmt.Errorf("study: %s: the job %s would be another run here, because the data, the first weights or the program are not those of the study. Use those of the study, or make a new one with `ocl sweep` and another --out",
				dir, e.Folder)
		}
	}
	for _, j := range jobs {
		if s.Part && !listed[j.Key] {
			return fmt.Errorf("study: the job %s would be another run here, because the first weights or the program are not those of the study. Use those of the study",
				j.Folder)
		}
	}
	if len(entries) != len(jobs) && !s.Part {
		return WriteJobs(dir, Entries(jobs))
	}
	return nil
}
