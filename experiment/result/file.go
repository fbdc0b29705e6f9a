package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
)

// ErrVersion says that a result file was written in a format or version that this program does not read.
var ErrVersion = errors.New("another format or version")

// Read reads a result.json. A file of another format or version wraps [ErrVersion], a missing one fs.ErrNotExist; keys
// that the schema does not know are errors, so that a misspelt or newer file is not half read.
func Read(path string) (*Result, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	r, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("result: %s: %w", path, err)
	}
	return r, nil
}

// remedy is what to do about a damaged file.
const remedy = "restore the file, or remove it and run again, which goes on from the checkpoint if one was kept"

// Parse is [Read] for a text already in memory.
func Parse(text []byte) (*Result, error) {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("not a whole JSON file (%w); want a result.json; "+remedy, err)
	}
	if head.Format != Format || head.Version != Version {
		return nil, fmt.Errorf("format %q version %d; want %q version %d; read it with the program that wrote it: %w",
			head.Format, head.Version, Format, Version, ErrVersion)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	r := new(Result)
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%w; want the keys of docs/format/result.md; "+remedy, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more text after the result; want one JSON object; " + remedy)
	}
	return r, nil
}

// numbers matches an indented JSON array of numbers and nulls. No string matches: JSON writes no line breaks into one.
var numbers = regexp.MustCompile(`\[\n[-+0-9.eEnul,\s]*\]`)

// Encode is the text of a result.json: indented JSON, each list of numbers on one line, with a final newline.
func Encode(r *Result) ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("result: a value is not a finite number or does not marshal: %w", err)
	}
	b = numbers.ReplaceAllFunc(b, func(list []byte) []byte {
		return append(append([]byte{'['}, bytes.Join(bytes.Fields(list[1:len(list)-1]), []byte{' '})...), ']')
	})
	return append(b, '\n'), nil
}
