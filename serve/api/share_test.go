package api

import (
	"context"
	"slices"
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

// slow is a decoder of pictures of a million pixels for each byte, which tells that it has begun and then waits.
type slow struct {
	began chan int
	end   chan struct{}
}

func (s slow) Size(file []byte) (w, h int, err error) { return 1000 * len(file), 1000, nil }

func (s slow) Decode(_ context.Context, file, _ []byte) error {
	s.began <- len(file)
	<-s.end
	return nil
}

// TestLargePicturesComeOneByOne: of pictures of many pixels one is decoded at a time, and small ones do not wait for
// them.
func TestLargePicturesComeOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := slow{make(chan int, 9), make(chan struct{})}
		s := newServer(still{}, nil, Options{Decoder: d, Limits: Limits{Decodes: 2}})
		for _, megapixels := range []int{50, 12, 4, 3, 12} {
			go func() { _ = s.draw(t.Context(), "a", nil, make([]byte, megapixels)) }()
			synctest.Wait()
		}
		var began []int
		for len(d.began) > 0 {
			began = append(began, <-d.began)
		}
		if !slices.Equal(began, []int{50, 4, 3}) {
			t.Errorf("pictures of %d megapixels are decoded at once, wanted 50, 4 and 3", began)
		}
		if err := s.draw(t.Context(), "a", nil, make([]byte, 66)); err == nil {
			t.Error("66 megapixels are taken")
		}
		close(d.end)
		synctest.Wait()
		if n := <-d.began; n != 12 {
			t.Errorf("the next one has %d megapixels", n)
		}
	})
}
