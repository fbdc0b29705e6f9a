package origin

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestPackageOf(t *testing.T) {
	for function, want := range map[string]string{
		"main.init.0":                            "main",
		"ocl/learn/method.Register":              "ocl/learn/method",
		"ocl_test.TestX.func1":                   "ocl",
		"example.com/a/b_test.(*T).Do":           "example.com/a/b",
		"gopkg.in/yaml%2ev3.(*Node).Decode":      "gopkg.in/yaml.v3",
		"example.com/a/v2.init":                  "example.com/a/v2",
		"example.com/a.F[go.shape.int].func1":    "example.com/a",
		"github.com/x/y/internal/z%2ez.glob..f1": "github.com/x/y/internal/z.z",
	} {
		if got := packageOf(function); got != want {
			t.Errorf("%s: %s, want %s", function, got, want)
		}
	}
}

func TestModuleOf(t *testing.T) {
	build := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{
			Main: debug.Module{Path: "example.com/program", Version: version}, Settings: settings,
			Deps: []*debug.Module{
				{Path: "example.com/a", Version: "v1.2.3"},
				{Path: "example.com/a/nested", Version: "v0.1.0"},
				{Path: "example.com/folder", Version: "v0.0.0", Replace: &debug.Module{Path: "../folder"}},
				{Path: "example.com/fork", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/other", Version: "v1.0.1"}},
				{Path: own, Version: "v0.2.0"},
			},
		}
	}
	revision := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "1a2b3c"},
		{Key: "vcs.modified", Value: "true"}}
	for _, c := range []struct {
		pkg             string
		build           *debug.BuildInfo
		module, version string
	}{
		{own + "/method", build("v1.0.0"), "", ""},
		{own, nil, "", ""},
		{"oclish", build("v1.0.0"), "oclish", "(unknown)"},
		{"main", build("v1.0.0"), "example.com/program", "v1.0.0"},
		{"example.com/program/er", build(devel), "example.com/program", devel},
		{"example.com/program/er", build("", revision...), "example.com/program", devel + " 1a2b3c modified"},
		{"example.com/program", build("v0.0.0-2026-1a2b3c+dirty", revision...), "example.com/program",
			"v0.0.0-2026-1a2b3c+dirty"},
		{"example.com/a/er", build("v1.0.0"), "example.com/a", "v1.2.3"},
		{"example.com/a/nested/er", build("v1.0.0"), "example.com/a/nested", "v0.1.0"},
		{"example.com/ab", build("v1.0.0"), "example.com/ab", "(unknown)"},
		{"example.com/folder", build("v1.0.0"), "example.com/folder", devel},
		{"example.com/fork/er", build("v1.0.0"), "example.com/fork", "v1.0.1"},
		{"example.com/a/er", nil, "example.com/a/er", "(unknown)"},
	} {
		if module, version := moduleOf(c.pkg, c.build); module != c.module || version != c.version {
			t.Errorf("%s: %q %q, want %q %q", c.pkg, module, version, c.module, c.version)
		}
	}
	main := &debug.BuildInfo{Main: debug.Module{Path: own, Version: devel}}
	if module, version := moduleOf("main", main); module != "" || version != "" {
		t.Errorf("a command of this module: %q %q", module, version)
	}
}

// TestExact: versions that stand for one state of the source.
func TestExact(t *testing.T) {
	for version, want := range map[string]bool{
		"v1.2.3": true, devel + " 1a2b3c": true, "v0.0.0-20260101000000-1a2b3c4d5e6f": true,
		devel: false, unknown: false, devel + " 1a2b3c modified": false, "v0.0.0-20260101000000-1a2b3c4d5e6f+dirty": false,
	} {
		if got := Exact(version); got != want {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
	}
}

// register stands for a function such as method.Register.
func register() Origin { return OfCaller(1) }

func TestOfCaller(t *testing.T) {
	if o := register(); o.Module != "" || o.Version != "" || !strings.Contains(o.Place, "origin_test.go:") {
		t.Errorf("a call of this test is from %+v", o)
	}
}
