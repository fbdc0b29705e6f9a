package served

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/study"
)

// claim is a job that this process has taken at the server.
type claim struct {
	store  *store
	entry  study.Entry
	folder string // locked
	unlock func()

	mu     sync.Mutex // a beat comes beside a save
	held   held
	rev    uint64 // of the claim
	job    record
	jobRev uint64
	saved  string // what was handed over last
	lost   bool
}

// Place implements [study.Claim].
func (c *claim) Place() experiment.RunIn { return experiment.RunIn{Folder: c.folder, Locked: true} }

// Attempt implements [study.Claim].
func (c *claim) Attempt() (number, step int) { return c.job.Number, c.job.Start }

// Beat implements [study.Claim]. A server that does not answer is no error: the claim is taken again once it does.
func (c *claim) Beat(p progress.Progress) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := op()
	defer cancel()
	p.Host, p.PID = c.store.host, os.Getpid()
	c.held.Progress = p
	err := c.renew(ctx)
	if err == nil && p.Stopping && !c.job.Stopping { // a claim goes when its process dies, and this must stay
		c.job.Stopping = true
		err = c.write(ctx)
	}
	return c.passing(err)
}

// passing notes an error of the server, and returns what ends the claim.
func (c *claim) passing(err error) error {
	if errors.Is(err, study.ErrLost) {
		c.lost = true
		return fmt.Errorf("served: %w", err)
	}
	if err != nil {
		c.store.lost(err)
	}
	return nil
}

// renew keeps the claim. One that the server no longer has is taken again, unless somebody has the job.
func (c *claim) renew(ctx context.Context) error {
	if c.lost {
		return study.ErrLost
	}
	s, key := c.store, c.entry.Key
	rev, err := s.claims.Update(ctx, key, encoded(c.held), c.rev)
	if err == nil {
		c.rev = rev
		return nil
	}
	if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return err
	}
	e, err := s.claims.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		rev, err = s.claims.Create(ctx, key, encoded(c.held))
	case err == nil && heldOf(e.Value()).Worker == s.worker: // an answer was lost, or the holder has made the claims again
		rev, err = s.claims.Update(ctx, key, encoded(c.held), e.Revision())
	case err == nil:
		return study.ErrLost
	}
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return study.ErrLost
	}
	if err != nil {
		return err
	}
	c.rev = rev
	if err := c.mine(ctx); err != nil {
		if errors.Is(err, study.ErrLost) {
			c.drop(ctx)
		}
		return err
	}
	return nil
}

// mine makes sure that the record still has this attempt: meanwhile another process may have had the job, and all
// records may be gone.
func (c *claim) mine(ctx context.Context) error {
	now, rev, err := c.store.job(ctx, c.entry.Key)
	switch {
	case err != nil:
		return err
	case now.Phase == progress.Begun && now.Worker == c.store.worker && now.Number == c.job.Number:
		c.jobRev = rev
		return nil
	case now.Phase == "" || now.Phase == phaseReleased: // nobody is at work on it
		c.jobRev = rev
		return c.write(ctx)
	}
	return study.ErrLost
}

// write writes the record, unless somebody else has.
func (c *claim) write(ctx context.Context) error {
	rev, err := c.store.jobs.Update(ctx, c.entry.Key, encoded(c.job), c.jobRev)
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		now, there, failed := c.store.job(ctx, c.entry.Key)
		if failed != nil {
			return failed
		}
		if there != 0 && now.Worker != c.store.worker || there != 0 && now.Number != c.job.Number {
			return study.ErrLost
		}
		rev, err = c.store.jobs.Update(ctx, c.entry.Key, encoded(c.job), there)
		if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return study.ErrLost
		}
	}
	if err == nil {
		c.jobRev = rev
	}
	return err
}

// drop gives the claim back. It ends by itself if that does not succeed.
func (c *claim) drop(ctx context.Context) {
	// not Delete, whose marker would get one of its own
	_ = c.store.claims.Purge(ctx, c.entry.Key, jetstream.LastRevision(c.rev))
}

