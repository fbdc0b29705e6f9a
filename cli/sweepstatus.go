package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/progress"
	"ocl/sweep/study"
)

// jobStatus is the JSON that `ocl sweep status --json` prints of a job.
type jobStatus struct {
	Folder   string   `json:"folder"`
	Method   string   `json:"method"` // with its tricks
	Memory   int      `json:"memory"`
	Data     string   `json:"data"`
	Seed     uint64   `json:"seed"`
	Timing   bool     `json:"timing"`
	Phase    string   `json:"phase"`
	Outcome  string   `json:"outcome"`
	Step     int      `json:"step"`
	Steps    int      `json:"steps"`
	Task     int      `json:"task"`
	Tasks    int      `json:"tasks"`
	Trial    int      `json:"trial"` // of a tuning under way, from 1; 0 outside
	Trials   int      `json:"trials"`
	Working  float64  `json:"working"` // share of long work under way, 0 where there is none
	Seen     *float64 `json:"seen"`
	Host     string   `json:"host"`
	Attempt  int      `json:"attempt"`
	Error    string   `json:"error"`
	Accuracy *float64 `json:"accuracy"`
}

// studyStatus is the JSON that `ocl sweep status --json` prints.
type studyStatus struct {
	Folder    string `json:"folder"`
	Cancelled bool   `json:"cancelled"`
	progress.Counts
	List []jobStatus `json:"list"`

	runs []*progress.Run // of the list
}

func newJobStatus(e study.Entry, st progress.State) jobStatus {
	p := st.Progress
	return jobStatus{e.Folder, e.Name, e.Memory, e.Data, e.Seed, e.Timing, st.Phase, st.Outcome, p.Step, e.Steps, p.Task,
		p.Tasks, p.Trial, p.Trials,
		p.Working, p.Seen, p.Host, st.Attempt, st.Error, st.Accuracy}
}

func newStudyStatus(dir string, cancelled bool, entries []study.Entry, runs []*progress.Run) studyStatus {
	s := studyStatus{Folder: dir, Cancelled: cancelled, Counts: progress.Count(runs), List: []jobStatus{}, runs: runs}
	for i, e := range entries {
		s.List = append(s.List, newJobStatus(e, runs[i].State))
	}
	return s
}

// statusOf asks the store of a study for the state of its jobs.
func statusOf(dir string, store study.Store, entries []study.Entry) studyStatus {
	runs := make([]*progress.Run, len(entries))
	for i, e := range entries {
		runs[i] = &progress.Run{Name: e.Folder, Steps: e.Steps, State: store.State(e)}
	}
	return newStudyStatus(dir, store.Cancelled(), entries, runs)
}

// studyFolder opens the list of jobs and the store of a study, without its data and whatever its methods are.
func studyFolder(ctx context.Context, dir string) ([]study.Entry, study.Store, error) {
	if _, err := filepath.Abs(dir); err != nil {
		return nil, nil, err
	}
	if _, err := study.Load(ctx, dir, "."); err != nil && !errors.Is(err, config.ErrLacks) { // such as one of a newer ocl
		return nil, nil, err
	}
	entries, err := study.ReadJobs(dir)
	if err != nil {
		return nil, nil, err
	}
	return entries, study.OpenFolder(dir), nil
}

func newSweepStatus() *cobra.Command {
	var raw jsonFlag
	cmd := &cobra.Command{
		Use:   "status DIR",
		Short: "Say how far a study is: jobs that are done, at work, failed or waiting.",
		Example: `  ocl sweep status runs/study
  ocl sweep status runs/study --json done,failed`,
		Long:              "DIR is the folder of a study. The data are not needed, and nothing is changed.",
		Args:              exactly("DIR"),
		ValidArgsFunction: completeFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			entries, store, err := studyFolder(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			store, leave := atWork(cmd, args[0], store)
			defer leave()
			s := statusOf(args[0], store, entries)
			return raw.printOr(cmd.OutOrStdout(), s, escape.Lines(s.text()))
		},
	}
	addJSON(cmd, &raw, studyStatus{})
	return cmd
}

// text says how far a study is, and which jobs are at work or failed.
func (s studyStatus) text() string {
	text := s.Line("job")
	if s.Cancelled {
		text += ". The study is cancelled; `ocl sweep retry " + escape.Word(s.Folder) + "` lets it go on"
	}
	text += "\n"
	running := ""
	unusable := table{head: []string{"cannot be used", "error"}}
	failed := table{head: []string{"failed", ">attempt", ">step", "error"}}
	for _, r := range s.runs {
		switch r.Phase {
		case progress.Running:
			running += "  " + fit(parts(r, r.Progress.Host), plainWidth) + "\n"
		case progress.Begun:
			if r.Error != "" {
				unusable.rows = append(unusable.rows, []string{r.Name, r.Note()})
			}
		case progress.Failed:
			failed.rows = append(failed.rows, []string{r.Name, count.Number(r.Attempt), count.Number(r.Progress.Step), r.Note()})
		}
	}
	if running != "" {
		text += "\nrunning\n" + running
	}
	for _, t := range []table{failed, unusable} {
		if len(t.rows) > 0 {
			text += "\n" + t.String()
		}
	}
	return text
}

func newSweepRetry() *cobra.Command {
	return &cobra.Command{
		Use:   "retry DIR [RUN...]",
		Short: "Let failed jobs of a study be tried again, and a cancelled study go on.",
		Example: `  ocl sweep retry runs/study
  ocl sweep retry runs/study er-m5000-s3-1f2e3d4c`,
		Long: "DIR is the folder of a study, and RUN are names of folders in it. Without RUN, all failed jobs are tried again. " +
			"Workers that are at work take them. If there is none, start one with `ocl sweep join DIR`.",
		Args: atLeastOne("DIR", "the folder of a study, such as runs/study"),
		RunE: func(cmd *cobra.Command, args []string) error {
			entries, store, err := studyFolder(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			wanted := map[string]bool{}
			for _, name := range args[1:] {
				wanted[filepath.Base(name)] = true
			}
			n := 0
			for _, e := range entries {
				if len(args) > 1 && !wanted[e.Folder] {
					continue
				}
				delete(wanted, e.Folder)
				again, err := store.Retry(e)
				if err != nil {
					return err
				}
				if again {
					n++
				}
			}
			for name := range wanted {
				return usage(fmt.Errorf("sweep retry: %q is no job of the study in %s. `ocl sweep status %s --json list` lists them",
					name, args[0], escape.Word(args[0])))
			}
			if err := store.Resume(); err != nil {
				return err
			}
			if n == 0 {
				_, err = fmt.Fprintln(cmd.OutOrStdout(),
					"no job has failed. The study is not cancelled; if jobs are left, `ocl sweep` or `ocl sweep join` goes on with it")
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s will be tried again, and the study is not cancelled; `ocl sweep` or `ocl sweep join` goes on with it\n",
				count.Of(n, "failed job"))
			return err
		},
	}
}

func newSweepCancel() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel DIR",
		Short: "Stop all workers of a study, on all machines.",
		Example: `  ocl sweep cancel runs/study
  ocl sweep retry runs/study`,
		Long:              "DIR is the folder of a study. Within 15 seconds its workers save the jobs at work and end. Nothing is lost: `ocl sweep retry DIR` lets the study go on.",
		Args:              exactly("DIR"),
		ValidArgsFunction: completeFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, store, err := studyFolder(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := store.Cancel(); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the study in %s is cancelled; `ocl sweep retry %s` lets it go on\n",
				escape.Line(args[0]), escape.Word(args[0]))
			return err
		},
	}
}
