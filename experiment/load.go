package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"ocl/config"
	"ocl/experiment/result"
)

// Load reads a config file: YAML, JSON, or the result.json of a run, which gives the config of that same run with its engine.
// With an error, c is what could be read. notes are worth saying aloud: that another numbers version made the result, so that the same run may end in other figures.
func Load(path string) (c config.Config, notes []string, err error) {
	c = config.Default()
	text, err := os.ReadFile(path)
	if err != nil {
		return c, nil, fmt.Errorf("config: %w. Give the path of a YAML config or of a result.json", err)
	}
	var head struct {
		Format string `json:"format"`
	}
	if trimmed := bytes.TrimSpace(text); !bytes.HasPrefix(trimmed, []byte("{")) || json.Unmarshal(trimmed, &head) != nil || head.Format != result.Format {
		c, err = Schema().Parse(filepath.Base(path), text)
		return c, nil, err
	}
	r, err := result.Read(path)
	if err != nil {
		return c, nil, err
	}
	c = Schema().Recorded(r.Config)
	if c.Engine.Kernel == "" {
		c.Engine.Kernel = r.Provenance.Kernel
	}
	if c.Engine.Convolution == "" {
		c.Engine.Convolution = r.Provenance.Convolution
	}
	if n := r.Provenance.Numbers; n != result.Numbers {
		notes = append(notes, fmt.Sprintf("%s: made with numbers version %d; this program has %d, so its figures may differ", path, n, result.Numbers))
	}
	return c, notes, nil
}
