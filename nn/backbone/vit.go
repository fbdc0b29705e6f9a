package backbone

import "fmt"

// vit is a vision transformer (Dosovitskiy et al. 2021) with twelve blocks, each of which normalises before its
// attention and before its perceptron. Its tensors have timm's names here; scheme has those of others.
type vit struct {
	patch, width, heads int
	depth               int  // blocks; 0 is twelve
	registers           int  // tokens behind the class token that stand for no patch (Darcet et al. 2024)
	scaled              bool // LayerScale (Touvron et al. 2021) after each attention and each perceptron
	// projected is of CLIP (Radford et al. 2021): the numbers that the class token is projected to. Patches have no bias
	// then, and a norm comes before the blocks.
	projected int
}

// blocks is the number of them.
func (v vit) blocks() int {
	if v.depth == 0 {
		return 12
	}
	return v.depth
}

// Features that a file may name.
const (
	featureClass      = "class"      // the class token after the last norm
	featureClassMean  = "class+mean" // beside it the mean of the patches
	featureProjection = "projection" // of the class token into the space that texts share
)

// Functions between the two layers of a perceptron that a file may name.
const (
	geluErf   = "erf"
	geluQuick = "quick"
)

// reading is what a file says of a vision transformer beside its weights, and what its tensors tell.
type reading struct {
	scheme    *scheme
	feature   string
	gelu      string
	positions string // the rule by which positions are made for another number of patches
	stored    int    // rows of the positions in the file
}

// layers lays the network out. It works by n.reading.
func (v vit) layers(n *network) {
	n.epsilon = n.reading.scheme.epsilon
	if v.projected > 0 {
		n.epsilon = 1e-5
	}
	act := gelu
	if n.reading.gelu == geluQuick {
		act = quickGELU
	}
	x := n.stem("patch_embed.proj", "", v.width, square{side: v.patch, stride: v.patch}, linear)
	n.layers[0].unbiased = v.projected > 0
	x = n.tokens(x, v.registers)
	if v.projected > 0 {
		x = n.layerNorm(x, "norm_pre")
	}
	all := n.reading.feature == featureClassMean
	for i := range v.blocks() {
		p := fmt.Sprintf("blocks.%d.", i)
		y := n.product(n.layerNorm(x, p+"norm1"), p+"attn.qkv", 3*v.width, none, linear)
		if i == v.blocks()-1 && !all { // nothing reads the others any more
			x = n.classToken(x)
		}
		y = n.attention(y, v.heads, n.maps[x].rows)
		x = n.product(y, p+"attn.proj", v.width, x, linear)
		n.scaledBy(v.scaled, p+"ls1.gamma")
		y = n.product(n.layerNorm(x, p+"norm2"), p+"mlp.fc1", 4*v.width, none, act)
		x = n.product(y, p+"mlp.fc2", v.width, x, linear)
		n.scaledBy(v.scaled, p+"ls2.gamma")
	}
	n.features = n.layerNorm(x, "norm")
	switch n.reading.feature {
	case featureClassMean:
		n.features = n.add(layer{kind: classMeanLayer, in: n.features, res: none, first: 1 + v.registers}, 2*v.width, 1, 1)
	case featureProjection:
		n.features = n.product(n.features, "head", v.projected, none, linear)
		last := n.layers[len(n.layers)-1]
		last.unbiased = !n.reading.scheme.headBias
		last.turned = n.reading.scheme.turnedHead
	}
}

// tokens is the class token, registers, and the pixels of patches with their positions.
func (n *network) tokens(patches value, registers int) value {
	rows := 1 + registers + n.maps[patches].rows*n.maps[patches].columns
	return n.add(layer{kind: tokensLayer, in: patches, res: none, first: 1 + registers}, n.channels(patches), rows, 1)
}

// layerNorm normalises each token by itself.
func (n *network) layerNorm(in value, name string) value {
	return n.add(layer{kind: layerNormLayer, name: name, in: in, res: none, epsilon: n.epsilon}, n.channels(in),
		n.maps[in].rows, 1)
}

// product is a linear layer for each token.
func (n *network) product(in value, name string, out int, res value, act activation) value {
	return n.add(layer{kind: denseLayer, name: name, in: in, res: res, window: square{1, 1, 0, 0}, act: act, flat: true},
		out, n.maps[in].rows, 1)
}

// scaledBy multiplies the sums of the last layer by a tensor, before the residual is added.
func (n *network) scaledBy(yes bool, name string) {
	if yes {
		n.layers[len(n.layers)-1].gamma = name
	}
}

// attention is that of the first tokens to all.
func (n *network) attention(in value, heads, tokens int) value {
	return n.add(layer{kind: attentionLayer, in: in, res: none, heads: heads}, n.channels(in)/3, tokens, 1)
}

// classToken is the first token.
func (n *network) classToken(in value) value {
	return n.add(layer{kind: classLayer, in: in, res: none}, n.channels(in), 1, 1)
}
