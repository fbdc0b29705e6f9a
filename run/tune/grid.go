package tune

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"ocl/config"
	"ocl/internal/cause"
	"ocl/internal/limit"
	"ocl/learn/method"
	"ocl/run/experiment"
)

// Names of the grids of the catalogue.
const (
	Paper   = "paper"   // the survey's table:hyper
	Authors = "authors" // the files of its authors
)

// Grid is the values to try of some keys of a config: every combination is a point.
type Grid struct {
	Name string `json:"name"` // Paper, Authors or the name of a file
	Axes []Axis `json:"axes"` // in the order of their keys
}

// Axis is the values of one key, as flags take them: "0.001".
type Axis struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// tunable are the keys that a grid may have, and beginnings of keys. The others say what is compared (data, tasks,
// memory, seeds), where, or how it is measured.
var tunable = []string{"optimizer.", "replay.", "method.", "network.width", "network.hidden", "stream.batch"}

func isTunable(key string) bool {
	return slices.ContainsFunc(tunable, func(t string) bool {
		return key == t || strings.HasSuffix(t, ".") &&
			strings.HasPrefix(key, t)
	})
}

// leftOut are values of the catalogue that the authors' files leave out on some data.
var leftOut = map[[3]string][]any{ // by method, data set and key
	{"gss", "core50", "optimizer.lr"}: {0.0001}, // gss_tune_core50.yml
}

// Named is a grid of the catalogue for the run that c describes, which has one method. A method without such a grid is
// an error.
func Named(name string, c config.Config) (Grid, error) {
	info, err := method.Lookup(c.Methods[0])
	if err != nil {
		return Grid{}, fmt.Errorf("tune: %w", err)
	}
	axes := map[string]method.Grid{Paper: info.Paper, Authors: info.Authors}
	for name, on := range map[string]map[method.Data]method.Grid{Paper: info.PaperOn, Authors: info.AuthorsOn} {
		if own, ok := on[columnOf(c)]; ok {
			axes[name] = own
		}
	}
	of, known := axes[name]
	switch {
	case !known:
		return Grid{}, fmt.Errorf("tune: there is no grid %q. Use %s, %s or the path of a file", name, Paper, Authors)
	case len(of) == 0 && name == Paper && len(info.Authors) > 0:
		return Grid{}, fmt.Errorf("tune: the survey's table has no grid for %s. Use --grid %s, or a file", info.Name, Authors)
	case len(of) == 0:
		return Grid{}, fmt.Errorf("tune: %s has no grid %s. Give a file of keys and values", info.Name, name)
	}
	g := Grid{Name: name}
	for _, a := range of {
		axis := Axis{Key: a.Key}
		for _, v := range a.Values {
			out := name == Authors && slices.Contains(leftOut[[3]string{info.Name, c.Data.Name, a.Key}], v)
			if !out {
				axis.Values = append(axis.Values, config.FormatValue(v))
			}
		}
		g.Axes = append(g.Axes, axis)
	}
	slices.SortFunc(g.Axes, func(a, b Axis) int { return strings.Compare(a.Key, b.Key) })
	return g, nil
}

// columnOf is the column of table:hyper that the data of a run belong to; "" is that of all others.
func columnOf(c config.Config) method.Data {
	switch {
	case c.Data.Name == "mini-imagenet" && c.Stream.Shift.Kind != "":
		return method.NSMiniImageNet
	case c.Data.Name == "mini-imagenet":
		return method.MiniImageNet
	case c.Data.Name == "core50" && (c.Stream.Kind == config.KindDomains || c.Stream.Kind == "" && c.Data.Domains != ""):
		return method.CORe50NI
	case c.Data.Name == "core50":
		return method.CORe50NC
	}
	return ""
}

// ParseGrid reads a grid from a YAML or JSON file, whose keys are those of a config with their dots:
//
//	optimizer.lr: [0.01, 0.1]
//	method.mir.candidates: [25, 50]
//
// Errors name the file as name. All keys that are wrong are reported at once. A grid may have options of several
// methods; [Grid.For] is the part of one.
func ParseGrid(name string, text []byte) (Grid, error) {
	const write = "Write lines such as `optimizer.lr: [0.01, 0.1]`"
	g, d := Grid{Name: name}, yaml.NewDecoder(bytes.NewReader(text))
	var keys map[string][]yaml.Node
	var more any
	err := d.Decode(&keys)
	switch {
	case len(text) > limit.Grid:
		return g, fmt.Errorf("tune: %s: the file has more than %d bytes, too many for a grid. Give a file of keys and values",
			cause.Shown(name), limit.Grid)
	case err == nil && len(keys) == 0 || errors.Is(err, io.EOF):
		return g, fmt.Errorf("tune: %s: the file has no keys. %s", cause.Shown(name), write)
	case err != nil:
		return g, fmt.Errorf("tune: %s: the file is not YAML with keys and lists of values: %.400s. %s",
			cause.Shown(name), oneLine(strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "[]yaml.Node", "a list")),
				" ")), write)
	case !errors.Is(d.Decode(&more), io.EOF):
		return g, fmt.Errorf("tune: %s: the file holds several YAML documents. Keep one of them", cause.Shown(name))
	}
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		axis, line, err := readAxis(key, keys[key])
		if err != nil {
			at := cause.Shown(name)
			if line > 0 {
				at += fmt.Sprintf(":%d", line)
			}
			faults = append(faults, fmt.Errorf("tune: %s: %w", at, err))
		}
		g.Axes = append(g.Axes, axis)
	}
	if len(faults) == 0 && g.Count() > limit.GridPoints {
		faults = append(faults, fmt.Errorf("tune: %s: the grid has more than %d points. Give fewer values", cause.Shown(name),
			limit.GridPoints))
	}
	return g, errors.Join(faults...)
}

