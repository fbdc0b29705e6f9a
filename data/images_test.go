package data

// pixelsOf are the pixels of a split in memory.
func pixelsOf(s Split) []uint8 { return s.Images.(Block).Pixels }

// imageOf is an image of a split in memory.
func imageOf(s Split, i int) []uint8 { return s.Images.(Block).at(i) }
