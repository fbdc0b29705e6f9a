package labelstudio

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"ocl/internal/count"
	"ocl/internal/limit"
	"ocl/serve/client"
)

// mostWait is the longest time before what failed is tried again.
const mostWait = time.Minute

// Learn lets a daemon learn what is annotated: of all tasks first, and then of those of which is heard, until ctx ends.
// What fails is tried again, and Problem says what it is.
func (p *Project) Learn(ctx context.Context, to *client.Client) {
	wait, again := p.o.Wait, (<-chan time.Time)(nil)
	for said := ""; ; {
		failed := p.look(ctx, to)
		if ctx.Err() != nil {
			return
		}
		p.o.Log.DebugContext(ctx, "what was annotated in Label Studio was looked at")
		if text := p.Problem(); text != said {
			if said = text; text == "" {
				p.o.Log.InfoContext(ctx, "everything that is annotated in Label Studio is learned again", "project", p.id)
			} else {
				p.o.Log.WarnContext(ctx, text)
			}
		}
		switch {
		case !failed:
			wait, again = p.o.Wait, nil
		case again == nil: // what is heard meanwhile does not put it off
			again = time.After(wait)
			wait = min(2*wait, mostWait)
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-again:
			again = nil
			p.retry()
		}
	}
}

// retry says that tasks that have failed are to be looked at again.
func (p *Project) retry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, err := range p.faults {
		if !lasting(err) {
			p.heard[id] = true
		}
	}
}

// look looks at what is to be looked at. It says whether to try something again.
func (p *Project) look(ctx context.Context, to *client.Client) (again bool) {
	p.mu.Lock()
	all, ids := p.all, slices.Sorted(maps.Keys(p.heard))
	p.all, p.heard = false, map[int64]bool{}
	p.mu.Unlock()
	err := p.visit(ctx, to, all, ids)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault = err; err != nil { // what was heard is not lost
		p.all = p.all || all
		for _, id := range ids {
			p.heard[id] = true
		}
		return true
	}
	for _, err := range p.faults {
		again = again || !lasting(err)
	}
	return again
}

// visit lets the daemon learn all tasks, or some. An error is that of asking for them.
func (p *Project) visit(ctx context.Context, to *client.Client, all bool, ids []int64) error {
	if all || p.config == nil {
		c, err := p.settings(ctx)
		if err != nil {
			return err
		}
		p.config = &c
	}
	if !all {
		list, err := p.Tasks(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			t := Task{ID: id} // one that is gone has no label
			if i := slices.IndexFunc(list, func(t Task) bool { return t.ID == id }); i >= 0 {
				t = list[i]
			}
			p.task(ctx, to, t)
		}
		return nil
	}
	p.mu.Lock()
	clear(p.faults) // of tasks that are gone too
	p.mu.Unlock()
	for n, total := 1, 1; (n-1)*pageTasks < total; n++ {
		list, of, err := p.page(ctx, n, map[string]any{})
		if err != nil {
			return err
		}
		if total = of; total > limit.LabelStudioTasks {
			return fmt.Errorf("the project has %s, and the daemon knows the last %s samples alone. Divide the project",
				count.Of(total, "task"), count.Number(limit.LabelStudioTasks))
		}
		for _, t := range list {
			p.task(ctx, to, t)
		}
	}
	return nil
}

// lasting says whether an error is one that another try does not mend.
func lasting(err error) bool {
	var refused *client.Error
	if !errors.As(err, &refused) {
		return errors.As(err, new(hopeless))
	}
	switch refused.Status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusGone, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// task lets the daemon learn a task as it is annotated now, and notes where that fails.
func (p *Project) task(ctx context.Context, to *client.Client, t Task) {
	if ctx.Err() != nil {
		return
	}
	err := p.teach(ctx, to, t)
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.faults, t.ID); err != nil {
		p.faults[t.ID] = err
	}
}

// teach lets the daemon learn a task: a label comes, is corrected, or is taken back.
func (p *Project) teach(ctx context.Context, to *client.Client, t Task) error {
	now, known, err := p.sample(ctx, to, t.ID)
	if err != nil {
		return err
	}
	label := p.config.label(t)
	switch {
	case label == "" && !known, known && now.Label == label:
		return nil
	case label == "":
		return to.Forget(ctx, now.ID)
	}
	var file []byte
	if !known {
		if file, err = p.Picture(ctx, *p.config, t); err != nil {
			return err
		}
	}
	if !p.classes[label] {
		if err := to.Class(ctx, label); err != nil {
			return err
		}
		p.classes[label] = true
	}
	if known {
		_, err = to.Label(ctx, now.ID, label)
	} else {
		_, err = to.Learn(ctx, file, label, client.Learn{ID: now.ID})
	}
	return err
}

// sample is the sample of a task, and whether the daemon knows it. One that was forgotten keeps its id, so that which
// comes after it has another.
func (p *Project) sample(ctx context.Context, to *client.Client, task int64) (s client.Sample, known bool, err error) {
	id := fmt.Sprintf("label-studio-%d-%d", p.id, task)
	for n := 2; ; n++ {
		s, err = to.Sample(ctx, id)
		var refused *client.Error
		switch {
		case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
			return client.Sample{ID: id}, false, nil
		case err != nil:
			return s, false, err
		case s.State != "forgotten" && s.State != "erased":
			return s, true, nil
		}
		id = fmt.Sprintf("label-studio-%d-%d-%d", p.id, task, n)
	}
}
