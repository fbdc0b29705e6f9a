package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ocl/config"
	"ocl/run/result"
)

// recipe has the commands that repeat a group of runs.
type recipe struct {
	What    string // "ER, memory 5,000"
	Command string
	Needs   string // what the program of the command must have, "" for ocl itself
	Config  string // the resolved config of the first run, YAML
}

// maxConfigs bounds the recipes whose config stands on the page. The others name a file with it.
const maxConfigs = 12

// experiments gives the command that repeats each experiment folder.
func (st *study) experiments() (out []recipe) {
	var parents []string
	of := map[string][]*run{} // by parent
	for _, g := range st.rows {
		for _, r := range g.runs {
			if r.folder == "" || r.Foreign != nil {
				continue
			}
			parent := filepath.Dir(filepath.Clean(r.folder))
			if of[parent] == nil {
				parents = append(parents, parent)
			}
			of[parent] = append(of[parent], r)
		}
	}
	for _, parent := range parents {
		file := filepath.Join(parent, "experiment.yaml")
		if _, err := os.Stat(file); err == nil {
			out = append(out, recipe{
				What:    "The experiment " + filepath.ToSlash(parent),
				Command: fmt.Sprintf("ocl run --config %s --out %s", quote(file), quote(again(parent, ""))),
				Needs:   needs(of[parent]),
			})
		}
	}
	return out
}

// recipes gives the command that repeats each experiment folder, or each row where there is none, with the config.
func (st *study) recipes() []recipe {
	out := st.experiments()
	for _, g := range st.rows {
		r := g.runs[0]
		if r.Foreign != nil {
			continue // ocl cannot
		}
		rec := recipe{What: g.full()}
		if len(out) < maxConfigs || r.folder == "" {
			rec.Config = configText(r.Config)
		}
		if r.folder != "" {
			rec.What += fmt.Sprintf(", seed %d alone", r.seed)
			rec.Command = fmt.Sprintf("ocl run --config %s --out %s", quote(r.file),
				quote(again(filepath.Dir(filepath.Clean(r.folder)), strings.TrimSuffix(filepath.Base(r.folder), result.Packed))))
			rec.Needs = needs([]*run{r})
		}
		out = append(out, rec)
	}
	return out
}

// needs says which program repeats runs that use something of other modules; "" is ocl itself. Results do not say what
// it is called.
func needs(runs []*run) string {
	text := registeredText(runs)
	if text == "" {
		return ""
	}
	return "Here ocl stands for a program that has the " + text + "."
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

// configText prints a config as "ocl run --config" reads it.
func configText(c config.Config) string {
	text, err := c.YAML()
	if err != nil {
		return "not recorded" // one made in memory, with a value that YAML has not
	}
	return string(text)
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
