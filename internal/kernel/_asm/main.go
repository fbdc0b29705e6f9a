// Command _asm generates the vector code of package kernel with avo. It is a module of its own, so that the engine does
// not depend on avo. Run it through go generate in the folder above:
//
//	go run . -kernels conv -out ../conv_amd64.s -stubs ../conv_stub_amd64.go -without ../conv_stub_other.go -pkg kernel
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// families are the groups of kernels, one output file each.
var families = map[string]func(*generator){
	"conv":     convKernels,
	"vector":   vectorKernels,
	"winograd": winogradKernels,
}

// argumentFiles declare the argument structs; field offsets are read from them, so that no copy can drift. They must
// import nothing.
var argumentFiles = []string{"conv.go", "vector.go", "winograd.go"}

// tags are the builds that have vector code, as the printer writes them.
const tags = "amd64 && !purego"

// generator is an avo context that knows the types of package kernel.
type generator struct {
	*build.Context
	pkg *types.Package
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	fs := flag.NewFlagSet("_asm", flag.ContinueOnError)
	pkgName := fs.String("pkg", "kernel", "package of the generated files")
	code := fs.String("out", "", "assembly `file`")
	stubs := fs.String("stubs", "", "`file` of Go declarations")
	names := strings.Join(slices.Sorted(maps.Keys(families)), ", ")
	without := fs.String("without", "", "`file` of the same declarations for builds without vector code")
	name := fs.String("kernels", "", "kernels to generate: "+names)
	dir := fs.String("dir", "..", "folder of package kernel")
	if err := fs.Parse(args); err != nil {
		return err
	}
	family, ok := families[*name]
	if !ok {
		return fmt.Errorf("asm: kernels: %q is unknown. Use one of %s", *name, names)
	}
	pkg, err := argumentTypes(*dir)
	if err != nil {
		return err
	}
	g := &generator{build.NewContext(), pkg}
	g.ConstraintExpr("amd64,!purego")
	family(g)
	return g.write(printer.Config{Name: "package ocl/internal/kernel/_asm", Pkg: *pkgName}, *code, *stubs, *without)
}

// write compiles what was generated and writes all files, or none: go generate would not run again beside a broken one.
func (g *generator) write(cfg printer.Config, code, stubs, without string) error {
	file, err := g.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return err
	}
	text, err := printer.NewGoAsm(cfg).Print(file)
	if err != nil {
		return err
	}
	if err := checkRegisters(text); err != nil {
		return err
	}
	declarations, err := printer.NewStubs(cfg).Print(file)
	if err != nil {
		return err
	}
	if err := os.WriteFile(code, text, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(stubs, declarations, 0o644); err != nil {
		return err
	}
	if text, err = withoutCode(declarations); err != nil {
		return err
	}
	return os.WriteFile(without, text, 0o644)
}

// withoutCode turns declarations of functions into functions that panic, for the builds that have no such code.
func withoutCode(declarations []byte) ([]byte, error) {
	head, rest, _ := strings.Cut(string(declarations), tags)
	text := head + "!amd64 || purego\n\npackage kernel\n\n"
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "func ") {
			text += strings.TrimSpace(line) + " { panic(noVectors) }\n"
		}
	}
	return format.Source([]byte(text))
}

var upperRegister = regexp.MustCompile(`\b[XY](1[6-9]|2\d|3[01])\b`)

// checkRegisters finds AVX2 functions that have more values than registers: avo gives them those of AVX-512.
func checkRegisters(text []byte) error {
	name := ""
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "TEXT ·"); ok {
			name, _, _ = strings.Cut(rest, "(")
		}
		if strings.HasSuffix(name, avx2.name) && upperRegister.MatchString(line) {
			return fmt.Errorf("asm: %s: %s is a register of AVX-512. Use fewer registers at a time", name, upperRegister.FindString(line))
		}
	}
	return nil
}

// argumentTypes type-checks the declarations of the argument structs alone.
func argumentTypes(dir string) (*types.Package, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range argumentFiles {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return new(types.Config).Check("ocl/internal/kernel", fset, files, nil)
}

// function begins a function whose signature may name the types of package kernel, e.g. "func(a *Planes)".
func (g *generator) function(name, signature string, doc ...string) {
	sig, err := gotypes.ParseSignatureInPackage(g.pkg, signature)
	if err != nil {
		panic(fmt.Sprintf("asm: %s: %v", name, err))
	}
	g.Function(name)
	g.Attributes(attr.NOSPLIT)
	g.Signature(sig)
	g.Pragma("noescape")
	g.Doc(doc...)
}
