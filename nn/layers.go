package nn

import "fmt"

// LayerKind says what a layer computes.
type LayerKind int

const (
	// StemLayer is conv → batch norm → ReLU on the images.
	StemLayer LayerKind = iota
	// BlockLayer is a basic residual block: conv → batch norm → ReLU → conv → batch norm, plus the shortcut, then ReLU.
	// The shortcut is conv → batch norm where there is a third convolution, and the identity otherwise.
	BlockLayer
	// PoolLayer is average pooling by windows of Side×Side at a stride of Side, rounding down, and flattening in the
	// order (c, y, x). Its outputs are the features.
	PoolLayer
	// FlattenLayer makes the values of the images the features, in the order (c, y, x). It is the first layer.
	FlattenLayer
	// LinearLayer is y = x·W + b, followed by a ReLU if ReLU is set, or by a cosine if Wave is. Before it, maps are
	// flattened in the order (c, y, x).
	LinearLayer
	// CosineLayer is y_k = Scale · W_k·x / (‖W_k‖·‖x‖), see [Head].
	CosineLayer
)

// LayerInfo describes one layer of a network for those who write the network down in another form.
type LayerInfo struct {
	Kind  LayerKind
	Convs []ConvInfo // of a stem or a block
	Side  int        // of the windows of a pool, pixels
	ReLU  bool       // after a linear layer
	Wave  bool       // a cosine after a linear layer
	// Weight and Bias are the parameters of a linear layer, Weight and Scale those of a cosine layer.
	Weight, Bias, Scale Param
	Head                bool // of the head; the features are the inputs of the first such layer
}

// ConvInfo describes a convolution without bias and the batch norm behind it. Its kernel is √Taps pixels wide, centred,
// with zeros around the image, so that n pixels become ⌈n/Stride⌉.
type ConvInfo struct {
	Weight         Param
	Stride         int
	Gamma, Beta    Param   // offsets are into Params
	Mean, Variance Param   // offsets are into Running
	Eps            float64 // added to the variance
}

// described is Info.Layers.
func (n *Network) described() (all []LayerInfo) {
	for i, l := range n.layers {
		switch l := l.(type) {
		case *stemLayer:
			all = append(all, LayerInfo{Kind: StemLayer, Convs: []ConvInfo{n.convInfo(l.conv, l.norm, 1)}})
		case *blockLayer:
			info := LayerInfo{Kind: BlockLayer, Convs: []ConvInfo{n.convInfo(l.conv1, l.norm1, l.stride),
				n.convInfo(l.conv2, l.norm2, 1)}}
			if l.short.size > 0 {
				info.Convs = append(info.Convs, n.convInfo(l.short, l.normS, l.stride))
			}
			all = append(all, info)
		case poolLayer:
			all = append(all, LayerInfo{Kind: PoolLayer, Side: l.side})
		case flattenLayer:
			all = append(all, LayerInfo{Kind: FlattenLayer})
		case *linearLayer:
			all = append(all, LayerInfo{Kind: LinearLayer, Head: i >= n.trunk, ReLU: l.relu, Wave: l.wave,
				Weight: paramAt(n.info.Named, l.w.at),
				Bias:   paramAt(n.info.Named, l.bias)})
		case *cosineLayer:
			all = append(all, LayerInfo{Kind: CosineLayer, Head: true, Weight: paramAt(n.info.Named, l.w.at),
				Scale: paramAt(n.info.Named, l.sigma)})
		case channelLastLayer: // the engine's memory layout, which changes no number
		default:
			panic(fmt.Sprintf("nn: %v has no description. Add one here", l))
		}
	}
	return all
}

func (n *Network) convInfo(c convRef, r normRef, stride int) ConvInfo {
	return ConvInfo{
		Weight: paramAt(n.info.Named, c.at), Stride: stride,
		Gamma: paramAt(n.info.Named, r.gamma), Beta: paramAt(n.info.Named, r.beta),
		Mean: paramAt(n.info.Statistics, r.mean), Variance: paramAt(n.info.Statistics, r.variance), Eps: normEps,
	}
}

// paramAt is the one of a list that lies at an offset; every layer's do.
func paramAt(list []Param, offset int) Param {
	for _, p := range list {
		if p.Offset == offset {
			return p
		}
	}
	panic("nn: a layer has a parameter that the network does not list")
}
