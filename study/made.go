package study

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ocl/experiment/result"
)

// Made is what is fixed when a study is made, so that all its runs can be compared. Who joins takes it over or is refused.
type Made struct {
	Kernel, Convolution string // of the runs for which the study says nothing else
	Numbers             int
	Processor           string            // GOARCH, of the generic kernels alone
	DataDir             string            // where the data lay on the machine that made it; "" is as the file says
	Data                map[string]string // digests, by what the study says of its data
}

// IsZero says that the study was not made yet.
func (m Made) IsZero() bool { return m.Numbers == 0 }

// dataPrefix begins the keys of digests.
const dataPrefix = "data "

// read takes what a file says.
func (m *Made) read(from map[string]string) error {
	if from == nil {
		return nil
	}
	m.Data = map[string]string{}
	for key, value := range from {
		switch name, isData := strings.CutPrefix(key, dataPrefix); {
		case isData:
			m.Data[name] = value
		case key == "kernel":
			m.Kernel = value
		case key == "convolution":
			m.Convolution = value
		case key == "processor":
			m.Processor = value
		case key == "data_dir":
			m.DataDir = value
		case key == "numbers":
			m.Numbers, _ = strconv.Atoi(value)
		default:
			return fmt.Errorf("study: made.%q is unknown. Another ocl made the study; use that one", key)
		}
	}
	if m.Numbers < 1 || m.Kernel == "" || m.Convolution == "" {
		return errors.New("study: `made` lacks kernel, convolution or numbers. Remove it and what is below it, and give `ocl sweep` the file again")
	}
	return nil
}

// encode writes the study with what was made.
func (m Made) encode(text []byte) ([]byte, error) {
	pairs := [][2]string{{"numbers", strconv.Itoa(m.Numbers)}, {"kernel", m.Kernel}, {"convolution", m.Convolution}, {"processor", m.Processor}, {"data_dir", m.DataDir}}
	for _, name := range slices.Sorted(maps.Keys(m.Data)) {
		pairs = append(pairs, [2]string{dataPrefix + name, m.Data[name]})
	}
	b := bytes.NewBuffer(slices.Clone(text))
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		b.WriteByte('\n')
	}
	b.WriteString("# ocl wrote the lines below when the study was made.\nmade:\n")
	for _, p := range pairs {
		if p[1] == "" {
			continue
		}
		line, err := yaml.Marshal(map[string]string{p[0]: p[1]})
		if err != nil {
			return nil, fmt.Errorf("study: the study cannot be written: %w", err)
		}
		fmt.Fprintf(b, "  %s\n", bytes.ReplaceAll(bytes.TrimSpace(line), []byte("\n"), []byte("\n  ")))
	}
	return b.Bytes(), nil
}

// check refuses a program or a machine whose runs could not be compared with those of the study.
func (m Made) check() error {
	switch {
	case m.IsZero():
		return nil // not made yet
	case m.Numbers != result.Numbers:
		return fmt.Errorf("study: it was made with numbers version %d, but this ocl has %d. Use the ocl that made it, or make the study anew in another folder", m.Numbers, result.Numbers)
	case m.Processor != "" && m.Processor != runtime.GOARCH:
		return fmt.Errorf("study: it was made with the generic kernels on %s, but this machine is %s. Use a machine like the first", m.Processor, runtime.GOARCH)
	}
	return nil
}
