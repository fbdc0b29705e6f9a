package api

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// share is an amount that all share, such as bytes of memory. Nobody holds more than they leave: one has half of it at
// most, two a third each. So there is always room for somebody else. Where there are no tokens, nobody knows who is
// who, and all of it is for those who come first.
type share struct {
	alone bool // there are no tokens
	mu    sync.Mutex
	free  int64
	of    map[string]int64 // what each author holds
	moved chan struct{}    // closed and made anew when something was given back
}

func newShare(of int64, alone bool) *share {
	return &share{alone: alone, free: of, of: map[string]int64{}, moved: make(chan struct{})}
}

// try takes n for an author if there is so much. Otherwise it returns a channel that is closed when something was given
// back.
func (s *share) try(who string, n int64) (moved <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own, left := s.of[who]+n, s.free-n; left < 0 || !s.alone && own > left {
		return s.moved, false
	}
	s.free -= n
	s.of[who] += n
	return nil, true
}

// take takes n for an author, and waits for it as long as shareWait. It says whether there was so much.
func (s *share) take(ctx context.Context, who string, n int64) bool {
	moved, ok := s.try(who, n)
	if ok {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, shareWait)
	defer cancel()
	for !ok {
		select {
		case <-moved:
			moved, ok = s.try(who, n)
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// shareWait is the longest time that a request waits for its author's share of the queue.
const shareWait = 5 * time.Second

// back gives n back.
func (s *share) back(who string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += n
	if s.of[who] -= n; s.of[who] == 0 {
		delete(s.of, who)
	}
	close(s.moved)
	s.moved = make(chan struct{})
}

// turns are places where requests work for a moment, such as processors that decode. Those who wait come by turns, one
// author after the other, so however much one sends, another one waits for a moment only.
type turns struct {
	mu      sync.Mutex
	free    int
	order   []string // authors who wait
	waiting map[string][]*turn
}

// turn is one who waits for n places.
type turn struct {
	n     int
	comes chan struct{} // closed when they are taken
}

func newTurns(n int) *turns { return &turns{free: n, waiting: map[string][]*turn{}} }

// take waits for n places.
func (t *turns) take(ctx context.Context, who string, n int) error {
	w := &turn{n, make(chan struct{})}
	t.mu.Lock()
	if t.waiting[who] == nil {
		t.order = append(t.order, who)
	}
	t.waiting[who] = append(t.waiting[who], w)
	t.call()
	t.mu.Unlock()
	select {
	case <-w.comes:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-w.comes:
		t.free += n
	default:
		w.n = 0 // it takes none when its turn comes
	}
	t.call()
	return ctx.Err()
}

// back gives n places back.
func (t *turns) back(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free += n
	t.call()
}

// call lets those in whose turn it is. The caller holds mu.
func (t *turns) call() {
	for len(t.order) > 0 {
		who := t.order[0]
		list := t.waiting[who]
		if list[0].n > t.free {
			return
		}
		t.free -= list[0].n
		close(list[0].comes)
		t.order = t.order[1:]
		if list = list[1:]; len(list) > 0 {
			t.waiting[who] = list
			t.order = append(t.order, who)
		} else {
			delete(t.waiting, who)
		}
	}
}

// queued knows whose pictures wait to be learned: the queue is learned in the order in which it came.
type queued struct {
	mu    sync.Mutex
	came  []lot                // that may still wait, the oldest first
	sum   int                  // of their pictures
	own   map[string]int       // of each author
	asked map[string]time.Time // when each sent something last
}

// lot are pictures of a request.
type lot struct {
	who string
	n   int
}

// activeFor is the time for which an author who sends nothing keeps a part of the queue.
const activeFor = time.Minute

// fair says whether an author may bring n more pictures to a queue in which so many wait, of at most most: each who
// sends some may have the same part.
func (q *queued) fair(who string, n, waiting, most int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.sum > waiting { // the oldest were learned
		first := &q.came[0]
		k := min(first.n, q.sum-waiting)
		q.sum -= k
		if q.own[first.who] -= k; q.own[first.who] == 0 {
			delete(q.own, first.who)
		}
		if first.n -= k; first.n == 0 {
			q.came = q.came[1:]
		}
	}
	now := time.Now()
	if q.asked == nil {
		q.asked = map[string]time.Time{}
	}
	q.asked[who] = now
	for name, at := range q.asked {
		if now.Sub(at) > activeFor {
			delete(q.asked, name)
		}
	}
	return q.own[who]+n <= most/len(q.asked) || len(q.asked) == 1
}

// add notes that n pictures of an author wait.
func (q *queued) add(who string, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n == 0 {
		return
	}
	if q.own == nil {
		q.own = map[string]int{}
	}
	q.came, q.sum = append(q.came, lot{who, n}), q.sum+n
	q.own[who] += n
}

// held is memory that a request holds of a share.
type held struct {
	s   *share
	who string
	n   int64
}

// take takes n bytes more. Where there are none for some time, it is an error.
func (h *held) take(ctx context.Context, n int64) error {
	if !h.s.take(ctx, h.who, n) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p := problem(http.StatusServiceUnavailable,
			"The requests that the daemon works on have all the memory that there is for this one. Send it again after the time of Retry-After, or send less at once.")
		p.after, p.close = shareWait, true
		return p
	}
	h.n += n
	return nil
}

// back gives everything back.
func (h *held) back() {
	h.s.back(h.who, h.n)
	h.n = 0
}
