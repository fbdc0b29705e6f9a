package report

import (
	"fmt"
	"slices"
	"strings"
)

// claim makes a run of what another program has measured. Its method is none of the catalogue's, whatever its name:
// reports must not take the two for one.
func (r *run) claim() {
	res, f := *r.Result, r.Foreign
	mark := foreignMark + f.Program + ")"
	if res.Method.Title == "" {
		res.Method.Title = res.Method.Name
	}
	res.Method.Name += mark
	res.Method.Title += mark
	r.Result, r.seed = &res, f.Seed
	if f.Memory != nil {
		r.memory = *f.Memory
	}
}

// foreignMark is behind the name of a method, with the program.
const foreignMark = " (foreign: "

// foreignSlug is the name of a foreign method in names of files: "er-foreign-avalanche-0.4".
func foreignSlug(name string) string {
	return slugify(strings.TrimSuffix(strings.Replace(name, foreignMark, "-foreign-", 1), ")"))
}

// foreign says whether ocl has not run the row.
func (g *row) foreign() bool { return g.runs[0].Foreign != nil }

// hosts returns the settings that a foreign run may belong to. A foreign result states only the name, scenario,
// protocol and number of tasks of its stream.
func (st *study) hosts(r *run) []*setting {
	return slices.DeleteFunc(slices.Clone(st.settings), func(s *setting) bool {
		a, b := s.stream, r.Stream
		return s.first.Foreign != nil || a.Name != b.Name || a.Scenario != b.Scenario || a.Protocol != b.Protocol ||
			len(a.Tasks) != len(b.Tasks) || s.first.Stream.CommonTest != r.Stream.CommonTest
	})
}

// settingOf is the identity of the setting of a run. A foreign one joins the only setting of ours that it can be of.
func (st *study) settingOf(r *run) string {
	if r.Foreign == nil {
		return settingKey(r)
	}
	hosts := st.hosts(r)
	if len(hosts) == 1 {
		return settingKey(hosts[0].first)
	}
	if len(hosts) > 1 {
		st.warn(fmt.Sprintf("%s could be of %d streams of this report, so it is compared with none of them. Report it with the results of one stream.",
			r.folder, len(hosts)))
	}
	return settingKey(r)
}

// warn adds a warning once.
func (st *study) warn(text string) {
	if !slices.Contains(st.warnings, text) {
		st.warnings = append(st.warnings, text)
	}
}

// foreignNote names what ocl has not run; "" if there is nothing.
func (s *setting) foreignNote() string {
	var names []string
	for _, g := range s.rows {
		if !g.foreign() {
			continue
		}
		var files []string
		for _, r := range g.runs {
			if !slices.Contains(files, r.Foreign.File) {
				files = append(files, r.Foreign.File)
			}
		}
		names = append(names, fmt.Sprintf("%s (%s)", g.full(), strings.Join(files, ", ")))
	}
	if len(names) == 0 {
		return ""
	}
	return "Measured by other programs and imported: " + strings.Join(names, "; ") +
		". ocl has not run this and cannot say whether data, network and protocol are those of the other rows."
}
