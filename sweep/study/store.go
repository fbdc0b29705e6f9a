package study

import (
	"context"
	"errors"
	"time"

	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
)

// Store keeps what is known of the jobs of one study: who is at work on which, which have failed, and the results.
// Several processes use the same store at once; one Store value belongs to one process, and its methods may be called
// from several goroutines. studytest.Run has the tests that every store must pass.
//
// Claims avoid double work; correctness does not depend on them. Runs are deterministic, so two processes at work on
// one job end with the same result. A store must only make sure that a job which it reports as done has the right
// result.
type Store interface {
	// Claim takes a job for the caller, if it is free. Otherwise the claim is nil, and the state says why. An error says
	// that the store cannot be used; the job has nothing to do with it.
	Claim(Entry) (Claim, progress.State, error)
	// State says how far a job is. It changes nothing.
	State(Entry) progress.State
	// Result is that of a job, and nil if it has none. A result that cannot be used is an error.
	Result(Entry) (*result.Result, error)
	// Retry lets a job be tried again that has failed; it is false if the job has not.
	Retry(Entry) (bool, error)
	// Cancel lets all workers stop, until Resume. Cancelled says whether they should.
	Cancel() error
	Cancelled() bool
	Resume() error
	// Aside takes what there is to tell about results that could not be used.
	Aside() []string
}

// ErrLost is wrapped by the error of a beat when another process has the job.
var ErrLost = errors.New("another process has taken the job")

// Claim is a job that this process has taken. One goroutine uses it at a time. It ends with one of Done, Fail and
// Release.
type Claim interface {
	// Place is where the run is to write, on this machine. What earlier attempts have handed over lies there.
	Place() experiment.RunIn
	// Attempt is the number of this attempt, from 1, and the step at which it begins.
	Attempt() (number, step int)
	// Beat says that the process is alive and how far it is, every [BeatEvery]. An error may pass, but for [ErrLost].
	Beat(progress.Progress) error
	// Save hands over what the run has saved, every [SaveEvery] while it is at work, so that another machine can go on
	// from there. One goroutine may call it beside another that calls Beat.
	Save(context.Context) error
	// Done hands over the result, which is in its place.
	Done(*result.Result) error
	// Fail says why the job cannot be done. Nobody takes it until Retry.
	Fail(error) error
	// Release hands over what the run has saved and gives the job back, to be continued by whoever takes it next.
	Release() error
}

const (
	// BeatEvery is how often a process says how far it is with a job.
	BeatEvery = 15 * time.Second
	// SaveEvery is how often a process hands over what a run has saved.
	SaveEvery = 5 * time.Minute
	// StaleAfter is how old the last word of another machine must be for its attempt to count as dead.
	StaleAfter = 4 * BeatEvery
	// MostDeaths is how many attempts may die at the same step before the job has failed.
	MostDeaths = 3
)
