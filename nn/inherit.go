package nn

import "fmt"

// Inherit makes n the heir of networks that have only its first classes and are otherwise the same: LoadState also
// takes the state of such a network, and Fit a vector of its parameters. What belongs to further outputs stays as it is
// in the network, so the logits of the first outputs keep their bits and the others begin as they were drawn.
//
// A learner grows in this way: one is made for more classes and loads the state of one that was made for fewer. All
// that depends on the number of classes is new then, such as workspaces, and nothing of the smaller network is left to
// be used by mistake. It panics unless classes is from 1 to Info.Capacity.
func (n *Network) Inherit(classes int) {
	if classes < 1 || classes > n.info.Capacity {
		panic(fmt.Sprintf("nn: Inherit: %d classes for a network with a capacity of %d. Inherit at least 1 and at most all",
			classes, n.info.Capacity))
	}
	n.info.Inherited = classes
}

// Fit returns a vector with a number for each parameter, in the order of Params, that a state holds: saved itself, or,
// where saved is of a network that n inherits from, a vector with 0 for each parameter that network does not have. It
// is an error where saved has another length.
func (n *Network) Fit(saved []float32) ([]float32, error) {
	if len(saved) == len(n.params) {
		return saved, nil
	}
	v := make([]float32, len(n.params))
	return v, n.take(v, saved)
}

// take copies a saved vector [P] to dst, and leaves what belongs to outputs that it does not have.
func (n *Network) take(dst, saved []float32) error {
	if len(saved) == len(dst) {
		copy(dst, saved)
		return nil
	}
	from, fewer := n.info.Inherited, 0
	for _, p := range n.info.Named {
		if p.Classes {
			fewer += p.Len() / p.Out * (n.info.Capacity - from)
		}
	}
	if from == 0 || len(saved) != len(dst)-fewer {
		return fmt.Errorf("nn: the state has %d numbers for %d parameters, so it belongs to another configuration. Use the one it was saved with",
			len(saved), len(dst))
	}
	for _, p := range n.info.Named {
		rows, out := p.Len()/p.Out, p.Out
		if p.Classes {
			out = from
		}
		for i := range rows {
			copy(dst[p.Offset+i*p.Out:][:out], saved[i*out:])
		}
		saved = saved[rows*out:]
	}
	return nil
}
