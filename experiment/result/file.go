package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"ocl/config"
)

// What a file that cannot be read is. A missing one is fs.ErrNotExist.
var (
	// ErrNewer says that a newer ocl wrote the file: it has a higher version, or a key that this one does not know.
	ErrNewer = errors.New("written by a newer ocl")
	// ErrVersion says that the file is of another format, or of a version that was never ours.
	ErrVersion = errors.New("another format or version")
	// ErrDamaged says that the file is not as any ocl writes it.
	ErrDamaged = errors.New("damaged")
)

// maxBytes bounds what is read of one file: a run of 1,000 tasks and 1,000 classes without error analysis stays below 32 MB.
const maxBytes = 64 << 20

// remedy is what to do about a damaged file.
const remedy = "restore the file, or remove it and run again, which goes on from the checkpoint if one was kept"

// Read reads a result.json, also one that gzip compressed, strictly: what it returns has only known keys, all that are not optional, and shapes and ranges
// that fit each other, so that nothing later needs to check them. It needs bounded memory and never panics, whatever the
// file holds. The error wraps [ErrNewer], [ErrVersion], [ErrDamaged], or what the system said.
func Read(path string) (*Result, error) {
	// A pipe would be waited for, and a folder is told apart from a file that the disk cannot read.
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("result: %s: %w; want a readable file; check the path", path, cause(err))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("result: %s: it is no file (%s); want a result.json; check the path", path, info.Mode())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("result: %s: %w; want a readable file; check who may read it", path, cause(err))
	}
	defer f.Close()
	text, err := readText(f)
	if errors.Is(err, ErrDamaged) {
		return nil, fmt.Errorf("result: %s: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("result: %s: %w; want a readable file; copy it to another disk", path, cause(err))
	}
	r, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("result: %s: %w", path, err)
	}
	return r, nil
}

// cause is what the system said, without the path, which the message has already.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Parse is [Read] for a text already in memory.
func Parse(text []byte) (*Result, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("%w: it has more than %d bytes; want one result of a run; give the result.json of a run", ErrDamaged, maxBytes)
	}
	// The head is read alone first: a later version may change the type of any other key.
	var top map[string]json.RawMessage
	if err := json.Unmarshal(text, &top); err != nil {
		return nil, fmt.Errorf("%w: %s; want one JSON object of format %q; %s", ErrDamaged, jsonFault(err, len(text)), Format, remedy)
	}
	var format string
	var version int
	if err := json.Unmarshal(top["format"], &format); err != nil || format != Format {
		return nil, fmt.Errorf("%w: format is %s; want %q; give a result.json that \"ocl run\" wrote", ErrVersion, shown(top["format"]), Format)
	}
	if err := json.Unmarshal(top["version"], &version); err != nil {
		return nil, fmt.Errorf("%w: version is %s; want a whole number, %d; %s", ErrDamaged, shown(top["version"]), Version, remedy)
	}
	program := programOf(top["provenance"])
	if version > Version {
		return nil, newer(fmt.Sprintf("it has version %d, this ocl reads %d", version, Version), program)
	}
	if version < Version {
		return nil, fmt.Errorf("%w: version is %d; want %d; read it with the ocl that wrote it", ErrVersion, version, Version)
	}
	if v := versionOf(top["config"]); v > config.Version {
		return nil, newer(fmt.Sprintf("its config has version %d, this ocl reads %d", v, config.Version), program)
	}
	unknown, fault := compare(text, maxValues)
	if unknown != "" {
		return nil, newer("it has the key "+quoted(unknown), program)
	}
	r := new(Result)
	if fault == nil {
		err := json.Unmarshal(text, r)
		if errors.Is(err, config.ErrUnknown) {
			return nil, newer("its config has a key that this one does not know; "+oneLine(err), program)
		}
		if err != nil {
			fault = errors.New(jsonFault(err, len(text)))
		} else {
			fault = check(r)
		}
	}
	if fault != nil {
		return nil, fmt.Errorf("%w: %w; docs/format/result.md lists the keys; %s", ErrDamaged, fault, remedy)
	}
	return r, nil
}

// newer says that a file is from a newer program; found is what shows it, program who wrote it, "" if the file does not say.
func newer(found, program string) error {
	if program != "" {
		found += ", and ocl " + cut(program) + " wrote it"
	}
	return fmt.Errorf("%w (%s); read it with that one, or install a newer ocl", ErrNewer, found)
}

// quoted sets a path in quotes unless it holds some already.
func quoted(path string) string {
	if strings.Contains(path, `"`) {
		return path
	}
	return `"` + path + `"`
}

// programOf is provenance.program, "" if there is none.
func programOf(provenance json.RawMessage) string {
	var p struct {
		Program string `json:"program"`
	}
	// A newer version may have another provenance; then the writer stays unnamed.
	_ = json.Unmarshal(provenance, &p)
	return p.Program
}

// versionOf is the version of a config, 0 if there is none.
func versionOf(raw json.RawMessage) int {
	var c struct {
		Version int `json:"version"`
	}
	_ = json.Unmarshal(raw, &c)
	return c.Version
}

// jsonFault says what encoding/json found, and where.
func jsonFault(err error, size int) string {
	var syn *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case size == 0:
		return "not a whole JSON file (it is empty)"
	case errors.As(err, &syn):
		return fmt.Sprintf("not a whole JSON file (byte %d of %d: %v)", syn.Offset, size, syn)
	case errors.As(err, &typ):
		return fmt.Sprintf("not a JSON object (it is %s)", cut(typ.Value))
	}
	return oneLine(err)
}

// oneLine is an error's message on one line; a config tells each of its faults on a line of its own.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// shown is a JSON value of a file as a message may show it.
func shown(raw json.RawMessage) string {
	if raw == nil {
		return "missing"
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return cut(s)
	}
	return cut(string(raw))
}

// maxShown is how much of a file's text a message shows.
const maxShown = 80

// cut quotes a text from a file, so that no control character reaches a terminal, and shortens what is long.
func cut(s string) string {
	if len(s) > maxShown {
		return fmt.Sprintf("%q…", s[:maxShown])
	}
	return fmt.Sprintf("%q", s)
}

// Encode is the text of a result.json: indented JSON, each list of numbers on one line, with a final newline.
func Encode(r *Result) ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("result: a value is not a finite number or does not marshal: %w", err)
	}
	return append(joinNumbers(b), '\n'), nil
}

// joinNumbers puts each indented list of numbers and nulls on one line. JSON writes no line breaks into strings, so that
// what looks like such a list is one.
func joinNumbers(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for {
		before, rest, found := bytes.Cut(text, []byte("[\n"))
		out = append(out, before...)
		if !found {
			return out
		}
		out = append(out, '[')
		end := bytes.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("-+0123456789.eEnul, \n", r) })
		if end < 0 || rest[end] != ']' {
			out, text = append(out, '\n'), rest
			continue
		}
		out = append(out, bytes.Join(bytes.Fields(rest[:end]), []byte{' '})...)
		text = rest[end:]
	}
}
