package journal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"ocl/internal/count"
)

// pageSize is the page size of all our files, in bytes.
const pageSize = 4096

// Sizes of SQLite's write-ahead log, in bytes (sqlite.org/fileformat2.html#walformat).
const (
	walHeader      = 32
	walFrameHeader = 24
	walMagic       = 0x377f0682 // the last bit says that sums are over big-endian numbers
	walVersion     = 3007000
)

// walFrame is a page in the log. Its sum goes on from the sum of the frame before it.
type walFrame struct {
	salt   [8]byte // that of the header; frames of an earlier use of the file have others
	commit bool    // it ends a transaction
	sum    walSum
}

// walSum is the running sum of a log.
type walSum [2]uint32

func (s walSum) add(order binary.ByteOrder, b []byte) walSum {
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
	return s
}

// scanWAL looks for a damaged frame in SQLite's write-ahead log. SQLite itself takes the first frame that is not whole
// as the end of the log, because a crash may have torn it there. If a bit changed in the middle, it would drop
// everything acknowledged after it without a word.
//
// Each transaction is on the disk before the next one begins. So a crash tears the last transaction only: a frame that
// is not whole is damage if its transaction ends, and another one goes on from its end. The text says what was found,
// and is "" for a log that is whole or torn. Damage of the very last transaction cannot be told from a torn one.
func scanWAL(r io.Reader, size int64) (found string, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	head := make([]byte, walHeader)
	if _, err := io.ReadFull(in, head); err != nil {
		return "", endOf(err)
	}
	var order binary.ByteOrder = binary.LittleEndian
	magic := binary.BigEndian.Uint32(head)
	if magic == walMagic|1 {
		order = binary.BigEndian
	}
	sum := walSum{}.add(order, head[:24])
	good := magic&^1 == walMagic && binary.BigEndian.Uint32(head[4:]) == walVersion &&
		binary.BigEndian.Uint32(head[8:]) == pageSize &&
		sum == walSum{binary.BigEndian.Uint32(head[24:]), binary.BigEndian.Uint32(head[28:])}
	last := walFrame{salt: [8]byte(head[16:24]), sum: sum}
	broken := int64(0) // the first frame that is not whole
	frames := (size - walHeader) / (walFrameHeader + pageSize)
	b := make([]byte, walFrameHeader+pageSize)
	for n := int64(1); ; n++ {
		if _, err := io.ReadFull(in, b); err != nil {
			return "", endOf(err)
		}
		f := walFrame{
			salt: [8]byte(b[8:16]), commit: binary.BigEndian.Uint32(b[4:]) != 0,
			sum: walSum{binary.BigEndian.Uint32(b[16:]), binary.BigEndian.Uint32(b[20:])},
		}
		goesOn := f.salt == last.salt && f.sum == last.sum.add(order, b[:8]).add(order, b[walFrameHeader:])
		switch {
		case !good && goesOn && n > 1: // the header is on the disk before the first frame
			return "the header of the log is not whole", nil
		case good && broken == 0 && !goesOn:
			broken = n
		case broken > 0 && n > broken && goesOn && last.commit && f.salt == [8]byte(head[16:24]):
			return fmt.Sprintf("frame %s of %s in the log is not whole, and others follow it", count.Number(broken),
				count.Number(frames)), nil
		}
		last = f
	}
}

// endOf is nil for the end of a log, which may be in the middle of a frame.
func endOf(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