// Save implements [study.Claim].
func (c *claim) Save(ctx context.Context) error {
	paths, err := study.Files(c.folder)
	if err != nil {
		return err
	}
	now, step := saved(c.folder, paths), study.StepOf(c.folder, c.entry)
	c.mu.Lock()
	idle := now == "" || now == c.saved || c.lost
	c.mu.Unlock()
	if idle {
		return nil
	}
	if _, err := c.store.put(ctx, savedOf(c.entry.Key), step,
		func(w io.Writer) error { return pack(w, c.folder, paths) }); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saved, c.job.Step = now, step
	within, cancel := op()
	defer cancel()
	return c.passing(c.write(within))
}

// Done implements [study.Claim]. The result waits until the server takes it.
func (c *claim) Done(r *result.Result) error {
	paths, err := study.Files(c.folder)
	if err != nil {
		return err
	}
	m := nats.NewMsg(c.store.result(c.store.token, c.entry.Key))
	var b bytes.Buffer
	if err := pack(&b, c.folder, paths); err != nil {
		return fmt.Errorf("served: %w", err)
	}
	m.Data = b.Bytes()
	err = c.store.insist(func(ctx context.Context) error {
		if int64(b.Len()) > c.store.nc.MaxPayload()-4096 { // for the headers
			bundle, err := c.store.put(context.WithoutCancel(ctx), resultOf(c.entry.Key), r.Outcome.Step,
				func(w io.Writer) error {
					_, err := w.Write(b.Bytes())
					return err
				})
			if err != nil {
				return err
			}
			m.Header.Set(bundleHeader, c.store.name)
			m.Data = encoded(bundle)
		}
		_, err := c.store.js.PublishMsg(ctx, m)
		return err
	})
	if err == nil {
		c.job.Step = r.Outcome.Step
		err = c.end(phaseHanded)
	}
	c.forget(err == nil)
	if err != nil {
		return fmt.Errorf("served: the result of %s could not be handed over, and lies in %s until the same command hands it over: %w",
			c.entry, c.folder, err)
	}
	return nil
}

// Fail implements [study.Claim].
func (c *claim) Fail(cause error) error {
	s := c.store
	if s.folder == nil {
		s.mu.Lock()
		s.gave[c.entry.Key] = cut(cause.Error()) // first, as the answer may come before this goes on
		s.mu.Unlock()
	}
	err := c.failed(cause, "yes")
	c.forget(false)
	if err != nil {
		s.mu.Lock()
		delete(s.gave, c.entry.Key)
		s.mu.Unlock()
		return fmt.Errorf("served: that %s has failed could not be told, so it is tried again: %w", c.entry, err)
	}
	return nil
}

// failed tells the holder that the job has failed.
func (c *claim) failed(cause error, how string) error {
	m := nats.NewMsg(c.store.result(c.store.token, c.entry.Key))
	m.Header.Set(failedHeader, how)
	m.Data = []byte(cut(cause.Error()))
	err := c.store.insist(func(ctx context.Context) error {
		_, err := c.store.js.PublishMsg(ctx, m)
		return err
	})
	if err == nil {
		err = c.end(phaseHanded)
	}
	return err
}

// Release implements [study.Claim]. What cannot be handed over stays in the place, for the next process of this
// machine.
func (c *claim) Release() error {
	if !c.lost {
		if err := c.Save(context.Background()); err != nil {
			c.store.lost(err)
		}
		ctx, cancel := op()
		c.job.Phase = phaseReleased
		_ = c.passing(c.write(ctx))
		c.drop(ctx)
		cancel()
	}
	c.forget(false)
	return nil
}

// end writes how the job has ended, and gives the claim back. If somebody else has the job, that changes nothing: the
// result is the same.
func (c *claim) end(phase string) error {
	c.job.Phase = phase
	return c.store.insist(func(ctx context.Context) error {
		if err := c.write(ctx); err != nil && !errors.Is(err, study.ErrLost) {
			return err
		}
		c.drop(ctx)
		return nil
	})
}

// forget unlocks the place of the claim, and removes it if all of it was handed over.
func (c *claim) forget(remove bool) {
	_ = os.Remove(filepath.Join(c.folder, begunFile)) // it did not die
	c.unlock()
	if remove {
		_ = os.RemoveAll(c.folder) // it only takes room
	}
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mine, c.entry.Key)
}

