package kernel

// Area is the part of one image's plane that holds pixels: Rows rows of Cols floats, RowStride apart, the first at
// Base.
type Area struct {
	Base, Rows, Cols, RowStride int
}

func (a Area) empty() bool { return a.Rows <= 0 || a.Cols <= 0 }

// end is one past the last float of an area that is not empty.
func (a Area) end() int { return a.Base + (a.Rows-1)*a.RowStride + a.Cols }

// PlaneNorm describes one channel of one image in batch norm's backward pass; see [Set.PlaneNormSums].
type PlaneNorm struct {
	Area
	Z    []float32 // output of the convolution
	Y    []float32 // output of the ReLU; nil where none follows
	G    []float32 // gradient of Y; masked in place by Y > 0
	Mean float32
}

// ChannelLastNorm is the same in the channel-last layout: N positions of C channels, Stride floats apart.
type ChannelLastNorm struct {
	Z, Y, G []float32
	Mean    []float32 // a value a channel
	N       int
	C       int
	Stride  int
}

// AdamStep holds the numbers of one step of [Set.Adam]. They are float64, since 1-Beta2 would lose four digits in
// float32.
type AdamStep struct {
	LR, Beta1, Beta2, Eps    float64
	Decay                    float64 // of the weights, added to the gradient
	Correction1, Correction2 float64 // 1-Beta1^t and 1-Beta2^t at step t, counted from 1
}

// adamFactors are what the kernel needs of an AdamStep.
type adamFactors struct {
	step  float32 // LR / Correction1
	decay float32
	rest1 float32 // 1-Beta1
	beta2 float32
	rest2 float32 // 1-Beta2
	root  float32 // 1 / √Correction2
	eps   float32
}
