package experiment

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/config"
	"ocl/data"
	"ocl/experiment/build"
	"ocl/nn"
)

// TestChoicesAreThoseThatThereAre: package config, which is a leaf, names the networks and engines once more. A new
// one, or one that is gone, is told here.
func TestChoicesAreThoseThatThereAre(t *testing.T) {
	glyphs, err := data.Lookup("glyphs")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{
		"data.domains": glyphs.Domains, "network.name": architectures(t), "engine.kernel": nn.AllKernels(), "engine.convolution": nn.Convolutions(),
	}
	for _, k := range config.Keys() {
		if names, ok := known[k.Name]; ok {
			want, got := slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(k.Choices))
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: the choices in config/keys.go are others than there are:\n%s", k.Name, d)
			}
			delete(known, k.Name)
		}
	}
	if len(known) > 0 {
		t.Errorf("there are no keys %v", known)
	}
	if names := architectures(t); !slices.Contains(names, build.ResNet18) || !slices.Contains(names, build.MLP) {
		t.Errorf("schema.go names other networks than %v", names)
	}
}

// architectures are the names of the functions of nn/arch that make a network, in small letters.
func architectures(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../nn/arch/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var names []string
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.Results == nil || strings.HasSuffix(path, "_test.go") {
				continue
			}
			pointer, ok := f.Type.Results.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue
			}
			if of, ok := pointer.X.(*ast.SelectorExpr); ok && of.Sel.Name == "Network" {
				names = append(names, strings.ToLower(f.Name.Name))
			}
		}
	}
	return names
}
