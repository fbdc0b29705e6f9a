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

// unportable are the functions of package math whose last bits depend on the processor.
var unportable = strings.Fields("math.Acos math.Acosh math.Asin math.Asinh math.Atan math.Atan2 math.Atanh math.Cbrt math.Cos math.Cosh " +
	"math.Erf math.Erfc math.Erfinv math.Exp math.Exp2 math.Expm1 math.Gamma math.Hypot math.J0 math.J1 math.Jn math.Lgamma math.Log " +
	"math.Log10 math.Log1p math.Log2 math.Pow math.Sin math.Sincos math.Sinh math.Tan math.Tanh math.Y0 math.Y1 math.Yn")

// TestBitsOfEveryProcessor: what can move a number of a run computes elementary functions with internal/portable.
func TestBitsOfEveryProcessor(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		at := short(p.ImportPath)
		switch room, _, _ := strings.Cut(at, "/"); {
		case at == "learn/memory/memorytest": // for tests
		case room == "learn", room == "nn", room == "data", room == "rng", at == "run/tune":
			seen++
			for _, name := range p.GoFiles {
				files := token.NewFileSet()
				f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, 0)
				if err != nil {
					t.Fatal(err)
				}
				ast.Inspect(f, func(n ast.Node) bool {
					if called := nameOf(n); slices.Contains(unportable, called) {
						t.Errorf("%s uses %s, whose last bits depend on the processor. Use internal/portable",
							files.Position(n.Pos()), called)
					}
					return true
				})
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d packages were looked at", seen)
	}
}
