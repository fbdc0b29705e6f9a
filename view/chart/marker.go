package chart

// Marker is the sign at each measured point.
type Marker int

// The markers.
const (
	Circle Marker = iota
	Square
	Triangle
	Diamond
	DownTriangle
	Cross
	Plus
	LeftTriangle
	RightTriangle
	Hourglass
	Star
	Pillar
)

// strokes are the lines that make a marker of radius 1 around (0,0), and whether they are closed. Circles have none:
// each format has its own.
func (m Marker) strokes() (lines [][]Point, closed bool) {
	switch m {
	case Square:
		return [][]Point{{{-.85, -.85}, {.85, -.85}, {.85, .85}, {-.85, .85}}}, true
	case Triangle:
		return [][]Point{{{0, -1.1}, {1.1, .8}, {-1.1, .8}}}, true
	case DownTriangle:
		return [][]Point{{{0, 1.1}, {1.1, -.8}, {-1.1, -.8}}}, true
	case Diamond:
		return [][]Point{{{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}}}, true
	case Pillar:
		return [][]Point{{{-.5, -1.3}, {.5, -1.3}, {.5, 1.3}, {-.5, 1.3}}}, true
	case Cross:
		return [][]Point{{{-.8, -.8}, {.8, .8}}, {{.8, -.8}, {-.8, .8}}}, false
	case Plus:
		return [][]Point{{{-1, 0}, {1, 0}}, {{0, -1}, {0, 1}}}, false
	case LeftTriangle:
		return [][]Point{{{-1.1, 0}, {.8, -1.1}, {.8, 1.1}}}, true
	case RightTriangle:
		return [][]Point{{{1.1, 0}, {-.8, 1.1}, {-.8, -1.1}}}, true
	case Hourglass:
		return [][]Point{{{-1, -1}, {1, -1}, {-1, 1}, {1, 1}}}, true
	case Star:
		return [][]Point{{{0, -1.5}, {.4, -.4}, {1.5, 0}, {.4, .4}, {0, 1.5}, {-.4, .4}, {-1.5, 0}, {-.4, -.4}}}, true
	}
	return nil, true
}
