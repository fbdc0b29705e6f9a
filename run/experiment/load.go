package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"ocl/config"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/result"
)

// Load reads a config file: YAML, JSON, or the result.json of a run, compressed by gzip or not, which gives the config
// of that same run with its engine. With an error, c is what could be read. from are the lines of a config file, for
// the faults that [config.Schema.ValidateAt] finds. notes are for the person: that another numbers version made the
// result, so that the same run may end in other numbers.
func Load(path string) (c config.Config, from config.Places, notes []string, err error) {
	c = config.Default()
	text, err := readSome(path)
	if errors.Is(err, result.ErrDamaged) {
		return c, from, nil, fmt.Errorf("config: %s: %w", path, err)
	}
	if err != nil {
		return c, from, nil, fmt.Errorf("config: %w. Give the path of a config file or of a result.json", err)
	}
	if !isResult(bytes.TrimSpace(text)) {
		c, from, err = Schema().ParseAt(filepath.Base(path), text)
		return c, from, nil, err
	}
	r, err := result.Parse(text)
	if err != nil {
		return c, from, nil, fmt.Errorf("result: %s: %w", path, err)
	}
	c = recordedOf(r)
	if n := r.Provenance.Numbers; n != result.Numbers {
		notes = append(notes, fmt.Sprintf("%s was made with numbers version %d, but this ocl has %d. The numbers of the run may differ",
			path, n, result.Numbers))
	}
	return c, from, notes, nil
}

// isResult tells whether a text is a result, also one that is cut or damaged, and not a config in JSON.
func isResult(text []byte) bool {
	if !bytes.HasPrefix(text, []byte("{")) {
		return false
	}
	var head struct {
		Format string `json:"format"`
	}
	if json.Unmarshal(text, &head) != nil {
		return bytes.Contains(text[:min(len(text), 1<<12)], []byte(`"`+result.Format+`"`))
	}
	return head.Format == result.Format
}

// readSome reads at most as much of a file as a config or a result can have. The parsers refuse longer files, and a
// disk image is not read into memory first.
func readSome(path string) ([]byte, error) {
	f, _, err := input.Open(path, input.Want{Most: limit.Result})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unpacked, err := result.Unpack(f)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(unpacked, limit.Config+1))
	if err != nil || len(text) <= limit.Config || !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return text, err
	}
	more, err := io.ReadAll(io.LimitReader(unpacked, limit.Result+1-int64(len(text))))
	return append(text, more...), err
}
