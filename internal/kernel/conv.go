package kernel

// ChannelLastTile is the number of positions a tile of [ChannelLast] computes at once.
const ChannelLastTile = 5

// Finish is what a convolution does to a sum before it stores it: y = sum·Scale[o] + Shift[o] for output o, plus Res at
// the place of the output where Res is not nil, then max(0, y) where Relu is set, then min(Most, y) where Most is not
// 0; a NaN passes. Where Scale is nil the sum itself is stored. Res may be the output, and then the sum is added once
// where positions repeat inside a tile.
type Finish struct {
	Scale, Shift []float32 // a value an output of the block
	Res          []float32
	Relu         bool
	Most         float32 // with Relu only, and not for the transforms of Winograd's algorithm
}

// Tail is x[at:], and nil for nil: the rest of an array that an argument may lack, such as Finish.Res.
func Tail(x []float32, at int) []float32 {
	if x == nil {
		return nil
	}
	return x[at:]
}

// Planes describes a convolution in the planes layout for one block of outputs: with k running over (input channel,
// tap)
//
//	out[o][p] = Σ_k W[k][o] · X[off[k]+p]      0 ≤ o < Set.PlanesOut
//
// for Rows × Tiles tiles of 2·Lanes positions p. Row r begins at position r·RowStride of both Out and X, tile t at
// position t·2·Lanes of its row; the second vector of a tile lies VecStride positions after the first (Lanes for long
// rows; the distance of two rows where a row is one vector). Everything is in floats.
type Planes struct {
	Out       []float32 // Out[o·OutStride + p]
	X         []float32 // X[XBase + Off[k] + p]
	W         []float32 // W[k·PlanesOut + o], the packed block
	Off       []int32   // len(Off) is the number of k
	OutStride int
	XBase     int
	Rows      int
	RowStride int
	Tiles     int
	VecStride int
	WStride   int // row r reads the weights from W[r·WStride] on; 0: all rows have the same
	Finish
}

// PlanesGrad describes a weight gradient in the planes layout for Set.GradOut outputs and some groups of Set.GradIn
// values of k. Sums stay apart by lane, so that positions can be taken in blocks: with n the place of a value of k in
// its group g,
//
//	Dst[((g·GradOut + m)·GradIn + n)·Lanes + l] += Σ_p Y[YBase + m·YStride + p + l] · X[XBase + Off[g·GradIn+n] + p + l]
//
// where p = image·ImageStride + row·RowStride + v·Lanes runs over Images × Rows × Vecs vectors. len(Off) is a multiple
// of GradIn.
type PlanesGrad struct {
	Dst         []float32
	Y           []float32
	X           []float32
	Off         []int32
	YBase       int
	YStride     int
	XBase       int
	Images      int
	ImageStride int
	Rows        int
	RowStride   int
	Vecs        int
	Write       bool // write to Dst instead of adding
}

// ChannelLast describes a convolution in the channel-last layout for one block of Vecs·Lanes outputs:
//
//	out[OutPos[j] + v] = Σ_t Σ_c X[XPos[j] + TapX[t] + c] · W[TapW[t] + c·Vecs·Lanes + v]
//
// for all j < len(OutPos), a multiple of ChannelLastTile; 0 ≤ c < C, 0 ≤ v < Vecs·Lanes. Positions may repeat inside a
// tile: the same value is then written twice. All positions of one call have the same taps inside the map.
//
// With Vecs = 0 a block has Set.NarrowOuts outputs, too few to fill a vector, and vectors run along the inputs: 0 ≤ v <
// NarrowOuts, and the weight is W[TapW[t] + (c/Lanes·NarrowOuts + v)·Lanes + c mod Lanes]. W has whole vectors, which
// end in zeros; X is read up to C only.
type ChannelLast struct {
	Out    []float32
	X      []float32
	W      []float32
	OutPos []int32
	XPos   []int32
	TapX   []int32
	TapW   []int32
	C      int
	Vecs   int // 0 ≤ Vecs ≤ Set.ChannelLastVecs
	Finish
}

// ChannelLastGrad describes a weight gradient in the channel-last layout, Tiles times ChannelLastTile inputs by
// Vecs·Lanes outputs:
//
//	Dst[i·DstStride + v] += Σ_q X[XPos[q] + i] · Y[YPos[q] + v]      0 ≤ i < Tiles·ChannelLastTile
type ChannelLastGrad struct {
	Dst       []float32
	X         []float32
	Y         []float32
	XPos      []int32
	YPos      []int32
	DstStride int
	Tiles     int
	Vecs      int  // 1 ≤ Vecs ≤ Set.ChannelLastVecs
	Write     bool // write to Dst instead of adding
}

// Depthwise describes a convolution of each channel with weights of its own in the channel-last layout:
//
//	out[OutPos[j] + c] = Σ_t X[XPos[j] + TapX[t] + c] · W[t·C + c]
//
// for all j < len(OutPos), a multiple of ChannelLastTile; 0 ≤ c < C, a multiple of Lanes. There is at least one tap.
// Positions may repeat inside a tile: the same value is then written twice.
type Depthwise struct {
	Out    []float32
	X      []float32
	W      []float32
	OutPos []int32
	XPos   []int32
	TapX   []int32
	C      int
	Finish
}

// ChannelLastMax describes the maximum over taps in the channel-last layout, with positions and channels as in
// [Depthwise]:
//
//	out[OutPos[j] + c] = max_t X[XPos[j] + TapX[t] + c]
//
// A NaN passes.
type ChannelLastMax struct {
	Out    []float32
	X      []float32
	OutPos []int32
	XPos   []int32
	TapX   []int32
	C      int
}
