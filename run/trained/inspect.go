package trained

import (
	"fmt"
	"os"
	"strings"

	"ocl/checkpoint"
	"ocl/run/train"
)

// CheckpointInfo describes a checkpoint, as `ocl inspect --json` prints it.
type CheckpointInfo struct {
	File        string              `json:"file"`
	Version     int                 `json:"version"` // of the format
	Bytes       int64               `json:"bytes"`   // of the file
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
}

// CheckpointMemory is the memory of a learner.
type CheckpointMemory struct {
	Capacity int64 `json:"capacity"`
	Stored   int64 `json:"stored"`
	Seen     int64 `json:"seen"`
}

// CheckpointSection is a section of the file.
type CheckpointSection struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	CRC   string `json:"crc32c"`
}

// Inspect reads a checkpoint file, or the newest one of a run or of an experiment that has one run, and checks
// all of it.
func Inspect(path string) (*CheckpointInfo, error) {
	x, err := inspected(path)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	file, d, s := x.Path, x.Decoder(), x.saved
	made, at := s.Identity, s.At
	c := made.Config
	info := &CheckpointInfo{File: file, Version: checkpoint.Version, Bytes: int64(len(x.File)), Key: made.Key(),
		Method: c.Methods[0], Trick: strings.Join(c.Tricks, "+"),
		Data: c.Data.Name, Digest: made.Data, Seed: c.Seed, Step: at.Step, Task: at.Task, Batch: at.Batch,
		Phase:  at.Phase.String(),
		Kernel: made.Kernel, Convolution: made.Convolution, Numbers: made.Numbers}
	for _, name := range x.Names() {
		info.Sections = append(info.Sections, CheckpointSection{name, int64(d.Len(name)), fmt.Sprintf("%08x", x.CRC(name))})
		if strings.HasSuffix(name, "memory/size") && info.Memory == nil {
			info.Memory = &CheckpointMemory{}
			if err := (checkpoint.Parts{checkpoint.Values(name, &info.Memory.Capacity, &info.Memory.Stored,
				&info.Memory.Seen)}).LoadState(d); err != nil {
				return nil, fmt.Errorf("experiment: %s: %w", file, err)
			}
		}
	}
	return info, nil
}

// inspected reads the checkpoint that a person means.
func inspected(path string) (x chosen, err error) {
	at, err := os.Stat(path)
	if err != nil {
		return x, fmt.Errorf("%w. Give a checkpoint file or the folder of a run", err)
	}
	if at.IsDir() {
		folder, err := runFolder(path)
		if err != nil {
			return x, err
		}
		return choose(folder, "", false)
	}
	if x.Loaded, err = checkpoint.Read(path); err != nil {
		return x, err
	}
	if x.saved, err = train.ReadSaved(x.Decoder()); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return x, err
}
