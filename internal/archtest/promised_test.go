package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "TestPromisedNames writes the lists of exported names")

// promised are the packages of the table in docs/stability.md.
func promised(t *testing.T) (paths []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "stability.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| package | for |\n")
	for line := range strings.Lines(table) {
		name, is := strings.CutPrefix(line, "| `")
		if !is && len(paths) > 0 {
			break
		}
		if name, _, is = strings.Cut(name, "`"); is {
			paths = append(paths, name)
		}
	}
	if !found || len(paths) == 0 {
		t.Fatal("docs/stability.md has no table of packages")
	}
	return paths
}

// typesOf are the packages with so many paths, as the compiler has written down their types.
func typesOf(t *testing.T, paths []string) []*types.Package {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: the compiler has to write down the types of all packages")
	}
	cmd := exec.Command("go", append([]string{"list", "-deps", "-export", "-json=ImportPath,Export"}, paths...)...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		files[p.ImportPath] = p.Export
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }) //nolint:forbidigo // a file of the compiler
	var all []*types.Package
	for _, path := range paths {
		p, err := from.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// exported is a thing that a program outside can name, with its line in a list.
type exported struct {
	line string
	is   types.Type
}

// exportsOf are the exported constants, variables, functions and types of a package, and the exported fields and
// methods of its types.
func exportsOf(p *types.Package) (all []exported) {
	add := func(is types.Type, format string, a ...any) {
		all = append(all, exported{fmt.Sprintf(format, a...), is})
	}
	text := func(t types.Type) string { return types.TypeString(t, types.RelativeTo(p)) }
	for _, name := range p.Scope().Names() {
		switch o := p.Scope().Lookup(name).(type) {
		case *types.Const:
			if o.Exported() {
				add(o.Type(), "const %s %s = %s", name, text(o.Type()), o.Val().ExactString())
			}
		case *types.Var:
			if o.Exported() {
				add(o.Type(), "var %s %s", name, text(o.Type()))
			}
		case *types.Func:
			if o.Exported() {
				add(o.Type(), "func %s%s", name, strings.TrimPrefix(text(o.Type()), "func"))
			}
		case *types.TypeName:
			if !o.Exported() {
				continue
			}
			named, isNamed := o.Type().(*types.Named)
			if o.IsAlias() || !isNamed {
				add(nil, "type %s = %s", name, text(types.Unalias(o.Type())))
				continue
			}
			kind := "struct"
			switch u := named.Underlying().(type) {
			case *types.Struct:
				for f := range u.Fields() {
					if f.Exported() {
						add(f.Type(), "field %s.%s %s", name, f.Name(), text(f.Type()))
					}
				}
			case *types.Interface:
				kind = "interface"
				for m := range u.Methods() {
					// Programs outside implement it: a method that is not exported matters to them too.
					add(m.Type(), "method %s.%s%s", name, m.Name(), strings.TrimPrefix(text(m.Type()), "func"))
				}
			default:
				kind = text(u)
				add(u, "type %s %s", name, kind)
				kind = ""
			}
			if kind != "" {
				add(nil, "type %s%s %s", name, parameters(named, text), kind)
			}
			for m := range named.Methods() {
				if m.Exported() {
					receiver := ""
					if _, pointer := m.Signature().Recv().Type().(*types.Pointer); pointer {
						receiver = "*"
					}
					add(m.Type(), "method %s%s.%s%s", receiver, name, m.Name(), strings.TrimPrefix(text(m.Type()), "func"))
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b exported) int { return strings.Compare(a.line, b.line) })
	return all
}

func parameters(n *types.Named, text func(types.Type) string) string {
	var words []string
	for p := range n.TypeParams().TypeParams() {
		words = append(words, p.Obj().Name()+" "+text(p.Constraint()))
	}
	if words == nil {
		return ""
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// TestPromisedNames compares the exported names of the packages that docs/stability.md promises, and their types, with
// testdata/api.
func TestPromisedNames(t *testing.T) {
	paths := promised(t)
	var names []string
	for _, p := range typesOf(t, paths) {
		var b strings.Builder
		for _, e := range exportsOf(p) {
			b.WriteString(e.line + "\n")
		}
		name := strings.ReplaceAll(p.Path(), "/", "_") + ".txt"
		names = append(names, name)
		file := filepath.Join("testdata", "api", name)
		if *update {
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
				os.WriteFile(file, []byte(b.String()), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		old, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		before, now := strings.Split(string(old), "\n"), strings.Split(b.String(), "\n")
		for _, line := range before {
			if !slices.Contains(now, line) {
				t.Errorf("package %s lost: %s", p.Path(), line)
			}
		}
		for _, line := range now {
			if !slices.Contains(before, line) {
				t.Errorf("package %s has something new: %s", p.Path(), line)
			}
		}
	}
	if t.Failed() {
		t.Log("If that is meant, write the lists with `go test ./internal/archtest -run PromisedNames -update`, and tell of a loss in CHANGELOG.md")
	}
	files, err := filepath.Glob(filepath.Join("testdata", "api", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !slices.Contains(names, filepath.Base(file)) {
			t.Errorf("%s is the list of a package that docs/stability.md does not promise. Remove it", file)
		}
	}
}

// TestNothingInternalIsNeeded: who uses a promised package can name every type that it asks for or returns.
func TestNothingInternalIsNeeded(t *testing.T) {
	for _, p := range typesOf(t, promised(t)) {
		for _, e := range exportsOf(p) {
			if hidden := internalIn(e.is, map[types.Type]bool{}); hidden != "" {
				t.Errorf("package %s: %s needs %s, which no program outside can name", p.Path(), e.line, hidden)
			}
		}
	}
}

// internalIn is a type of an internal package, or one that is not exported, in the words of a type; "" is none.
func internalIn(t types.Type, seen map[types.Type]bool) string {
	if t == nil || seen[t] {
		return ""
	}
	seen[t] = true
	first := func(list ...types.Type) string {
		for _, one := range list {
			if hidden := internalIn(one, seen); hidden != "" {
				return hidden
			}
		}
		return ""
	}
	tuple := func(t *types.Tuple) string {
		for v := range t.Variables() {
			if hidden := internalIn(v.Type(), seen); hidden != "" {
				return hidden
			}
		}
		return ""
	}
	switch t := t.(type) {
	case *types.Named:
		path := ""
		if t.Obj().Pkg() != nil {
			path = t.Obj().Pkg().Path()
		}
		if strings.HasPrefix(path, module) && slices.Contains(strings.Split(path, "/"), "internal") || path != "" &&
			!t.Obj().Exported() {
			return t.String()
		}
		return first(slices.Collect(t.TypeArgs().Types())...)
	case *types.Pointer:
		return first(t.Elem())
	case *types.Slice:
		return first(t.Elem())
	case *types.Array:
		return first(t.Elem())
	case *types.Chan:
		return first(t.Elem())
	case *types.Map:
		return first(t.Key(), t.Elem())
	case *types.Signature:
		if hidden := tuple(t.Params()); hidden != "" {
			return hidden
		}
		return tuple(t.Results())
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				if hidden := internalIn(f.Type(), seen); hidden != "" {
					return hidden
				}
			}
		}
	}
	return ""
}
