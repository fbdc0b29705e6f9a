package kernel

// Area is the part of one image's plane that holds pixels: Rows rows of Cols floats, RowStride apart, the first at Base.
type Area struct {
	Base, Rows, Cols, RowStride int
}

// PlaneNorm describes one channel of one image in batch norm's backward pass; see [Set.PlaneNormSums].
type PlaneNorm struct {
	Area
	Z    []float32 // output of the convolution
	Y    []float32 // output of the ReLU; nil where none follows
	G    []float32 // gradient of Y; masked in place by Y > 0
	Mean float32
}

// RowsNorm is the same in the channel-last layout: N positions of C channels (a multiple of Lanes), Stride floats apart.
type RowsNorm struct {
	Z, Y, G []float32
	Mean    []float32 // a value a channel
	N       int
	C       int
	Stride  int
}
