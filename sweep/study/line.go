package study

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
)

// checkedLine is a JSON object on one line, whose first key is the checksum of the others.
func checkedLine(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "{\"crc\":\"%08x\",%s\n", crc32.ChecksumIEEE(text), text[1:]), nil
}

// parseLine reads a line of checkedLine; it is false for a damaged one.
func parseLine(line []byte, v any) bool {
	const head, width = `{"crc":"`, 8
	rest, ok := bytes.CutPrefix(line, []byte(head))
	if !ok || len(rest) < width+3 || string(rest[width:width+2]) != `",` {
		return false
	}
	text := append([]byte("{"), rest[width+2:]...)
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) == string(rest[:width]) && json.Unmarshal(text, v) == nil
}
