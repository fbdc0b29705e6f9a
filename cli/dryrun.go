package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"ocl/config"
	"ocl/data/embed"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/experiment"
	"ocl/run/plan"
)

// plan prints what `ocl run` would do. The time is that of a short trial of each method, which writes nothing.
func (f *runFlags) plan(ctx context.Context, w, notes io.Writer, cfg config.Config) error {
	show, embedding := newOpening(notes, f.quiet), time.Duration(0)
	x, err := experiment.Open(ctx, cfg, experiment.Options{Out: f.opts.Out, Force: f.opts.Force, Workers: f.opts.Workers,
		NewClasses: f.opts.NewClasses, Progress: show.work, ReadOnly: true, Embedding: func(w embed.Work) error {
			embedding = w.Time()
			return show.embedding(w)
		}})
	if err == nil {
		err = f.keepsNetwork(x)
	}
	if err != nil {
		return cmp.Or(plan.Stopped(ctx), unfit(err)) // opening the data may be what was interrupted
	}
	return f.planOf(ctx, w, notes, x, embedding)
}

// planOf is plan with an experiment that is open, whose embeddings will take so long to make.
func (f *runFlags) planOf(ctx context.Context, w, notes io.Writer, x *experiment.Experiment,
	embedding time.Duration) error {
	if err := x.CheckFolder(); err != nil {
		return err
	}
	printNotes(notes, x.Notes())
	p, err := plan.Of(ctx, x)
	if err != nil {
		return err
	}
	for _, r := range p.Runs {
		r.Embedding = embedding.Seconds()
	}
	if _, err := p.Places(f.opts.Workers, f.opts.Concurrency); err != nil {
		return unfit(err)
	}
	fmt.Fprint(notes, plan.Busy())
	if err := p.Estimate(ctx, f.opts.Workers); err != nil {
		return err
	}
	return f.json.printOr(w, p.Runs, escape.Lines(planText(p, f.opts.Out)))
}

// planTable lists planned runs.
func planTable(runs []*plan.Runs) table {
	t := table{head: []string{"method", "data", ">memory", ">runs", ">steps", ">RAM", ">time each"}}
	for _, p := range runs {
		name, memory, each := p.Method, "–", count.Duration(p.Seconds)
		if p.Memory > 0 {
			memory = count.Number(p.Memory)
		}
		if p.Timing {
			name += " (timed)"
		}
		switch {
		case p.After != "":
			name += " (tuned by another)"
		case p.Tuned:
			name += " (with tuning)"
		}
		if p.Open() == 0 {
			each = "done"
		}
		t.rows = append(t.rows, []string{name, p.Data, memory, count.Number(len(p.Seeds)), count.Number(p.Steps),
			count.Bytes(p.MemoryBytes), each})
	}
	return t
}

// planText is the plan of `ocl run`.
func planText(p *plan.Plan, out string) string {
	text, t := planTable(p.Runs).String()+"\n", p.Total()
	if t.Open < t.Runs {
		text += fmt.Sprintf("%s has the results of %d of %s, which are kept.\n", out, t.Runs-t.Open, count.Of(t.Runs, "run"))
	}
	if t.Experts > 0 {
		text += fmt.Sprintf("Times and memory of cndpm are those of as many experts as there can be, up to %d, which are trained for most of the time. "+
			"A run with fewer takes less.\n", t.Experts)
	}
	made := ""
	if e := p.Runs[0].Embedding; e > 0 && t.Open > 0 {
		t.Seconds += e
		made = fmt.Sprintf(", of which the embeddings take %s", count.Duration(e))
	}
	return text + fmt.Sprintf("About %s for %s, one after the other, on this machine%s. Nothing was written.\n",
		count.Duration(t.Seconds), count.Of(t.Open, "run"), made)
}
