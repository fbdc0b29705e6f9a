package study_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/sweep/study"
)

func TestParseShard(t *testing.T) {
	for text, want := range map[string]study.Shard{"1/1": {1, 1}, "3/64": {3, 64}, "64/64": {64, 64}} {
		if got, err := study.ParseShard(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "3", "0/0", "5/4", "0/4", "-1/4", "1/-4", "a/4", "1/4/4", "1 /4",
		"99999999999999999999/4"} {
		if got, err := study.ParseShard(text); err == nil || !strings.Contains(err.Error(), "such as 3/64") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// TestShardsAreAllJobs: each job is in one shard, jobs of one tuning are in the same one, and the shards are about as
// large.
func TestShardsAreAllJobs(t *testing.T) {
	var all []study.Job
	for i := range 20 {
		e := study.Entry{Folder: fmt.Sprint(i)}
		if i%5 > 1 {
			e.After = fmt.Sprint(i - i%5)
		}
		all = append(all, study.Job{Entry: e})
	}
	for of := range 25 {
		of++
		seen := map[string]int{}
		for i := range of {
			mine := map[string]bool{}
			own := 0
			for _, j := range (study.Shard{Index: i + 1, Of: of}).Jobs(all) {
				seen[j.Folder]++
				if mine[j.Folder] = true; j.After == "" {
					own++
				} else if !mine[j.After] {
					t.Errorf("%d/%d: %s waits for %s, which is elsewhere", i+1, of, j.Folder, j.After)
				}
			}
			if own != 8/of && own != (8+of-1)/of {
				t.Errorf("%d/%d has %d of 8 jobs", i+1, of, own)
			}
		}
		for _, j := range all {
			if seen[j.Folder] != 1 {
				t.Errorf("%s is in %d of %d shards", j.Folder, seen[j.Folder], of)
			}
		}
	}
	if n := len((study.Shard{}).Jobs(all)); n != 20 {
		t.Errorf("the whole study has %d jobs", n)
	}
}

// TestShardsHaveEqualWork: a shard has long and short jobs, however many a seed has.
func TestShardsHaveEqualWork(t *testing.T) {
	var all []study.Job
	for seed := range uint64(4) {
		for _, flops := range []float64{9, 5, 1} {
			all = append(all, study.Job{Entry: study.Entry{Folder: fmt.Sprint(seed, flops), Seed: seed, FLOPs: flops}})
		}
	}
	for i := range 2 {
		sum := 0.0
		mine := (study.Shard{Index: i + 1, Of: 2}).Jobs(all)
		for _, j := range mine {
			sum += j.FLOPs
		}
		bySeed := func(a, b study.Job) int { return cmp.Compare(a.Seed, b.Seed) }
		if sum != 30 || len(mine) != 6 || !slices.IsSortedFunc(mine, bySeed) {
			t.Errorf("shard %d has %v", i+1, mine)
		}
	}
}

// TestShardsStayAsMany: a folder that was begun in some number of shards refuses another number.
func TestShardsStayAsMany(t *testing.T) {
	dir := t.TempDir()
	for _, s := range []study.Shard{{}, {3, 8}, {8, 8}, {}} {
		if err := s.Begin(dir); err != nil {
			t.Error(s, err)
		}
	}
	if err := (study.Shard{Index: 3, Of: 9}).Begin(dir); err == nil ||
		!strings.Contains(err.Error(), "was begun in 8 shards, not in 9. Use --shard INDEX/8, or another --out") {
		t.Error(err)
	}
	path := filepath.Join(dir, "shards")
	if err := os.WriteFile(path, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (study.Shard{Index: 3, Of: 9}).Begin(dir); err == nil ||
		!strings.Contains(err.Error(), path+" is damaged. Write the number of shards into it") {
		t.Error(err)
	}
}
