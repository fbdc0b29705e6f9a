package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"ocl/config"
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// Reasons why a file cannot be read. The error of a missing file is fs.ErrNotExist.
var (
	// ErrNewer says that a newer ocl wrote the file: it has a higher version, or a key that this one does not know.
	ErrNewer = errors.New("written by a newer ocl")
	// ErrVersion says that the file is of another format, or of a version that was never ours.
	ErrVersion = errors.New("another format or version")
	// ErrDamaged says that no ocl writes such a file.
	ErrDamaged = errors.New("damaged")
	// ErrForeign says that ocl has not run what the file is of: `ocl report import` has read it from another program's.
	ErrForeign = errors.New("foreign")
)

// Remedy is the end of errors that wrap [ErrDamaged]: it says what to do about the file.
const Remedy = "Restore the file, or remove it and run again, which continues from the checkpoint if there is one"

// Read reads the result of a run strictly, compressed by gzip or not. The result has no unknown key, and its shapes
// and ranges fit each other, so nothing later needs to check them. Read needs bounded memory
// and never panics, whatever the file holds. The error wraps [ErrNewer], [ErrVersion], [ErrDamaged], [ErrForeign] or
// the error of the system.
func Read(path string) (*Result, error) { return readBy(path, Parse) }

// ReadAny reads a result as [Read] does, and also a foreign one, whose Result.Foreign is not nil.
func ReadAny(path string) (*Result, error) { return readBy(path, ParseAny) }

func readBy(path string, parse func(text []byte) (*Result, error)) (*Result, error) {
	f, _, err := input.Open(path, input.Want{Most: limit.Result})
	switch {
	case errors.Is(err, input.ErrSize):
		return nil, fmt.Errorf("result: %s: %w: %w. Give the result.json of a run", path, ErrDamaged, cause.Of(err))
	case err != nil:
		return nil, fmt.Errorf("result: %s: %w. Give the path of a result.json that can be read", path, cause.Of(err))
	}
	defer f.Close()
	text, err := readText(f)
	if errors.Is(err, ErrDamaged) {
		return nil, fmt.Errorf("result: %s: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("result: %s: %w. Copy the file from another disk", path, cause.Of(err))
	}
	r, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("result: %s: %w", path, err)
	}
	return r, nil
}

// Parse is [Read] for a text already in memory.
func Parse(text []byte) (*Result, error) {
	r, err := ParseAny(text)
	if err == nil && r.Foreign != nil {
		return nil, fmt.Errorf("%w: it has accuracies that the program %s measured (`ocl report import`), and ocl can only report them. Give the result of a run of ocl",
			ErrForeign, cut(r.Foreign.Program))
	}
	return r, err
}

