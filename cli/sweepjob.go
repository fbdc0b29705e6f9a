package cli

import (
	"cmp"
	"embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/internal/nearest"
	"ocl/sweep/study"
)

//go:embed jobfile/*.tmpl
var jobTemplates embed.FS

// jobKinds are the engines for which `ocl sweep --job` writes a job file.
var jobKinds = []string{"slurm", "kubernetes", "skypilot"}

const (
	usualShardJobs = 4 // jobs of a shard where no number of shards is given
	// of Slurm, and elsewhere where no number is given: the largest index of an array that Slurm takes as it is installed
	mostShards   = 1000
	shortShard   = 60                           // seconds of a shard below which starting it may take as long
	mostAtOnce   = 64                           // shards at once
	usualMaxTime = 3*time.Hour + 45*time.Minute // of a task, where --max-time is not given
	timeToSave   = 15 * time.Minute             // for the jobs at work, between --max-time and the limit of the engine
)

// jobFile is the content of a job file.
type jobFile struct {
	Name, Study, Base, Out, Data, Program string // Base is the name of the study's file
	Shards, AtOnce, Jobs                  int
	CPUs, GiB                             int
	Seconds                               float64 // of the work of a shard, on one core of this machine
	Limit                                 time.Duration
	Flags                                 string
	Hosts                                 []string
	kind                                  string
}

// writeJob prints the job file of a study. It writes nothing else.
func (f *sweepFlags) writeJob(cmd *cobra.Command, file string, jobs []study.Job) error {
	j := jobFile{kind: f.job, Jobs: len(jobs), Hosts: f.hosts, Shards: cmp.Or(f.shards, usualShards(len(jobs)))}
	if len(f.hosts) > 0 {
		j.kind, j.Shards = "ssh", len(f.hosts)
	}
	if j.Shards > j.Jobs && !f.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: the study has %s, so %d of %s have nothing to do\n", count.Of(j.Jobs, "job"),
			j.Shards-j.Jobs, count.Of(j.Shards, "shard"))
	}
	var err error
	if j.Study, err = filepath.Abs(file); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	if j.Out, err = filepath.Abs(f.opts.Out); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	j.Base, j.Name, j.Data = filepath.Base(file), jobName(file), f.opts.DataDir
	if (j.kind == "kubernetes" || j.kind == "skypilot") && cmd.Flags().Changed("out") {
		return usage(fmt.Errorf("sweep: --out is for folders that this machine sees, and in the file for %s the folder is %s. Leave out --out",
			j.kind, j.Name))
	}
	if j.Program, err = os.Executable(); err != nil {
		j.Program = "ocl"
	}
	concurrency, workers := cmp.Or(f.opts.Concurrency, min(4, (len(jobs)+j.Shards-1)/j.Shards)), cmp.Or(f.opts.Workers, 1)
	j.AtOnce, j.CPUs = min(j.Shards, mostAtOnce), concurrency*workers
	p := study.Plan(study.OpenFolder(f.opts.Out), jobs, nil)
	if err := p.Estimate(cmd.Context(), 1); err != nil {
		return err
	}
	total := p.Total()
	j.Seconds = total.Seconds / float64(j.Shards)
	if f.shards == 0 && j.kind != "ssh" && j.Shards > 1 &&
		j.Seconds < shortShard && !f.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "a shard is about %s of work, and starting it may take as long. --shards %d makes them longer\n",
			count.Duration(j.Seconds), max(1, int(total.Seconds/shortShard)))
	}
	// Half as much again as is estimated, as the caches of files count in many clusters.
	j.GiB = 1 + int(math.Ceil(1.5*float64(concurrency)*float64(total.MemoryBytes)/(1<<30)))
	maxTime := cmp.Or(f.maxTime, usualMaxTime)
	j.Limit = maxTime + timeToSave
	j.Flags = fmt.Sprintf("--concurrency %d --workers %d --quiet", concurrency, workers)
	if j.kind == "slurm" {
		j.Flags = "--max-time " + maxTime.String() + " " + j.Flags
	}
	text, err := j.text()
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), text)
	return err
}

// usualShards is the number of shards of so many jobs where none is given. It depends on nothing else, as a folder
// keeps its number.
func usualShards(jobs int) int { return min(mostShards, (jobs+usualShardJobs-1)/usualShardJobs) }

// text is the job file.
func (j jobFile) text() (string, error) {
	t, err := template.New("").Funcs(template.FuncMap{"word": escape.Word, "minutes": slurmTime,
		"add": func(i int) int { return i + 1 }, "duration": count.Duration, "of": count.Of[int]}).
		ParseFS(jobTemplates, "jobfile/head.tmpl", "jobfile/"+j.kind+".tmpl")
	var b strings.Builder
	if err == nil {
		err = t.ExecuteTemplate(&b, j.kind+".tmpl", j)
	}
	if err != nil {
		return "", fmt.Errorf("sweep: internal error: %w", err)
	}
	return strings.TrimLeft(b.String(), "\n"), nil
}

// On is the command of a shard on a host, for its shell.
func (j jobFile) On(index int) string {
	words := "cd " + escape.Word(filepath.Dir(j.Study)) + " && ocl sweep " + escape.Word(j.Base) + " --out " +
		escape.Word(j.Out)
	if j.Data != "" {
		words += " --data-dir " + escape.Word(j.Data)
	}
	return fmt.Sprintf("%s --shard %d/%d %s", words, index, j.Shards, j.Flags)
}

// jobName is a name of a job for all engines: lower-case letters, digits and hyphens, at most 40.
func jobName(file string) string {
	name := strings.ToLower(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	name = "ocl-" + regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(name, "-")
	return strings.Trim(name[:min(len(name), 40)], "-")
}

// slurmTime is a time as Slurm reads it: hours, minutes and seconds.
func slurmTime(d time.Duration) string {
	d = d.Round(time.Second)
	return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

// checkJob refuses flags of job files that do not go together.
func (f *sweepFlags) checkJob() error {
	switch {
	case f.job != "" && !slices.Contains(jobKinds, f.job):
		return fmt.Errorf("sweep: --job %s is not known. %s", escape.Line(f.job), nearest.Hint(f.job, jobKinds))
	case f.job != "" && len(f.hosts) > 0:
		return fmt.Errorf("sweep: --job and --hosts write different files. Give one of them")
	case f.shards < 0:
		return fmt.Errorf("sweep: --shards %d is no number of shards. Use 1 or more", f.shards)
	case f.shards > 0 && f.job == "":
		return fmt.Errorf("sweep: --shards is for --job. Use --shard 1/%d to do the first of %d shards", f.shards, f.shards)
	case f.shards > mostShards && f.job == "slurm":
		return fmt.Errorf("sweep: --shards %d are more tasks than an array of Slurm takes as it is installed (MaxArraySize 1001). Use --shards %d or fewer; a task does its jobs one after the other",
			f.shards, mostShards)
	case (f.job != "" || len(f.hosts) > 0) && (f.part != "" || f.dryRun):
		return fmt.Errorf("sweep: a job file is for all shards. Leave out --shard and --dry-run")
	case slices.Contains(f.hosts, ""):
		return fmt.Errorf("sweep: --hosts has an empty name. Use names with commas between them, such as a,b,c")
	case slices.ContainsFunc(f.hosts, func(h string) bool {
		return strings.HasPrefix(h, "-") || strings.ContainsFunc(h, func(r rune) bool { return r <= ' ' })
	}):
		return fmt.Errorf("sweep: a name in --hosts begins with a hyphen or has a space. Use names that ssh knows, such as a,b,c")
	}
	return nil
}
