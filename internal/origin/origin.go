// Package origin says which module and which line a part of the program comes from that was registered at its start: a
// method, a data set, a kind of stream or a network, and in which module a panic began. It does not know what is
// registered. Start at [OfCaller].
package origin

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

// Origin says where something was registered. Module and Version are "" for this module.
type Origin struct {
	Module  string // path
	Version string
	Place   string // file:line
}

// OfCaller is the origin of the call that is skip calls above the caller of OfCaller: 1 is whoever called that
// function.
func OfCaller(skip int) Origin {
	pcs := make([]uintptr, 1)
	if runtime.Callers(skip+2, pcs) == 0 {
		return Origin{Place: "an unknown place"}
	}
	frame, _ := runtime.CallersFrames(pcs).Next()
	o := Origin{Place: fmt.Sprintf("%s:%d", frame.File, frame.Line)}
	o.Module, o.Version = moduleOf(packageOf(frame.Function), readBuild())
	return o
}

// PlaceOr returns the place of the registration. For the entries of this module it returns the file that lists them.
func (o Origin) PlaceOr(file string) string {
	if o.Place == "" {
		return file + " of this module"
	}
	return o.Place
}

// LongestName bounds a registered name, in bytes. Names of folders, tables and messages contain it.
const LongestName = 40

var name = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*$`)

// CheckName says whether something can be registered by a name. It is a word of the command line, a part of keys and of
// links. The error begins with the name.
func CheckName(text string) error {
	switch {
	case text == "":
		return errors.New("there is no name. Set Name")
	case len(text) > LongestName:
		return fmt.Errorf("the name %.50q has %d letters. Use at most %d", text, len(text), LongestName)
	case !name.MatchString(text):
		return fmt.Errorf("%q cannot be a name. Use letters, digits and single hyphens, beginning with a letter", text)
	}
	return nil
}

// own is the path of this module.
var own = strings.TrimSuffix(reflect.TypeFor[Origin]().PkgPath(), "/internal/origin")

// readBuild returns the facts in the binary about its modules; nil if there are none.
func readBuild() *debug.BuildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	return info
}

// packageOf is the import path of the package of a function as package runtime names it, such as
// "gopkg.in/yaml%2ev3.(*T).Method.func1". An external test package has the path of what it tests.
func packageOf(function string) string {
	slash := strings.LastIndex(function, "/") + 1
	last, _, _ := strings.Cut(function[slash:], ".")
	path := function[:slash] + strings.ReplaceAll(last, "%2e", ".")
	return strings.TrimSuffix(path, "_test")
}

// within says whether a package lies in a module.
func within(pkg, module string) bool {
	return module != "" && (pkg == module || strings.HasPrefix(pkg, module+"/"))
}

// moduleOf is the module of a package of a program and its version, both "" for this module. A package main is of the
// main module. Without a note of the module its path is that of the package, and its version is unknown.
func moduleOf(pkg string, build *debug.BuildInfo) (module, version string) {
	if within(pkg, own) {
		return "", ""
	}
	if build == nil {
		return pkg, unknown
	}
	if pkg == "main" || within(pkg, build.Main.Path) {
		module, version = build.Main.Path, mainVersion(build)
	}
	for _, d := range build.Deps {
		if !within(pkg, d.Path) || len(d.Path) <= len(module) {
			continue
		}
		module, version = d.Path, d.Version
		if d.Replace != nil {
			if version = d.Replace.Version; version == "" { // a folder
				version = devel
			}
		}
	}
	switch module {
	case "":
		return pkg, unknown
	case own:
		return "", ""
	}
	return module, version
}

// Revision returns the revision of this module's source by the stamp of a build, which may be nil, and whether the
// source was modified. A program of another module has the stamp of its own source, so there the revision is the
// version of this module. "" is unknown.
func Revision(build *debug.BuildInfo) (revision string, modified bool) {
	switch {
	case build == nil:
		return "", false
	case build.Main.Path != own:
		for _, d := range build.Deps {
			if d.Path == own && d.Replace == nil {
				revision = d.Version
			}
		}
		return revision, false
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	return revision, modified && revision != ""
}

// devel is the version of what was built from a folder, and unknown that of what the build says nothing of. Modified
// and dirty end those of source with changes that are not committed.
const (
	devel    = "(devel)"
	unknown  = "(unknown)"
	modified = " modified"
	dirty    = "+dirty"
)

// Exact says whether a version stands for one state of the source.
func Exact(version string) bool {
	return version != devel && version != unknown && !strings.HasSuffix(version, modified) &&
		!strings.HasSuffix(version, dirty)
}

// mainVersion is the version of the main module, with the revision of its folder where the build knows one.
func mainVersion(build *debug.BuildInfo) string {
	if v := build.Main.Version; v != "" && v != devel {
		return v
	}
	version := devel
	for _, s := range build.Settings {
		switch {
		case s.Key == "vcs.revision":
			version += " " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			version += modified
		}
	}
	return version
}
