package cli

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var updateJobs = flag.Bool("update-jobs", false, "write the job files in testdata/jobfile anew")

// TestJobFiles: job files are those that were looked at. tools/jobs holds that of Kubernetes against its types.
func TestJobFiles(t *testing.T) {
	j := jobFile{Name: "ocl-my-study", Study: "/home/u/My study.yaml", Base: "My study.yaml", Out: "/home/u/out",
		Data: "/data/it's", Program: "/opt/ocl",
		Shards: 20, AtOnce: 16, Jobs: 80, CPUs: 4, GiB: 6, Seconds: 5000, Limit: 90 * time.Minute,
		Flags: "--concurrency 4 --workers 1 --quiet", Hosts: []string{"a", "b.example.org"}}
	for _, kind := range append([]string{"ssh"}, jobKinds...) {
		for name, data := range map[string]string{kind: j.Data, kind + "-builtin": ""} {
			j := j
			j.kind, j.Data = kind, data
			got, err := j.text()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "jobfile", name+".golden")
			if *updateJobs {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil || string(want) != got {
				t.Errorf("%s (%v): if it should be so, look at it after `go test ./cli -run JobFiles -update-jobs`\n%s", path, err,
					got)
			}
			if strings.HasPrefix(got, "#!/bin/sh\n") {
				check := exec.Command("sh", "-n")
				check.Stdin = strings.NewReader(got)
				if out, err := check.CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", name, err, out)
				}
			}
		}
	}
}

// TestUsualShards: the indices of an array are those that Slurm takes as it is installed.
func TestUsualShards(t *testing.T) {
	for jobs, want := range map[int]int{1: 1, 4: 1, 5: 2, 3999: 1000, 4000: 1000, 4200: 1000, 1_000_000: 1000} {
		if got := usualShards(jobs); got != want {
			t.Errorf("%d jobs: %d shards, want %d", jobs, got, want)
		}
	}
}

func TestJobNames(t *testing.T) {
	for file, want := range map[string]string{
		"study.yaml": "ocl-study", "a/My Study_2.yml": "ocl-my-study-2", "ä.yaml": "ocl",
		strings.Repeat("long", 20) + ".yaml":     "ocl-" + strings.Repeat("long", 9),
		"x" + strings.Repeat("-", 50) + "y.yaml": "ocl-x-y",
	} {
		if got := jobName(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

func TestTimesOfSlurm(t *testing.T) {
	for d, want := range map[time.Duration]string{4 * time.Hour: "4:00:00", 225 * time.Minute: "3:45:00",
		100 * time.Hour: "100:00:00", 90 * time.Second: "0:01:30"} {
		if got := slurmTime(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
