package api

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestNobodyTakesAllOfAShare: one has half of it at most, and there is always something for another one. Without tokens
// all is for those who come first.
func TestNobodyTakesAllOfAShare(t *testing.T) {
	s := newShare(100, false)
	has := func(who string) (n int64) {
		for {
			if _, ok := s.try(who, 1); !ok {
				return n
			}
			n++
		}
	}
	if a, b, c := has("a"), has("b"), has("c"); a != 50 || b != 25 || c != 12 {
		t.Errorf("three who take what they get have %d, %d and %d of 100, want 50, 25 and 12", a, b, c)
	}
	s.back("a", 50)
	if d := has("d"); d != 31 {
		t.Errorf("another one gets %d when the first has given everything back, want 31", d)
	}
	if s = newShare(100, true); has("") != 100 {
		t.Error("without tokens some of it is kept back")
	}
}

// TestAShareIsWaitedFor: until somebody gives back, or for some time.
func TestAShareIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShare(2, true)
		if !s.take(t.Context(), "a", 2) {
			t.Fatal("nothing is there")
		}
		got := make(chan bool)
		go func() { got <- s.take(t.Context(), "b", 1) }()
		synctest.Wait()
		s.back("a", 1)
		if !<-got {
			t.Error("what was given back is not taken")
		}
		if s.take(t.Context(), "b", 1) { // the clock of the test goes on
			t.Error("more is there than there is")
		}
	})
}

// TestWhoWaitsComesByTurns: however many one author sends, the next one that is let in is another's. Who leaves is
// passed over.
func TestWhoWaitsComesByTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTurns(2)
		if err := q.take(t.Context(), "a", 2); err != nil {
			t.Fatal(err)
		}
		order := make(chan string, 100)
		wait := func(ctx context.Context, who string, n int) {
			go func() {
				if q.take(ctx, who, n) == nil {
					order <- who
				}
			}()
			synctest.Wait()
		}
		gone, leave := context.WithCancel(t.Context())
		wait(gone, "gone", 2)
		for range 3 {
			wait(t.Context(), "a", 2)
		}
		wait(t.Context(), "b", 2)
		wait(t.Context(), "c", 2)
		leave()
		synctest.Wait()
		for _, want := range []string{"a", "b", "c", "a", "a"} {
			q.back(2)
			if got := <-order; got != want {
				t.Errorf("it is the turn of %s, want %s", got, want)
			}
		}
		q.back(2)
		if q.free != 2 || len(q.order)+len(q.waiting) != 0 {
			t.Errorf("%d places are free of 2, and %d authors wait", q.free, len(q.order))
		}
	})
}
