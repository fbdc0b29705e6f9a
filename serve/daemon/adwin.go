package daemon

import "math"

// adwin finds changes in the mean of a stream of numbers in [0, 1]: ADWIN2 of Bifet and Gavaldà (2007), with buckets
// whose sizes are powers of two. It looks at every clockth number whether two parts of its window have means that
// differ by more than chance makes likely. After a change the window begins anew, as in river 0.26.1; in the paper it
// goes on with its newer part.
type adwin struct {
	Rows  [][]bucket `json:"rows"` // row r has buckets of 2^r numbers, the newest first
	Ticks int        `json:"ticks"`
	Found bool       `json:"found"` // by the last number
	N     int        `json:"n"`
	Sum   float64    `json:"sum"`
	Dev   float64    `json:"dev"` // sum of squared deviations from the mean
}

// bucket has the sum of its numbers, and that of their squared deviations from their mean.
type bucket [2]float64

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
	if a.Found {
		*a = adwin{}
	}
	if a.N > 0 {
		d := x - a.Sum/float64(a.N)
		a.Dev += float64(a.N) * d * d / float64(a.N+1)
	}
	a.N++
	a.Sum += x
	if len(a.Rows) == 0 {
		a.Rows = [][]bucket{nil}
	}
	a.Rows[0] = append([]bucket{{x}}, a.Rows[0]...)
	for r := 0; len(a.Rows[r]) > adwinBuckets; r++ {
		if r+1 == len(a.Rows) {
			a.Rows = append(a.Rows, nil)
		}
		k := len(a.Rows[r])
		one, two, size := a.Rows[r][k-1], a.Rows[r][k-2], float64(int(1)<<r)
		d := one[0]/size - two[0]/size
		a.Rows[r+1] = append([]bucket{{one[0] + two[0], one[1] + two[1] + size*size*d*d/(2*size)}}, a.Rows[r+1]...)
		a.Rows[r] = a.Rows[r][:k-2]
	}
	a.Ticks++
	if a.Ticks%adwinClock != 0 || a.N <= adwinGrace {
		return false
	}
	for a.cuts() {
		a.Found = true
	}
	return a.Found
}

// cuts lets go of the oldest bucket if an old and a new part of the window differ.
func (a *adwin) cuts() bool {
	oldN, oldSum := 0.0, 0.0
	variance := a.Dev / float64(a.N)
	for r := len(a.Rows) - 1; r >= 0; r-- {
		for k := len(a.Rows[r]) - 1; k >= 0; k-- {
			oldN += float64(int(1) << r)
			oldSum += a.Rows[r][k][0]
			newN := float64(a.N) - oldN
			if newN < adwinLeast || oldN < adwinLeast {
				continue
			}
			difference := math.Abs(oldSum/oldN - (a.Sum-oldSum)/newN)
			m := 1/(oldN-adwinLeast+1) + 1/(newN-adwinLeast+1)
			log := math.Log(2 * math.Log(float64(a.N)) / adwinDelta)
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
	r := len(a.Rows) - 1
	k := len(a.Rows[r]) - 1
	old, size := a.Rows[r][k], float64(int(1)<<r)
	a.Rows[r] = a.Rows[r][:k]
	for len(a.Rows) > 1 && len(a.Rows[len(a.Rows)-1]) == 0 {
		a.Rows = a.Rows[:len(a.Rows)-1]
	}
	a.N -= int(size)
	a.Sum -= old[0]
	if a.N > 0 {
		d := old[0]/size - a.Sum/float64(a.N)
		a.Dev = max(0, a.Dev-old[1]-size*float64(a.N)*d*d/(size+float64(a.N)))
	} else {
		a.Dev = 0
	}
}
