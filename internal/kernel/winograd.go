package kernel

// Winograd's algorithm F(4×2, 3×3): a 3×3 convolution of stride 1 takes 24 products a tile of 4 rows × 2 columns of
// outputs, where the definition takes 72. With d the 6×4 inputs of a tile, g the taps and y the outputs,
//
//	y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A      dy → dU = (A dy Aᵀ) ⊙ (Bᵀ d B), dg = Gᵀ dU G
//
// where the left matrix belongs to the points 0, 1, -1, 2, -2, ∞ along y and the right one to 0, 1, -1, ∞ along x.
// Product j = 4·i + k belongs to point i along y and point k along x. The transforms below turn maps and weights into
// 24 arrays and back; in between run Planes, ChannelLast, PlanesGrad and ChannelLastGrad on each array as on a map,
// with one tap.
//
// A value of T lies in 24 arrays, Step floats apart: a Step that is a multiple of 1024 puts all of them into one set of
// the first-level cache.

const (
	WinogradProducts = winogradInRows * winogradInCols
	WinogradTileRows = 4 // rows of outputs in a tile
	WinogradTileCols = 2 // columns of outputs in a tile

	winogradInRows = WinogradTileRows + 2
	winogradInCols = WinogradTileCols + 2
)

// WinogradChannelLast describes a transform in the channel-last layout, for channels 0 ≤ c < C: product j of tile q is
// T[j·Step + q·Stride + c], and pixel k of tile q is X[Pos[q·n+k] + c].
type WinogradChannelLast struct {
	T      []float32
	X      []float32
	Pos    []int32 // row by row; n is 24 (6 rows × 4 columns) for Input, 8 (4 × 2) for Gradient and Output
	Step   int
	Stride int
	C      int // a multiple of Lanes
}

// WinogradPlanes describes a transform in the planes layout, for channels 0 ≤ c < C. A unit is Lanes columns, that is
// Lanes/2 tiles side by side, and may lie anywhere; units may overlap. A vector of T holds the tiles of two units:
//
//	T[m·Step + c·Stride + v·Lanes + l]   product j of tile 2·(l/4) + l%2 of unit 2v + l/2%2
//	X[Pos[u·n+r] + c·XStride + x]        column x of row r of unit u; Input reads columns -1 … Lanes
//
// so that eight lanes hold tiles 0, 1 of the first unit, 0, 1 of the second, 2, 3 of the first and 2, 3 of the second.
// It is what shuffles inside the quarters of a vector give; products take all lanes alike. Rows outside the map point
// at a row of zeros that every channel has (Input, Gradient), or at the unit's first row (Output).
type WinogradPlanes struct {
	T []float32
	X []float32
	// n is 6 for Input, whose row r belongs to output row r-1, 4 for the others; its length a multiple of 2n
	Pos     []int32
	Skip    []int32 // Gradient only: columns of unit u before Skip[u] count as zero, as another unit has them; nil: none
	XStride int
	Step    int
	Stride  int
	C       int

	// Input and Gradient compute two columns of the products: those of point i along y lie at i·Step, and the second
	// column's PairStep after the first's.
	Pair     WinogradPair
	PairStep int

	// Input of the outer pair asks the caches for what is wanted soon: the rows of the units of Next, a list as long as
	// Pos, and those of the output, laid out as X, that the tiles will be written to; nil: nothing.
	Next []int32
	Out  []float32
}

// WinogradPair is two columns of the products of a tile whose transforms share what they load.
type WinogradPair int

const (
	WinogradOuter WinogradPair = iota // columns 0 and 3
	WinogradInner                     // columns 1 and 2
)

// WinogradPairs is the number of pairs, WinogradPairProducts that of a pair's products.
const (
	WinogradPairs        = 2
	WinogradPairProducts = WinogradProducts / WinogradPairs
)

// Columns is the columns of a pair.
func (p WinogradPair) Columns() [2]int {
	if p == WinogradOuter {
		return [2]int{0, 3}
	}
	return [2]int{1, 2}
}

// WinogradWeights describes the transform of the weights of Rows inputs by Width outputs: for 0 ≤ r < Rows and
// 0 ≤ v < Width, product j is U[j·Step + r·URow + v] and tap t, row by row, is W[r·WRow + t·WTap + v].
type WinogradWeights struct {
	U     []float32
	W     []float32
	Rows  int
	Width int // a multiple of Lanes
	Step  int
	URow  int
	WRow  int
	WTap  int
}

// winogradLane says whose tile is in lane l of a vector of [WinogradPlanes]: that of the pair's first or second unit,
// and which column of the unit the tile begins at.
func winogradLane(l int) (unit, column int) {
	return l / 2 % 2, (l/4*2 + l%2) * WinogradTileCols
}
