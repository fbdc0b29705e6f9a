package nn

// Info describes a network. Its slices belong to the network: nobody changes them.
type Info struct {
	Input  [3]int // shape of an image: channels, height and width in pixels
	Engine Engine // how the network computes, with no field empty

	// Head has no field left to be filled in. FeatureDim is D, the number of features that the trunk gives to it.
	Head       Head
	FeatureDim int
	// Outputs is the number of outputs [B,Outputs] of a pass: the active classes, or Head.Out of a projection.
	Outputs int
	// Classes is K, the number of active classes: labels are in [0, K). Capacity is the number of classes that the
	// network can have, active ones and others. See [Network.SetActive].
	Classes, Capacity int
	Inherited         int // what Inherit was last called with, 0 where it was not

	Version uint64 // another number after each change of the parameters that Changed tells of

	Named      []Param // parameters, with their places in Params and Grads
	Statistics []Param // running statistics, with their places in Running
	// Layers are in their order; the outputs of the last are the logits.
	Layers []LayerInfo
	// FLOPs is the number of floating-point operations of one image's forward pass, two a multiply-add of convolutions
	// and linear layers, counted with the taps beyond the border; a backward pass takes twice as many.
	FLOPs int64

	Stages []string // that Freeze can freeze, from the images on; the head is in none of them
	Frozen Frozen
	// Latent is the shape [C,H,W] of the activations from which the network learns in place of images, see
	// [Network.Freeze]; zeros where it learns from images.
	Latent [3]int
}

// Frozen is the part of a network that does not learn; zeros where all of it does.
type Frozen struct {
	Stages          int   // the first of Info.Stages
	Params, Running int   // the first of Params and of Running
	FLOPs           int64 // part of those of the network
}

// Info describes the network as it is now.
func (n *Network) Info() Info {
	i := n.info
	i.Classes, i.Outputs, i.Version = n.classes(), n.outputs(), n.version
	return i
}

// classes is Info.Classes.
func (n *Network) classes() int {
	if n.active > 0 {
		return n.active
	}
	return n.info.Capacity
}

// outputs is Info.Outputs.
func (n *Network) outputs() int {
	if n.info.Head.PerClass() {
		return n.classes()
	}
	return n.info.Head.Out
}