// atServer is an error of the connection, which is not that of a job or of this machine.
type atServer struct{ error }

// take makes the claim at the server. It is taken if the state is running for sure.
func (c *claim) take() (st progress.State, err error) {
	ctx, cancel := op()
	defer cancel()
	s, key := c.store, c.entry.Key
	c.rev, err = s.claims.Create(ctx, key, encoded(c.held))
	if errors.Is(err, jetstream.ErrKeyExists) {
		if e, err := s.claims.Get(ctx, key); err == nil {
			s.mu.Lock()
			s.view.claims.learn(e)
			s.mu.Unlock()
		}
		return progress.State{Phase: progress.Running}, nil
	}
	if err != nil {
		return st, &atServer{err}
	}
	defer func() {
		if err != nil || !st.Sure {
			c.drop(ctx)
		}
	}()
	before, rev, err := s.job(ctx, key)
	if err != nil {
		return st, &atServer{err}
	}
	if before.Phase == phaseHanded {
		return before.state(), nil
	}
	step := study.StepOf(c.folder, c.entry)
	if before.Phase != "" {
		step, err = c.fill(step)
	}
	if err != nil {
		return st, err
	}
	c.job, c.jobRev = record{Phase: progress.Begun, Worker: s.worker, Attempt: study.FirstAttempt(step)}, rev
	if before.Phase == progress.Begun {
		c.job.Attempt = before.Next(step)
	}
	tooMany := c.job.TooMany()
	if tooMany != nil {
		c.job.Number--
	}
	c.job.Host, c.job.PID = s.host, os.Getpid()
	c.held.Step = step
	switch err := c.write(ctx); {
	case errors.Is(err, study.ErrLost):
		return progress.State{Phase: progress.Running}, nil
	case err != nil:
		return st, &atServer{err}
	case tooMany != nil:
		if err := c.failed(tooMany, byDeaths); err != nil {
			return st, &atServer{err}
		}
		return c.job.state(), nil
	}
	if s.folder != nil {
		path := filepath.Join(c.folder, begunFile)
		before, _ := input.ReadFile(path, input.Want{Most: limit.StudyNote}) // a first process has none
		if err := atomicfile.WriteBytes(path, append(before, s.worker+"\n"...)); err != nil {
			s.tell(fmt.Sprintf("that %s was begun cannot be noted: %v. Make room on the disk", c.entry, err))
		}
	}
	return progress.State{Phase: progress.Running, Sure: true, Attempt: c.job.Number, Progress: c.held.Progress}, nil
}

// fill puts what earlier attempts have handed over into the place, unless that has more already. It returns the step.
func (c *claim) fill(here int) (int, error) {
	s := c.store
	ctx, cancel := op()
	defer cancel()
	m, there, err := s.manifest(ctx, "*", savedOf(c.entry.Key))
	if err != nil {
		return 0, &atServer{err}
	}
	if !there || m.Step <= here {
		return here, nil
	}
	from := filepath.Join(s.place, ".in-"+c.entry.Folder)
	defer os.RemoveAll(from)
	err = errors.Join(os.RemoveAll(from), s.fetch(context.Background(), savedOf(c.entry.Key), m, from, m.most()))
	if err == nil {
		err = replace(c.folder, from)
	}
	switch {
	case err == nil:
		return m.Step, nil
	case errors.As(err, new(*atServer)):
		return 0, err
	case errors.As(err, new(syscall.Errno)): // of this disk
		return 0, fmt.Errorf("served: %w. Make room on the disk", err)
	}
	s.tell(fmt.Sprintf("%s  what was saved of it cannot be used: %v. It goes on from step %d", c.entry, err, here))
	return here, nil
}

// replace moves the files of one folder into another one, and removes what that has of a run.
func replace(folder, from string) error {
	old, err := study.Files(folder)
	if err != nil {
		return err
	}
	for _, p := range old {
		if err := os.RemoveAll(filepath.Join(folder, filepath.FromSlash(p))); err != nil {
			return err
		}
	}
	return place(folder, from)
}
