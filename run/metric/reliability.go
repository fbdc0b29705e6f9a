package metric

import "math"

// Reliability says how often answers of a confidence are right: bin b of B counts those with a confidence in
// (b/B, (b+1)/B].
type Reliability [ReliabilityBins]ReliabilityBin

// ReliabilityBins is B.
const ReliabilityBins = 15

// ReliabilityBin counts answers.
type ReliabilityBin struct {
	N, Right   int
	Confidence float64 // the sum of those of the answers
}

// Add counts an answer with a confidence in [0,1].
func (r *Reliability) Add(confidence float64, right bool) {
	b := &r[min(max(int(math.Ceil(confidence*ReliabilityBins))-1, 0), ReliabilityBins-1)]
	b.N++
	b.Confidence += confidence
	if right {
		b.Right++
	}
}

// ECE is the expected calibration error (Naeini et al. 2015; Guo et al. 2017), in [0,1]: the mean over all answers of
// how far the confidence of their bin is from its accuracy. It is NaN without answers. Example: of four answers with a
// confidence of 0.9 two are right, so ECE is 0.4.
func (r *Reliability) ECE() float64 {
	n, sum := 0, 0.0
	for _, b := range r {
		n += b.N
		sum += math.Abs(b.Confidence - float64(b.Right))
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// Joined are the bins with answers, where those with fewer than least are joined with the next ones: their confidences
// are sums, as in the others. Without answers it is nil.
func (r *Reliability) Joined(least int) (list []ReliabilityBin) {
	var open ReliabilityBin
	for _, b := range r {
		open.N, open.Right, open.Confidence = open.N+b.N, open.Right+b.Right, open.Confidence+b.Confidence
		if open.N >= max(least, 1) {
			list, open = append(list, open), ReliabilityBin{}
		}
	}
	if open.N == 0 {
		return list
	}
	if len(list) == 0 {
		return []ReliabilityBin{open}
	}
	last := &list[len(list)-1]
	last.N, last.Right, last.Confidence = last.N+open.N, last.Right+open.Right, last.Confidence+open.Confidence
	return list
}