// readAxis checks a key and its values. An error is about a line: that of the value that is wrong, or of the first
// value; 0 without values.
func readAxis(key string, values []yaml.Node) (a Axis, line int, err error) {
	a.Key = key
	if len(values) > 0 {
		line = values[0].Line
	}
	schema := experiment.Schema()
	switch names := schema.Names(); {
	case !slices.Contains(names, key):
		return a, line, fmt.Errorf("unknown key %s. %s", cause.Shown(key),
			schema.Meant(key, slices.DeleteFunc(names, func(n string) bool { return !isTunable(n) })))
	case !isTunable(key):
		return a, line, fmt.Errorf("%s cannot be tuned, because it says what is compared and not how a method learns. Remove it, and set it with a flag",
			key)
	case len(values) == 0 || len(values) > limit.GridValues:
		return a, line, fmt.Errorf("%s has %d values, but 1 to %d are possible. Write `%s: [1, 2]` with values of your own",
			key, len(values), limit.GridValues, key)
	}
	for _, n := range values {
		line = n.Line
		if n.Alias != nil {
			n = *n.Alias
		}
		if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
			return a, line, fmt.Errorf("a value of %s is not a number or a word. Write `%s: [1, 2]` with values of your own",
				key, key)
		}
		v, err := conform(schema, key, n.Value)
		if err != nil {
			return a, line, errors.New(strings.TrimPrefix(err.Error(), "config: "))
		}
		if slices.Contains(a.Values, v) {
			return a, line, fmt.Errorf("%s has the value %s twice. Remove one of them", key, cause.Shown(v))
		}
		a.Values = append(a.Values, v)
	}
	return a, 0, nil
}

// conform returns a value as a config writes it: 0.01 for 1e-2.
func conform(schema *config.Schema, key, value string) (string, error) {
	c := config.Default()
	if err := schema.Set(&c, key, value); err != nil {
		return "", err
	}
	text, _ := c.Text(key)
	return text, nil
}

// For is the part of g that a run reads: c has one method. Nothing is an error.
func (g Grid) For(c config.Config) (Grid, error) {
	of := Grid{Name: g.Name}
	for _, a := range g.Axes {
		if reads(c, a.Key) {
			of.Axes = append(of.Axes, a)
		}
	}
	if len(of.Axes) == 0 {
		return of, fmt.Errorf("tune: %s: %s reads none of the keys of this grid. Give a grid with optimizer.lr, for example",
			cause.Shown(g.Name), c.Methods[0])
	}
	return of, nil
}

// reads says whether the run of c reads a key.
func reads(c config.Config, key string) bool {
	schema := experiment.Schema()
	tricks, _ := schema.ParseTricks(c.Tricks[0]) // which are valid
	if strings.HasPrefix(key, "method.") {
		return slices.ContainsFunc(append([]string{c.Methods[0]}, tricks...),
			func(of string) bool { return strings.HasPrefix(key, "method."+of+".") })
	}
	if !schema.ReadsNetwork(c.Network.Name, key) {
		return false
	}
	return schema.Reads(c.Methods[0], tricks, key)
}

// CheckRead is an error if none of some runs reads a key of g.
func (g Grid) CheckRead(runs []config.Config) error {
	var faults []error
	for _, a := range g.Axes {
		if !slices.ContainsFunc(runs, func(c config.Config) bool { return reads(c, a.Key) }) {
			faults = append(faults, fmt.Errorf("tune: %s: none of the methods reads %s. Remove it from the grid",
				cause.Shown(g.Name), a.Key))
		}
	}
	return errors.Join(faults...)
}

// Count is the number of points, at most math.MaxInt32.
func (g Grid) Count() int {
	n := 1
	for _, a := range g.Axes {
		if n *= len(a.Values); n > math.MaxInt32 {
			return math.MaxInt32
		}
	}
	return n
}

// Points lists the values of every point, by axis. The last key changes fastest, as in the authors' code.
func (g Grid) Points() [][]string {
	points := [][]string{nil}
	for _, a := range g.Axes {
		var longer [][]string
		for _, p := range points {
			for _, v := range a.Values {
				longer = append(longer, append(slices.Clone(p), v))
			}
		}
		points = longer
	}
	return points
}

// first is the values of the first point.
func (g Grid) first() []string {
	var values []string
	for _, a := range g.Axes {
		values = append(values, a.Values[0])
	}
	return values
}

// Digest is a hash of keys and values, "sha256:…". The name is no part of it.
func (g Grid) Digest() string {
	h := sha256.New()
	fmt.Fprintln(h, "ocl-grid 1")
	for _, a := range g.Axes {
		fmt.Fprintf(h, "%s\n", a.Key)
		for _, v := range a.Values {
			fmt.Fprintf(h, "\t%q\n", v)
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// set puts the values of a point into a config.
func (g Grid) set(c *config.Config, values []string) error {
	schema := experiment.Schema()
	for i, a := range g.Axes {
		if err := schema.Set(c, a.Key, values[i]); err != nil {
			return fmt.Errorf("tune: %s: %w", cause.Shown(g.Name), err)
		}
	}
	return nil
}