// ParseAny is [ReadAny] for a text already in memory.
func ParseAny(text []byte) (*Result, error) {
	if len(text) > limit.Result {
		return nil, fmt.Errorf("%w: it has more than %d bytes, too many for one result. Give the result.json of a run",
			ErrDamaged, limit.Result)
	}
	// Format and version are read first: a later version may change the type of any other key.
	var top map[string]json.RawMessage
	if err := json.Unmarshal(text, &top); err != nil {
		return nil, fmt.Errorf("%w: %s. A result is one JSON object of format %q. %s", ErrDamaged, jsonFault(err, len(text)),
			Format, Remedy)
	}
	if key, twice := input.Twice(text); twice {
		return nil, fmt.Errorf("%w: the key %s is there twice. %s", ErrDamaged, cut(key), Remedy)
	}
	var format string
	var version int
	if err := json.Unmarshal(top["format"], &format); err != nil || format != Format {
		return nil, fmt.Errorf("%w: format is %s, but must be %q. Give a result.json that \"ocl run\" wrote", ErrVersion,
			shown(top["format"]), Format)
	}
	if err := json.Unmarshal(top["version"], &version); err != nil {
		return nil, fmt.Errorf("%w: version is %s, but must be %d. %s", ErrDamaged, shown(top["version"]), Version, Remedy)
	}
	program := programOf(top["provenance"])
	if version > Version {
		return nil, newer(fmt.Sprintf("it has version %d, this ocl reads %d", version, Version), program)
	}
	if version < Version {
		return nil, fmt.Errorf("%w: version is %d, but must be %d. Read it with the ocl that wrote it", ErrVersion, version,
			Version)
	}
	switch v := versionOf(top["config"]); {
	case v > config.Version:
		return nil, newer(fmt.Sprintf("its config has version %d, this ocl reads %d", v, config.Version), program)
	case v < config.Version && bytes.HasPrefix(bytes.TrimSpace(top["config"]), []byte("{")):
		return nil, fmt.Errorf("%w: its config has version %d, which ocl wrote before its first release. Make the run again",
			ErrVersion, v)
	}
	r := new(Result)
	fault := missing(top)
	if fault == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err := d.Decode(r)
		if errors.Is(err, config.ErrUnknown) {
			return nil, newer("its config has a key that this one does not know: "+oneLine(err), program)
		}
		if err != nil {
			if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
				return nil, newer("it has the key "+name, program)
			}
			fault = errors.New(jsonFault(err, len(text)))
		} else {
			fault = check(r)
		}
	}
	if fault != nil {
		return nil, fmt.Errorf("%w: %w (docs/format/result.md lists the keys). %s", ErrDamaged, fault, Remedy)
	}
	return r, nil
}

// missing names a part that every result has and this one does not.
func missing(top map[string]json.RawMessage) error {
	for _, key := range []string{"method", "provenance", "stream", "accuracy", "metrics", "seconds", "resources",
		"outcome"} {
		if v := top[key]; len(v) == 0 || string(v) == "null" {
			return fmt.Errorf("%s is missing", key)
		}
	}
	return nil
}

// newer is the error for a file of a newer program. found says how it is known; program wrote the file, "" if unknown.
func newer(found, program string) error {
	if program != "" {
		found += ", and ocl " + cut(program) + " wrote it"
	}
	return fmt.Errorf("%w (%s). Use that ocl, or a newer one", ErrNewer, found)
}

// programOf is provenance.program, "" if there is none.
func programOf(provenance json.RawMessage) string {
	var p struct {
		Program string `json:"program"`
	}
	// A newer version may have another provenance; then the program is not named.
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

// jsonFault says what is wrong with a JSON text, and where.
func jsonFault(err error, size int) string {
	var syn *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case size == 0:
		return "not a whole JSON file (it is empty)"
	case errors.As(err, &syn):
		return fmt.Sprintf("not a whole JSON file (byte %d of %d: %v)", syn.Offset, size, syn)
	case errors.As(err, &typ) && typ.Field == "":
		return fmt.Sprintf("not a JSON object (it is %s)", cut(typ.Value))
	case errors.As(err, &typ):
		return fmt.Sprintf("%s is %s, but must be %s (byte %d of %d)", cut(typ.Field), cut(typ.Value), typ.Type, typ.Offset,
			size)
	}
	return oneLine(err)
}

// oneLine is the message of an error on one line; that of a config has a line for each fault.
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

// maxShown bounds the text of a file in a message, in bytes.
const maxShown = 80

// cut quotes a text from a file, so that no control character reaches a terminal, and shortens what is long.
func cut(s string) string {
	if len(s) > maxShown {
		return fmt.Sprintf("%q…", s[:maxShown])
	}
	return fmt.Sprintf("%q", s)
}

// plain says that a key can stand in a message as it is.
func plain(key string) bool {
	return key != "" && len(key) <= maxShown && !strings.ContainsFunc(key, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+*", r))
	})
}

// Encode is the text of a result.json: indented JSON, each list of numbers on one line, with a final newline.
func Encode(r *Result) ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("result: a value is not a finite number, or cannot be written as JSON: %w", err)
	}
	return append(joinNumbers(b), '\n'), nil
}

// joinNumbers puts each indented list of numbers and nulls on one line. JSON writes no line breaks into strings, so
// that what looks like such a list is one.
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
