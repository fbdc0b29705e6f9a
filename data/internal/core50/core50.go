// Package core50 knows which frames CORe50 has, and the ten official orders of its scenarios NC and NI. It knows
// nothing of images.
//
// The frames and orders are tables (frames.go, orders.go), from which every official list of files follows line by
// line: a test compares the SHA-256 of all lists. Start with [All] for the frames, and with [NCOrders] and [NIOrders]
// for the orders.
package core50

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// The extents of the data set. Sessions and objects count from 1 and frames from 0, as in the names of the files.
const (
	Sessions = 11
	Objects  = 50
	Frames   = 300     // of a session and object, of which the first few may be missing
	Total    = 164_866 // frames that exist
	Tests    = 44_972  // of them in the test sessions
)

// TrainSessions and TestSessions are the official halves.
var (
	TrainSessions = []int{1, 2, 4, 5, 6, 8, 9, 11}
	TestSessions  = []int{3, 7, 10}
)

// Cell is an object in a session: a film of up to 300 frames, in a folder of its own.
type Cell struct{ Session, Object int }

// Test says whether the frames are for testing.
func (c Cell) Test() bool { return slices.Contains(TestSessions, c.Session) }

// First is the first frame that exists. From there on all exist, up to 299.
func (c Cell) First() int { return firstFrame[c.Session][c.Object] }

// Folder is the folder of the frames, with slashes: "s1/o2".
func (c Cell) Folder() string { return fmt.Sprintf("s%d/o%d", c.Session, c.Object) }

// Name is the name of a frame in its folder: "C_01_02_004.png".
func (c Cell) Name(frame int) string {
	return fmt.Sprintf("C_%02d_%02d_%03d.png", c.Session, c.Object, frame)
}

// Cells are all cells of some sessions and objects in the order of the official lists: sessions as given, and within
// each the objects in the order of their folders' names, o1, o10, o11 and so on.
func Cells(sessions, objects []int) []Cell {
	objects = slices.SortedFunc(slices.Values(objects),
		func(a, b int) int { return cmp.Compare(strconv.Itoa(a), strconv.Itoa(b)) })
	var cells []Cell
	for _, s := range sessions {
		for _, o := range objects {
			cells = append(cells, Cell{s, o})
		}
	}
	return cells
}

// All are all cells, sessions ascending.
func All() []Cell { return Cells(upTo(Sessions), upTo(Objects)) }

// upTo is 1 to n.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

// Names are the names of the objects, object 1 first: five of each of ten categories.
func Names() []string {
	var names []string
	for _, category := range []string{"plug_adapter", "mobile_phone", "scissor", "light_bulb", "can", "glass", "ball",
		"marker", "cup", "remote_control"} {
		for i := range Objects / 10 {
			names = append(names, category+strconv.Itoa(i+1))
		}
	}
	return names
}
