package study

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/result"
)

// Made has the facts that are fixed when a study is made, so that all its runs can be compared. A process that joins
// takes them over, or is refused.
type Made struct {
	Kernel, Convolution string // of the runs for which the study says nothing else
	Numbers             int
	DataDir             string            // where the data lay on the machine that made it; "" is as the file says
	Data                map[string]string // digests, by what the study says of its data
	// Registered is what other modules have registered of what its runs use.
	Registered []config.Registered
}

// IsZero says that the study was not made yet.
func (m Made) IsZero() bool { return m.Numbers == 0 }

// What begins the keys of digests and of modules. The latter go on with a key of configs and its value, such as "module
// methods er-ace".
const (
	dataPrefix   = "data "
	modulePrefix = "module "
)

// read takes what a file says. What this program lacks of other modules is an error.
func (m *Made) read(from map[string]string) error {
	if from == nil {
		return nil
	}
	m.Data = map[string]string{}
	for key, value := range from {
		switch name, isData := strings.CutPrefix(key, dataPrefix); {
		case isData:
			m.Data[name] = value
		case strings.HasPrefix(key, modulePrefix):
			at, name, _ := strings.Cut(strings.TrimPrefix(key, modulePrefix), " ")
			module, version, _ := strings.Cut(value, " ")
			m.Registered = append(m.Registered, config.Registered{Key: at, Name: name, Module: module, Version: version})
		case key == "kernel":
			m.Kernel = value
		case key == "convolution":
			m.Convolution = value
		case key == "processor": // older ones wrote that of the generic kernels, whose bits are the same on all
		case key == "data_dir":
			m.DataDir = value
		case key == "numbers":
			m.Numbers, _ = strconv.Atoi(value)
		default:
			return fmt.Errorf("study: made.%q is unknown. Another ocl made the study; use that one", key)
		}
	}
	slices.SortFunc(m.Registered, byName)
	if err := experiment.Schema().Lacks(m.Registered); err != nil {
		return fmt.Errorf("study: %w", err)
	}
	if m.Numbers < 1 || m.Kernel == "" || m.Convolution == "" {
		return errors.New("study: `made` lacks kernel, convolution or numbers. Remove it and what is below it, and give `ocl sweep` the file again")
	}
	return nil
}

// byName compares two by their keys and names.
func byName(a, b config.Registered) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Name, b.Name))
}

// use notes what a run uses of other modules.
func (m *Made) use(list []config.Registered) {
	for _, r := range list {
		if at, there := slices.BinarySearchFunc(m.Registered, r, byName); !there {
			m.Registered = slices.Insert(m.Registered, at, r)
		}
	}
}

// sameVersions refuses a program that has other versions of modules than the study was made with.
func (m Made) sameVersions(here []config.Registered) error {
	both := slices.DeleteFunc(slices.Clone(here), func(r config.Registered) bool {
		_, there := slices.BinarySearchFunc(m.Registered, r, byName)
		return !there
	})
	made := slices.DeleteFunc(slices.Clone(m.Registered), func(r config.Registered) bool {
		_, there := slices.BinarySearchFunc(both, r, byName)
		return !there
	})
	if what := config.OtherVersions(made, both); what != "" {
		return fmt.Errorf("study: %s. Use the program that made it, or make the study anew in another folder", what)
	}
	return nil
}

// encode writes the study with what was made.
func (m Made) encode(text []byte) ([]byte, error) {
	pairs := [][2]string{{"numbers", strconv.Itoa(m.Numbers)}, {"kernel", m.Kernel}, {"convolution", m.Convolution},
		{"data_dir", m.DataDir}}
	for _, name := range slices.Sorted(maps.Keys(m.Data)) {
		pairs = append(pairs, [2]string{dataPrefix + name, m.Data[name]})
	}
	for _, r := range m.Registered {
		pairs = append(pairs, [2]string{modulePrefix + r.Key + " " + r.Name, r.Module + " " + r.Version})
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
		return fmt.Errorf("study: it was made with numbers version %d, but this ocl has %d. Use the ocl that made it, or make the study anew in another folder",
			m.Numbers, result.Numbers)
	}
	return nil
}
