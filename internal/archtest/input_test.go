package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// doors are the functions that open what a path names, be it a pipe, a link or a file of any size.
var doors = strings.Fields("os.Open os.OpenFile os.ReadFile os.ReadDir os.DirFS os.CopyFS os.Create os.WriteFile filepath.Walk filepath.WalkDir filepath.Glob " +
	"zip.OpenReader ioutil.ReadFile ioutil.ReadDir")

// mayOpen are packages and files that open without internal/input, each with its reason.
var mayOpen = map[string]string{
	"internal/input":           "it is the door",
	"internal/atomicfile":      "it syncs a folder that is there",
	"internal/faulttest":       "a helper of tests",
	"internal/browsertest":     "a helper of tests",
	"sweep/studytest":          "a helper of tests",
	"run/train/machine.go":     "/proc is of the system, and its files have no size",
	"internal/processor":       "/proc is of the system, and its files have no size",
	"examples/predict/main.go": "it lists a folder as a program outside this module would",
	"examples/camera/main.go":  "it lists folders as a program outside this module would",
}

// TestFilesAreOpenedByInput: what comes from outside is opened by internal/input, which opens regular files of a stated
// size and never waits. Making a file that must not be there yet (os.O_EXCL) opens nothing of others.
func TestFilesAreOpenedByInput(t *testing.T) {
	used := map[string]bool{}
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			file := short(p.ImportPath) + "/" + name
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if call, is := n.(*ast.CallExpr); is && nameOf(call.Fun) == "os.OpenFile" && mentions(call, "os.O_EXCL") {
					return false
				}
				called := nameOf(n)
				if !slices.Contains(doors, called) {
					return true
				}
				for _, place := range []string{file, short(p.ImportPath)} {
					if mayOpen[place] != "" {
						used[place] = true
						return true
					}
				}
				t.Errorf("%s uses %s. Use internal/input, which opens regular files of a stated size only", files.Position(n.Pos()),
					called)
				return true
			})
		}
	}
	for place := range mayOpen {
		if !used[place] {
			t.Errorf("%s opens nothing; remove the exception", place)
		}
	}
}

// nameOf is a function of a package as it is written, such as os.Open; "" for everything else.
func nameOf(n ast.Node) string {
	if s, is := n.(*ast.SelectorExpr); is {
		if x, is := s.X.(*ast.Ident); is {
			return x.Name + "." + s.Sel.Name
		}
	}
	return ""
}

func mentions(in ast.Node, name string) (found bool) {
	ast.Inspect(in, func(n ast.Node) bool {
		found = found || nameOf(n) == name
		return !found
	})
	return found
}

// TestLimitsAreUsed: docs/limits.md, which is made of internal/limit, has no limit that nothing keeps.
func TestLimitsAreUsed(t *testing.T) {
	defined, used := map[string]bool{}, map[string]bool{}
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if limit, is := strings.CutPrefix(nameOf(n), "limit."); is {
					used[limit] = true
				}
				if spec, is := n.(*ast.ValueSpec); is && short(p.ImportPath) == "internal/limit" {
					defined[spec.Names[0].Name] = true
				}
				return true
			})
		}
	}
	if len(defined) == 0 {
		t.Error("internal/limit has no limits")
	}
	for limit := range defined {
		if !used[limit] {
			t.Errorf("nothing uses limit.%s. Remove it", limit)
		}
	}
}
