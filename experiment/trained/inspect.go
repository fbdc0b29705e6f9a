package trained

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ocl/checkpoint"
	"ocl/experiment/train"
)

// CheckpointInfo is what a checkpoint has, as `ocl checkpoint info --json` prints it.
type CheckpointInfo struct {
	File        string              `json:"file"`
	Version     int                 `json:"version"` // of the format
	Bytes       int64               `json:"bytes"`   // of the file and of the files of records that it names
	Key         string              `json:"key"`     // of the run
	Method      string              `json:"method"`
	Trick       string              `json:"trick"`
	Data        string              `json:"data"` // name
	Digest      string              `json:"data_digest"`
	Seed        uint64              `json:"seed"`
	Step        int                 `json:"step"`
	Task        int                 `json:"task"`  // 0-based; the number of tasks where all have ended
	Batch       int                 `json:"batch"` // the next one of the task
	Phase       string              `json:"phase"`
	Kernel      string              `json:"kernel"`
	Convolution string              `json:"convolution"`
	Numbers     int                 `json:"numbers"`
	Memory      *CheckpointMemory   `json:"memory,omitempty"` // nil for a learner without one
	Sections    []CheckpointSection `json:"sections"`
	Records     []CheckpointRecords `json:"records"` // files beside the checkpoint
}

// CheckpointMemory is the memory of a learner.
type CheckpointMemory struct {
	Capacity int64  `json:"capacity"`
	Stored   int64  `json:"stored"`
	Seen     int64  `json:"seen"`
	Form     string `json:"form"` // of stored images: "pixels" (a byte each) or "images" (four)
}

// CheckpointSection is a section of the file.
type CheckpointSection struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	CRC   string `json:"crc32c"`
	Where string `json:"where"` // "file" or "records"
}

// CheckpointRecords is a file of records, such as stored images.
type CheckpointRecords struct {
	Name    string `json:"name"`
	Section string `json:"section"`
	Records int    `json:"records"` // in the file
	Used    int    `json:"used"`    // by this checkpoint
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	Fault   string `json:"fault,omitempty"` // "" is as it should be
}

// Inspect reads a checkpoint file, or the newest one of a run or of an experiment that has one run, and checks
// all of it. A fault of a file of records is an error, and in the info too; other faults are an error alone.
func Inspect(path string) (*CheckpointInfo, error) {
	file, err := checkpointFile(path)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	x, err := checkpoint.Inspect(file)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	d := x.Decoder()
	s, err := train.ReadSaved(d)
	if err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", file, err)
	}
	made, at := s.Identity, s.At
	c := made.Config
	info := &CheckpointInfo{File: file, Version: x.Version, Bytes: x.Bytes, Key: made.Key(), Method: c.Methods[0], Trick: strings.Join(c.Tricks, "+"),
		Data: c.Data.Name, Digest: made.Data, Seed: c.Seed, Step: at.Step, Task: at.Task, Batch: at.Batch, Phase: at.Phase.String(),
		Kernel: made.Kernel, Convolution: made.Convolution, Numbers: made.Numbers, Records: []CheckpointRecords{}}
	for _, s := range x.Sections {
		where := map[bool]string{true: "records", false: "file"}[s.Elsewhere]
		info.Sections = append(info.Sections, CheckpointSection{s.Name, s.Bytes, fmt.Sprintf("%08x", s.Sum), where})
		if prefix, is := strings.CutSuffix(s.Name, "memory/size"); is && info.Memory == nil {
			m := &CheckpointMemory{Form: "images"}
			if err := d.Int64s(s.Name, &m.Capacity, &m.Stored, &m.Seen); err != nil {
				return nil, fmt.Errorf("experiment: %s: %w", file, err)
			}
			for _, other := range x.Sections {
				if other.Name == prefix+"memory/pixels" {
					m.Form = "pixels"
				}
			}
			info.Memory = m
		}
	}
	for _, f := range x.Files {
		r := CheckpointRecords{Name: f.Name, Section: f.Section, Records: f.Records, Used: f.Wanted, Bytes: f.Bytes, SHA256: hex.EncodeToString(f.SHA256[:])}
		if f.Fault != nil {
			r.Fault = f.Fault.Error()
		}
		info.Bytes += f.Bytes
		info.Records = append(info.Records, r)
	}
	if err := x.Fault(); err != nil {
		return info, fmt.Errorf("experiment: %s: %w", file, err)
	}
	return info, nil
}

// checkpointFile is the file that a person means.
func checkpointFile(path string) (string, error) {
	at, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("%w. Give a checkpoint file or the folder of a run", err)
	}
	if !at.IsDir() {
		return path, nil
	}
	folder, err := runFolder(path)
	if err != nil {
		return "", err
	}
	file, err := checkpoint.Newest(filepath.Join(folder, train.CheckpointDir))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: the run has no checkpoint. Run it again, without --keep-checkpoint=false", folder)
	}
	return file, err
}
