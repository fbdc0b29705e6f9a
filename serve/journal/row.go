package journal

import (
	"encoding/binary"
	"hash/crc32"
)

// castagnoli is CRC-32C, which processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// row is an event as the table has it: an erased one has zeros in place of its body and its pixels.
type row struct {
	Event
	nanos int64 // Time
}

// sum is the CRC-32C over all columns of a row but the sum itself, as four bytes. Numbers and lengths come first, so
// that no byte can move from one column to the next unseen (TestDamage, TestMend). It has one length whatever its
// value, so that erasing a row does not move it.
func (r *row) sum() []byte {
	head := make([]byte, 0, 48)
	head = binary.LittleEndian.AppendUint64(head, uint64(r.Number))
	head = binary.LittleEndian.AppendUint64(head, uint64(r.nanos))
	erased := byte(0)
	if r.Erased {
		erased = 1
	}
	head = append(head, erased)
	for _, n := range []int{len(r.Kind), len(r.Who), len(r.ID), len(r.Body), len(r.Pixels)} {
		head = binary.LittleEndian.AppendUint32(head, uint32(n))
	}
	sum := crc32.Checksum(head, castagnoli)
	for _, part := range [][]byte{[]byte(r.Kind), []byte(r.Who), []byte(r.ID), r.Body, r.Pixels} {
		sum = crc32.Update(sum, castagnoli, part)
	}
	return binary.LittleEndian.AppendUint32(nil, sum)
}

// head is the one row that says which events the table has. It is written with each change of them, so that events that
// are missing at either end are noticed.
type head struct {
	first, last int64
	// moved says that rows were removed since the file was last written anew. SQLite may have moved other rows then, and
	// left bytes of them where they were (TestMovedRows).
	moved bool
}

func (h head) sum() []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(h.first))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.last))
	if h.moved {
		b = append(b, 1)
	}
	return binary.LittleEndian.AppendUint32(nil, crc32.Checksum(b, castagnoli))
}
