package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"ocl/internal/kernel"
)

func TestVersionJSONHasTheKeysOfItsPage(t *testing.T) {
	var out, errs bytes.Buffer
	if code := execute(t.Context(), []string{"version", "--json"}, &out, &errs); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	shape := regexp.MustCompile(`(?s)\n    (\{"version", .*?\})\n\n`).FindSubmatch(page)
	if shape == nil {
		t.Fatal("docs/cli.md does not show the JSON of ocl version")
	}
	var want []string
	for _, m := range regexp.MustCompile(`"(\w+)"`).FindAllSubmatch(shape[1], -1) {
		want = append(want, string(m[1]))
	}
	var keys []string
	for key, value := range got {
		keys = append(keys, key)
		if inner, is := value.(map[string]any); is {
			for key := range inner {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	slices.Sort(want)
	if !slices.Equal(keys, want) {
		t.Errorf("ocl version --json prints the keys %q, but docs/cli.md shows %q", keys, want)
	}
	v := readVersion()
	if v.Go != runtime.Version() || v.Platform != runtime.GOOS+"/"+runtime.GOARCH || v.Kernel != kernel.Active().Name || !slices.Contains(v.Kernels, v.Kernel) {
		t.Errorf("version is %+v", v)
	}
}

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
		text, err := os.ReadFile("../../docs/format/" + c.page + ".md")
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
		return &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}}
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
		{"without modules", "", nil, "unknown", false, "unknown"},
	} {
		revision, modified := origin(c.linked, c.info)
		if revision != c.revision || modified != c.modified {
			t.Errorf("%s: revision %q, modified %v, want %q, %v", c.name, revision, modified, c.revision, c.modified)
		}
		if got := (version{Revision: revision, Modified: modified}).source(); got != c.source {
			t.Errorf("%s: shown as %q, want %q", c.name, got, c.source)
		}
	}
}
