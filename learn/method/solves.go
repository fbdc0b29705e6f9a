package method

// Solution describes a learner that computes its classifier from sums and trains nothing. Its network is a linear head
// on the values of an image, or on hidden layers that never change.
type Solution struct {
	Hidden  []int   // units of the hidden layers; nil is a head alone
	Waves   bool    // the hidden layers have cosines in place of ReLUs
	Numbers int     // of float64 that it keeps
	Solving int     // of float64 that it has besides, before an evaluation
	Step    float64 // operations for a sample, beside those of its network
	Prepare float64 // operations before an evaluation
}

// values is the number of values of an image.
func (s Setup) values() int { return s.Shape[0] * s.Shape[1] * s.Shape[2] }

// cholesky is the operations of the factor of a matrix [n,n] and of the solutions of so many systems.
func cholesky(n, systems int) float64 {
	return float64(n) * float64(n) * (float64(n)/3 + float64(2*systems))
}

// withoutGradient is what a method refuses that trains nothing.
var withoutGradient = refusing("kdc kdc* las lb lode mkd ss", computed,
	"mi rar", "it takes no steps: a second one would count a sample twice", "ema", "it trains no network",
	"ncm", needsMemory+" for class means", "rv", needsMemory+" to review")

const computed = "it computes its classifier from sums and has no loss"
