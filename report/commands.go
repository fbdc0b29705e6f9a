package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// recipe is how to repeat a group of runs.
type recipe struct {
	What    string // "ER, memory 5,000"
	Command string
	Config  string // the resolved config of the first run, indented JSON
}

// recipes gives the command that repeats each experiment folder, or each row where there is none, with the config.
func (st *study) recipes() []recipe {
	var out []recipe
	done := map[string]bool{}
	for _, g := range st.rows {
		for _, r := range g.runs {
			if r.folder == "" {
				continue
			}
			parent := filepath.Dir(filepath.Clean(r.folder))
			if file := filepath.Join(parent, "experiment.yaml"); exists(file) && !done[parent] {
				done[parent] = true
				out = append(out, recipe{
					What:    "The experiment " + filepath.ToSlash(parent),
					Command: fmt.Sprintf("ocl run --config %s --out %s", quote(file), quote(again(parent, ""))),
				})
			}
		}
	}
	for _, g := range st.rows {
		r := g.runs[0]
		rec := recipe{What: g.Label, Config: indent(r.Config)}
		if r.folder != "" {
			rec.What += fmt.Sprintf(", seed %d alone", r.seed)
			rec.Command = fmt.Sprintf("ocl run --config %s --out %s", quote(filepath.Join(r.folder, "result.json")), quote(again(filepath.Dir(filepath.Clean(r.folder)), filepath.Base(r.folder))))
		}
		out = append(out, rec)
	}
	return out
}

// again names a folder beside an experiment's for the experiment, or one run of it, once more.
func again(experiment, run string) string {
	if experiment == "." {
		experiment = "runs"
	}
	if run != "" {
		experiment += "-" + run
	}
	return experiment + "-again"
}

// indent prints a config for people.
func indent(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Indent(&b, raw, "", "  ") != nil {
		return "not recorded"
	}
	return b.String()
}

// quote makes a path one word of a POSIX shell.
func quote(path string) string {
	path = filepath.ToSlash(path)
	if path != "" && strings.IndexFunc(path, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/+:@,", r))
	}) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
