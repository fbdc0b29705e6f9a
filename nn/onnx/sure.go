package onnx

// Calibration says how sure the answers of the first of Rules may be. A model without one has probabilities that are
// the softmax of its logits.
//
// With scores s of the K classes, which are the logits or minus the squared distances, the model computes p =
// softmax(s/T) and ln q/(1−q) = a·ln p₁/(1−p₁) for the largest of p, as package calibrate of ocl does; and the
// familiarity of an image, the share of images of known classes that look as strange.
type Calibration struct {
	Temperature float64 // T
	Slope       float64 // a, in (0,1]
	Normalise   bool    // s is divided by the length of the features
	// Whitening is [D,D], row by row, and Means [M,D] rows of length 1: the score of familiarity is the cosine between
	// Whitening·features and the nearest of Means, less half of the mean of the cosines with all. Whitening may be nil for
	// the identity. Without Means the score is T·ln Σ exp(s/T).
	Whitening, Means []float32
	Known            []float32 // scores of familiarity of known images, at least one
	Unknown          float64   // images with a familiarity of this or less are unknown
}

// Names of the outputs.
const (
	familiarityName = "familiarity"
	unknownName     = "unknown"
)

// sure adds the probabilities of a rule with these values, and what is unknown.
func (m Model) sure(g *graph, features, values string) {
	c, k := m.Sure, m.Net.Info().Classes
	s := values
	if c.Normalise {
		s = g.node("Div", "sure.normalised", []string{s, lengthOf(g, features, "length")})
	}
	t := g.floats("temperature", []float32{float32(c.Temperature)})
	s = g.node("Div", "sure.tempered", []string{s, t})
	p := g.node("Softmax", "probabilities.even", []string{s}, attribute("axis", 1))
	if c.Slope == 1 {
		g.node("Identity", probabilitiesName, []string{p})
	} else {
		one := g.floats("one", []float32{1})
		top := g.node("ReduceMax", "probabilities.best", []string{p, g.ints("best.axes", []int64{1}, 1)}, attribute("keepdims", 1))
		rest := g.node("Max", "probabilities.rest", []string{g.node("Sub", "probabilities.others", []string{one, top}),
			g.floats("rest.least", []float32{leastLength})})
		odds := g.node("Pow", "odds.bent", []string{g.node("Div", "odds", []string{rest, top}),
			g.floats("slope", []float32{float32(c.Slope)})})
		best := g.node("Div", "best.bent", []string{one, g.node("Add", "odds.one", []string{one, odds})})
		share := g.node("Div", "others.share", []string{g.node("Sub", "others.bent", []string{one, best}), rest})
		others := g.node("Mul", "others", []string{p, share})
		g.node("Where", probabilitiesName, []string{g.node("Equal", "best.is", []string{p, top}), best, others})
	}
	g.outputs = append(g.outputs, value(probabilitiesName, typeFloat32, "calibrated", "batch", k))
	score := m.familiar(g, features, s, t)
	n := len(c.Known)
	seen := g.node("LessOrEqual", "known.stranger", []string{g.floats("known", c.Known, 1, n), score})
	seen = g.node("Cast", "known.values", []string{seen}, attribute("to", typeFloat32))
	seen = g.node("ReduceSum", "known.count", []string{seen, g.ints("known.axes", []int64{1}, 1)}, attribute("keepdims", 0))
	seen = g.node("Add", "known.more", []string{seen, g.floats("known.one", []float32{1})})
	rank := g.node("Div", familiarityName, []string{seen, g.floats("known.all", []float32{float32(n + 1)})})
	least := float32(c.Unknown * (1 + 1e-6)) // beyond the rounding of the quotient
	g.node("LessOrEqual", unknownName, []string{rank, g.floats("unknown.least", []float32{least})})
	g.outputs = append(g.outputs,
		value(familiarityName, typeFloat32, "share of images of known classes that look as strange", "batch"),
		value(unknownName, typeBool, "the image looks like none of the classes", "batch"))
}

// familiar adds the score of familiarity [batch,1]. tempered is s/T.
func (m Model) familiar(g *graph, features, tempered, t string) string {
	c, d := m.Sure, m.Net.Info().FeatureDim
	if c.Means == nil {
		sum := g.node("ReduceLogSumExp", "energy.tempered", []string{tempered, g.ints("energy.axes", []int64{1}, 1)},
			attribute("keepdims", 1))
		return g.node("Mul", "energy", []string{sum, t})
	}
	z := features
	if c.Whitening != nil {
		z = g.node("MatMul", "features.white", []string{features, g.floats("whitening", columns(c.Whitening, d), d, d)})
	}
	length := lengthOf(g, z, "white.length")
	n := len(c.Means) / d
	all := g.node("MatMul", "cosines.long", []string{z, g.floats("white.means", columns(c.Means, d), d, n)})
	axes := g.ints("cosine.axes", []int64{1}, 1)
	most := g.node("ReduceMax", "cosine.long", []string{all, axes}, attribute("keepdims", 1))
	mean := g.node("ReduceMean", "cosine.mean", []string{all, axes}, attribute("keepdims", 1))
	half := g.node("Mul", "cosine.half", []string{mean, g.floats("half", []float32{0.5})})
	return g.node("Div", "cosine", []string{g.node("Sub", "cosine.more", []string{most, half}), length})
}

// columns is the transpose of the rows of m [len(m)/d,d].
func columns(m []float32, d int) []float32 {
	n := len(m) / d
	t := make([]float32, len(m))
	for i := range n {
		for j := range d {
			t[j*n+i] = m[i*d+j]
		}
	}
	return t
}
