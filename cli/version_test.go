package cli

import (
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"testing"
)

// The pages of the formats say the versions that the program writes.
func TestVersionsOfFormatsAreThoseOfTheirPages(t *testing.T) {
	f := readVersion().Formats
	for _, c := range []struct {
		page, pattern string
		version       int
	}{
		{"config", "begin with `version: (\\d+)`", f.Config},
		{"result", "`format` is `ocl-result` and `version` is (\\d+)", f.Result},
		{"events", "`ocl-events` and `version` (\\d+)", f.Events},
		{"checkpoint", `(?m)^# Checkpoint files, version (\d+)$`, f.Checkpoint},
		{"tuning", "`format` is `ocl-tuning` and `version` is (\\d+)", f.Tuning},
	} {
		text, err := os.ReadFile("../docs/format/" + c.page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(c.pattern).FindSubmatch(text); m == nil || string(m[1]) != strconv.Itoa(c.version) {
			t.Errorf("ocl writes %s of version %d, but docs/format/%s.md says %q", c.page, c.version, c.page, m)
		}
	}
}

func TestOriginOfABuild(t *testing.T) {
	stamp := func(revision, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: "ocl"},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}}
	}
	for _, c := range []struct {
		name, linked string
		info         *debug.BuildInfo
		revision     string
		modified     bool
		source       string
	}{
		{"linked by make dist", "abc", nil, "abc", false, "abc"},
		{"linked, beside a stamp", "abc", stamp("def", "true"), "abc", false, "abc"},
		{"stamped", "", stamp("def", "false"), "def", false, "def"},
		{"stamped with changes", "", stamp("def", "true"), "def", true, "def+dirty"},
		{"without a stamp", "", &debug.BuildInfo{}, "unknown", false, "unknown"},
		{"a program of another module", "", &debug.BuildInfo{Main: debug.Module{Path: "example.com/mine"},
			Settings: stamp("def", "true").Settings,
			Deps:     []*debug.Module{{Path: "ocl", Version: "v0.2.0"}}}, "v0.2.0", false, "v0.2.0"},
		{"without modules", "", nil, "unknown", false, "unknown"},
	} {
		revision, modified := originOf(c.linked, c.info)
		if revision != c.revision || modified != c.modified {
			t.Errorf("%s: revision %q, modified %v, want %q, %v", c.name, revision, modified, c.revision, c.modified)
		}
		if got := (version{Revision: revision, Modified: modified}).source(); got != c.source {
			t.Errorf("%s: shown as %q, want %q", c.name, got, c.source)
		}
	}
}
