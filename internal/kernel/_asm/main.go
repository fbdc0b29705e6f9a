// Command _asm generates the vector code of package kernel with avo. It is a module of its own, so that the engine does
// not depend on avo. Run it through go generate in the folder above.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// families are the groups of kernels, each with its own assembly and declarations.
var families = map[string]func(*generator){
	"conv":     convKernels,
	"double":   doubleKernels,
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
	out := fs.String("out", "..", "`folder` to write to")
	if err := fs.Parse(args); err != nil {
		return err
	}
	pkg, err := argumentTypes("..")
	if err != nil {
		return err
	}
	for name, family := range families {
		g := &generator{build.NewContext(), pkg}
		g.ConstraintExpr("amd64,!purego")
		family(g)
		if err := g.write(filepath.Join(*out, name)); err != nil {
			return err
		}
	}
	return nil
}

// write compiles what was generated and writes the files of a family, which begin with name.
func (g *generator) write(name string) error {
	cfg := printer.Config{Name: "package ocl/internal/kernel/_asm", Pkg: "kernel"}
	file, err := g.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return err
	}
	code, err := printer.NewGoAsm(cfg).Print(file)
	if err != nil {
		return err
	}
	if err := checkRegisters(code); err != nil {
		return err
	}
	declarations, err := printer.NewStubs(cfg).Print(file)
	if err != nil {
		return err
	}
	head, _, _ := strings.Cut(string(declarations), tags)
	calls, panics := dispatchers(string(declarations))
	for suffix, text := range map[string]string{
		"_amd64.s":       string(code),
		"_stub_amd64.go": string(declarations) + calls,
		"_stub_other.go": head + "!amd64 || purego\n\npackage kernel\n\n" + panics,
	} {
		b := []byte(text)
		if strings.HasSuffix(suffix, ".go") {
			if b, err = format.Source(b); err != nil {
				return err
			}
		}
		if err := os.WriteFile(name+suffix, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

var declaration = regexp.MustCompile(`(?m)^func (\w+?)(AVX512|AVX2)\((.*?)\)(.*)$`)

// dispatchers writes a method of isa for each kernel: calls that run the code of the instruction set, and panics for
// the builds that have no such code.
func dispatchers(declarations string) (calls, panics string) {
	sets := map[string][]string{} // of each kernel
	all := declaration.FindAllStringSubmatch(declarations, -1)
	for _, d := range all {
		sets[d[1]] = append(sets[d[1]], d[2])
	}
	for _, d := range all {
		name, parameters, results := d[1], d[3], d[4]
		if sets[name] == nil {
			continue // it was written for another instruction set
		}
		var arguments []string
		for parameter := range strings.SplitSeq(parameters, ", ") {
			argument, _, _ := strings.Cut(parameter, " ")
			arguments = append(arguments, argument)
		}
		call := func(set string) string {
			if results == "" {
				return fmt.Sprintf("%s%s(%s)", name, set, strings.Join(arguments, ", "))
			}
			return fmt.Sprintf("return %s%s(%s)", name, set, strings.Join(arguments, ", "))
		}
		body := call(sets[name][0])
		if len(sets[name]) > 1 {
			body = fmt.Sprintf("if i == avx512 {\n%s\n} else {\n%s\n}", call(avx512.name), call(avx2.name))
			if results != "" {
				body = fmt.Sprintf("if i == avx512 {\n%s\n}\n%s", call(avx512.name), call(avx2.name))
			}
		}
		signature := fmt.Sprintf("func (i isa) %s(%s)%s", name, parameters, results)
		calls += "\n" + signature + " {\n" + body + "\n}\n"
		panics += signature + " { panic(noVectors) }\n"
		delete(sets, name)
	}
	return calls, panics
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
