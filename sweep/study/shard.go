package study

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/experiment"
)

// Shard is one of several parts of a study, which need nothing of each other. The zero value is the whole study.
type Shard struct {
	Index int // from 1
	Of    int
}

// ParseShard reads INDEX/OF, such as 3/64.
func ParseShard(text string) (Shard, error) {
	before, after, _ := strings.Cut(text, "/")
	index, err := strconv.Atoi(before)
	of, failed := strconv.Atoi(after)
	if err = errors.Join(err, failed); err != nil || of < 1 || index < 1 || index > of {
		return Shard{}, fmt.Errorf("study: the shard %q is not one of N. Use a number from 1 to N, a slash and N, such as 3/64",
			text)
	}
	return Shard{index, of}, nil
}

// String is the text that [ParseShard] reads; "" for the whole study.
func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// Jobs are the shard's of all jobs, in the order of [Study.Open]. They are dealt out one by one, the longest first, so
// that each shard has long and short ones. A job that waits for the tuning of another one is in the shard of that one.
func (s Shard) Jobs(all []Job) (mine []Job) {
	if s.Of == 0 {
		return all
	}
	dealt := slices.Clone(all)
	slices.SortStableFunc(dealt, func(a, b Job) int {
		return cmp.Or(timedLast(a, b), cmp.Compare(b.FLOPs, a.FLOPs))
	})
	shard, n := map[string]int{}, 0 // by folder
	for _, j := range dealt {
		if j.After == "" {
			shard[j.Folder] = n%s.Of + 1
			n++
		}
	}
	for _, j := range all {
		at := shard[j.Folder]
		if j.After != "" {
			at = shard[j.After]
		}
		if at == s.Index {
			mine = append(mine, j)
		}
	}
	return mine
}

// shardsFile says in how many shards the study of a folder is done.
const shardsFile = "shards"

// Begin notes in the folder of a study in how many shards it is done. It is an error if the folder was begun with
// another number, as jobs would then be done twice, and others never.
func (s Shard) Begin(dir string) error {
	if s.Of == 0 {
		return nil
	}
	path := filepath.Join(dir, shardsFile)
	text, err := input.ReadFile(path, input.Want{Most: limit.StudyNote})
	if errors.Is(err, fs.ErrNotExist) {
		if err := experiment.WriteShared(dir, shardsFile, fmt.Appendf(nil, "%d\n", s.Of)); err != nil {
			return fmt.Errorf("study: %w. Make room on the disk, or choose another --out", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("study: %w", err)
	}
	switch n, err := strconv.Atoi(strings.TrimSpace(string(text))); {
	case err != nil:
		return fmt.Errorf("study: %s is damaged. Write the number of shards into it", path)
	case n != s.Of:
		return fmt.Errorf("study: %s was begun in %s, not in %s. Use --shard INDEX/%d, or another --out", dir,
			count.Of(n, "shard"), count.Number(s.Of), n)
	}
	return nil
}
