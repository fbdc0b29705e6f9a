package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"ocl/data"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/sweep/served"
	"ocl/sweep/study"
)

// served says whether the study is to be served.
func (f *sweepFlags) served() bool { return f.listen != "" || f.nats != "" }

// checkServed refuses flags that do not go with serving.
func (f *sweepFlags) checkServed() error {
	switch {
	case !f.served() && f.share:
		return errors.New("--share-data lends data to machines that join a served study. Give --listen or --nats too")
	case !f.served():
		return nil
	case f.listen != "" && f.nats != "":
		return errors.New("--listen and --nats are two ways to serve a study. Use one of them")
	case f.part != "" || f.job != "" || len(f.hosts) > 0:
		return errors.New("--listen and --nats deal out all jobs themselves. Leave out --shard, --job and --hosts")
	}
	return nil
}

// notServed refuses a folder that another process serves: it alone writes there.
func notServed(dir string) error {
	if !served.Serving(dir) {
		return nil
	}
	return fmt.Errorf("sweep: another process serves the study in %s. `ocl sweep join %s` does jobs of it", dir,
		escape.Word(filepath.Join(dir, served.JoinFile)))
}

// servedLook is the time between two looks at the folder and the server of a served study; 0 is the default. Tests wait
// less.
var servedLook time.Duration

// poll is the time between two looks for jobs: to look costs a served study no message. 0 is the usual one.
func (f *sweepFlags) poll() time.Duration {
	if f.notes != nil {
		return cmp.Or(servedLook, time.Second)
	}
	return 0
}

// notes tells what a store has to say, on the screen once there is one.
type notes struct{ to atomic.Pointer[func(string)] }

func (n *notes) tell(text string) { (*n.to.Load())(text) }

func newNotes(cmd *cobra.Command) *notes {
	var n notes
	plain := func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), escape.Line(text)) }
	n.to.Store(&plain)
	return &n
}

// serve serves the study while its jobs are done, here and elsewhere.
func (f *sweepFlags) serve(cmd *cobra.Command, folder *study.Folder, jobs []study.Job) error {
	f.notes = newNotes(cmd)
	h, err := served.Serve(cmd.Context(), f.opts.Out, folder, study.Entries(jobs),
		served.ServeOptions{Listen: f.listen, NATS: f.nats, Lend: f.lent(cmd.Context(), jobs), Most: study.MostHanded(jobs),
			Look: servedLook, Note: f.notes.tell})
	if err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(),
			"%s in %s, served. Copy %s to another machine, and `ocl sweep join FILE` does jobs there.\n"+
				"Ctrl-C saves the jobs at work here, and the same command continues\n", count.Of(len(jobs), "job"),
			escape.Line(f.opts.Out), escape.Line(h.Join()))
	}
	return errors.Join(f.work(cmd, h.Store(), jobs, true), h.Close())
}

// lent are the data of the jobs that --share-data lends, by digest.
func (f *sweepFlags) lent(ctx context.Context, jobs []study.Job) map[string]func(io.Writer) error {
	if !f.share {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // a server whose files were removed gets them again while jobs at work end
	all := map[string]func(io.Writer) error{}
	for _, j := range jobs {
		set := j.Experiment.Data()
		all[set.Digest] = func(w io.Writer) error { return data.Lend(ctx, w, set) }
	}
	return all
}

// joinServed does jobs of a study that is served elsewhere.
func (f *sweepFlags) joinServed(cmd *cobra.Command, file string) error {
	if f.opts.Out == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("sweep join: %w. Use --out to choose a folder for the runs at work", err)
		}
		f.opts.Out = filepath.Join(cache, "ocl", "studies")
	}
	f.notes = newNotes(cmd)
	h, err := served.Join(cmd.Context(), file, served.JoinOptions{Dir: f.opts.Out, Look: servedLook, Note: f.notes.tell})
	if err != nil {
		return err
	}
	defer h.Close()
	f.opts.Out = h.Folder()
	jobs, err := f.load(cmd, func(ctx context.Context, digest string) (*data.Set, error) {
		path, err := h.Lent(ctx, digest)
		if err != nil || path == "" {
			return nil, err
		}
		return data.Borrow(ctx, path, digest)
	})
	if err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "joined a study of %s; what is at work here is in %s\n", count.Of(len(jobs), "job"),
			escape.Line(f.opts.Out))
	}
	return f.work(cmd, h.Store(), jobs, true)
}

// atWork is the store of a study that is served, which knows what is at work elsewhere, until leave is called. It is
// the one of the folder where the study is not served, or where its server does not answer.
func atWork(cmd *cobra.Command, dir string, folder study.Store) (store study.Store, leave func()) {
	if !served.Serving(dir) {
		return folder, func() {}
	}
	away := func(err error) (study.Store, func()) {
		fmt.Fprintf(cmd.ErrOrStderr(), "what is at work elsewhere is not known: %s\n", escape.Line(err.Error()))
		return folder, func() {}
	}
	scratch, err := os.MkdirTemp("", "ocl-status-")
	if err != nil {
		return away(err)
	}
	h, err := served.Join(cmd.Context(), filepath.Join(dir, served.JoinFile), served.JoinOptions{Dir: scratch})
	if err != nil {
		_ = os.RemoveAll(scratch)
		return away(err)
	}
	return h.Store(), func() {
		h.Close()
		_ = os.RemoveAll(scratch)
	}
}
