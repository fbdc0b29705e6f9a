package probe

// Weights are the parameters of the regression: [D][K], then the biases [K].
func Weights(p *Probe) []float32 { return p.net.Params() }
