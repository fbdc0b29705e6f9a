package daemon

import "math"

// adwin finds changes in the mean of a stream of numbers in [0, 1]: ADWIN2 of Bifet and Gavaldà (2007), with buckets
// whose sizes are powers of two. It looks at every clockth number whether two parts of its window have means that
// differ by more than chance makes likely. After a change the window begins anew, as in river 0.26.1; in the paper it
// goes on with its newer part.
type adwin struct {
	rows  [][]bucket // row r has buckets of 2^r numbers, the newest first
	n     int
	sum   float64
	dev   float64 // sum of squared deviations from the mean
	ticks int
	found bool // by the last number
}

type bucket struct{ sum, dev float64 }

// The settings are the usual ones.
const (
	adwinDelta   = 0.002
	adwinClock   = 32
	adwinBuckets = 5  // of one size at most
	adwinGrace   = 10 // numbers before the first look
	adwinLeast   = 5  // numbers in a part that is compared
)

// add takes a number and says whether the mean has changed.
func (a *adwin) add(x float64) bool {
	if a.found {
		*a = adwin{}
	}
	if a.n > 0 {
		d := x - a.sum/float64(a.n)
		a.dev += float64(a.n) * d * d / float64(a.n+1)
	}
	a.n++
	a.sum += x
	if len(a.rows) == 0 {
		a.rows = [][]bucket{nil}
	}
	a.rows[0] = append([]bucket{{sum: x}}, a.rows[0]...)
	for r := 0; len(a.rows[r]) > adwinBuckets; r++ {
		if r+1 == len(a.rows) {
			a.rows = append(a.rows, nil)
		}
		k := len(a.rows[r])
		one, two, size := a.rows[r][k-1], a.rows[r][k-2], float64(int(1)<<r)
		d := one.sum/size - two.sum/size
		a.rows[r+1] = append([]bucket{{one.sum + two.sum, one.dev + two.dev + size*size*d*d/(2*size)}}, a.rows[r+1]...)
		a.rows[r] = a.rows[r][:k-2]
	}
	a.ticks++
	if a.ticks%adwinClock != 0 || a.n <= adwinGrace {
		return false
	}
	for a.cuts() {
		a.found = true
	}
	return a.found
}

// cuts lets go of the oldest bucket if an old and a new part of the window differ.
func (a *adwin) cuts() bool {
	oldN, oldSum := 0.0, 0.0
	variance := a.dev / float64(a.n)
	for r := len(a.rows) - 1; r >= 0; r-- {
		for k := len(a.rows[r]) - 1; k >= 0; k-- {
			oldN += float64(int(1) << r)
			oldSum += a.rows[r][k].sum
			newN := float64(a.n) - oldN
			if newN < adwinLeast || oldN < adwinLeast {
				continue
			}
			difference := math.Abs(oldSum/oldN - (a.sum-oldSum)/newN)
			m := 1/(oldN-adwinLeast+1) + 1/(newN-adwinLeast+1)
			log := math.Log(2 * math.Log(float64(a.n)) / adwinDelta)
			if difference > math.Sqrt(2*m*variance*log)+2.0/3*m*log {
				a.drop()
				return true
			}
		}
	}
	return false
}

// drop lets go of the oldest bucket.
func (a *adwin) drop() {
	r := len(a.rows) - 1
	k := len(a.rows[r]) - 1
	old, size := a.rows[r][k], float64(int(1)<<r)
	a.rows[r] = a.rows[r][:k]
	for len(a.rows) > 1 && len(a.rows[len(a.rows)-1]) == 0 {
		a.rows = a.rows[:len(a.rows)-1]
	}
	a.n -= int(size)
	a.sum -= old.sum
	if a.n > 0 {
		d := old.sum/size - a.sum/float64(a.n)
		a.dev = max(0, a.dev-old.dev-size*float64(a.n)*d*d/(size+float64(a.n)))
	} else {
		a.dev = 0
	}
}
