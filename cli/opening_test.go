package cli

import (
	"strings"
	"testing"
	"time"
)

// follow tells of work at times in seconds and returns what was shown.
func follow(live bool, told ...struct {
	at          float64
	what        string
	done, total int64
}) string {
	var out strings.Builder
	o := newOpening(&out, false)
	o.live = live
	for _, s := range told {
		o.now = func() time.Time { return time.Unix(1000, 0).Add(time.Duration(s.at * float64(time.Second))) }
		o.tell(s.what, s.done, s.total)
	}
	o.end()
	return out.String()
}

type told = struct {
	at          float64
	what        string
	done, total int64
}

// Work is shown after a second, then seldom, and at its end once; the time that is left counts from where it began.
func TestOpeningShowsLongWork(t *testing.T) {
	for name, c := range map[string]struct {
		live bool
		told []told
		want string
	}{
		"short": {false, []told{{0, "a", 0, 10}, {0.9, "a", 10, 10}}, ""},
		"plain": {false, []told{{0, "a", 1000, 9000}, {2, "a", 3000, 9000}, {3, "a", 4000, 9000},
			{12, "a", 7000, 9000}}, "a: 3,000 of 9,000, 6.0s left\na: 7,000 of 9,000, 4.0s left\n"},
		"end once": {false, []told{{0, "a", 0, 10}, {2, "a", 5, 10}, {3, "a", 10, 10}, {30, "a", 10, 10}},
			"a: 5 of 10, 2.0s left\na: 10 of 10\n"},
		"unknown total": {false, []told{{0, "a", 0, 0}, {2, "a", 5, 0}}, "a: 5\n"},
		"another piece": {false, []told{{0, "a", 0, 10}, {2, "a", 5, 10}, {3, "b", 0, 10}, {3.5, "b", 5, 10},
			{4.5, "b", 6, 10}}, "a: 5 of 10, 2.0s left\nb: 6 of 10, 1.0s left\n"},
		"begun anew": {false, []told{{0, "a", 0, 10}, {2, "a", 5, 10}, {11, "a", 0, 10}, {13, "a", 1, 10}},
			"a: 5 of 10, 2.0s left\na: 1 of 10, 18s left\n"},
		"terminal": {true, []told{{0, "a", 0, 10}, {2, "a", 5, 10}, {3, "a", 10, 10}},
			"\ra: 5 of 10, 2.0s left\x1b[K\ra: 10 of 10\x1b[K\n"},
		"terminal, left": {true, []told{{0, "a", 0, 10}, {2, "a", 5, 10}}, "\ra: 5 of 10, 2.0s left\x1b[K\n"},
	} {
		if got := follow(c.live, c.told...); got != c.want {
			t.Errorf("%s: %q\nwant %q", name, got, c.want)
		}
	}
}
