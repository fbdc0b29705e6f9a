package main

import (
	"sync"
	"time"
)

const (
	redrawEvery = 100 * time.Millisecond // at most ten times a second
	plainEvery  = 10 * time.Second       // without a terminal
)

// ticker calls a function again and again until it is stopped.
type ticker struct {
	quit, done chan struct{}
	once       sync.Once
}

// startTicker starts one: ten times a second if live, and else every ten seconds.
func startTicker(live bool, f func()) *ticker {
	t := &ticker{quit: make(chan struct{}), done: make(chan struct{})}
	every := plainEvery
	if live {
		every = redrawEvery
	}
	go func() {
		defer close(t.done)
		clock := time.NewTicker(every)
		defer clock.Stop()
		for {
			select {
			case <-clock.C:
				f()
			case <-t.quit:
				return
			}
		}
	}()
	return t
}

// stop returns when no call is under way, and none follows. It may be called again.
func (t *ticker) stop() {
	t.once.Do(func() { close(t.quit) })
	<-t.done
}
