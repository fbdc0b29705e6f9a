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
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"

	"ocl/internal/kernel/_asm/arm64"
)

// families are the groups of kernels, each with its own assembly and declarations. A family writes its kernels for the
// instruction sets of one architecture.
var families = map[string]func(*generator, ...isa){
	"conv":     convKernels,
	"double":   doubleKernels,
	"vector":   vectorKernels,
	"winograd": winogradKernels,
}

// argumentFiles declare the argument structs; field offsets are read from them, so that no copy can drift. They must
// import nothing.
var argumentFiles = []string{"conv.go", "vector.go", "winograd.go"}

// architectures are those with vector code, by their name in Go, and their instruction sets. The first has all kernels.
var architectures = []struct {
	name string
	sets []isa
}{{"amd64", []isa{avx2, avx512}}, {"arm64", []isa{neon}}}

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
		var all []signature
		for _, a := range architectures {
			g := &generator{build.NewContext(), pkg}
			g.ConstraintExpr(a.name + ",!purego")
			family(g, a.sets...)
			if all, err = g.write(filepath.Join(*out, name), a.name, all); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// write compiles what was generated and writes the files of a family, which begin with name, for an architecture: after
// amd64 one that may lack some of all kernels of the family. It returns the kernels that it wrote.
func (g *generator) write(name, architecture string, all []signature) ([]signature, error) {
	cfg := printer.Config{Name: "package ocl/internal/kernel/_asm", Pkg: "kernel"}
	file, err := g.Result()
	if err != nil {
		return nil, err
	}
	declarations, err := printer.NewStubs(cfg).Print(file)
	if err != nil {
		return nil, err
	}
	head, _, _ := strings.Cut(string(declarations), "//go:build")
	kernels := signatures(string(declarations))
	files := map[string]string{"_stub_" + architecture + ".go": string(declarations) + calls(kernels) + panics(all, kernels)}
	if architecture == "arm64" {
		files["_arm64.s"], err = arm64.Print(file, head+"//go:build arm64 && !purego\n")
	} else {
		files["_amd64.s"], err = assembly(cfg, file)
		files["_stub_other.go"] = head + "//go:build (!amd64 && !arm64) || purego\n\npackage kernel\n" + panics(kernels, nil)
	}
	if err != nil {
		return nil, err
	}
	for suffix, text := range files {
		b := []byte(text)
		if strings.HasSuffix(suffix, ".go") {
			if b, err = format.Source(b); err != nil {
				return nil, err
			}
		}
		if err := os.WriteFile(name+suffix, b, 0o644); err != nil {
			return nil, err
		}
	}
	return kernels, nil
}

// assembly is the code of a family for amd64.
func assembly(cfg printer.Config, file *ir.File) (string, error) {
	if err := pass.Compile.Execute(file); err != nil {
		return "", err
	}
	code, err := printer.NewGoAsm(cfg).Print(file)
	if err != nil {
		return "", err
	}
	return string(code), checkRegisters(code)
}

var declaration = regexp.MustCompile(`(?m)^func (\w+?)(AVX512|AVX2|NEON)\((.*?)\)(.*)$`)

// signature is what the declarations of a kernel for some instruction sets have in common.
type signature struct {
	name, parameters, results string
	sets                      []string
}

func signatures(declarations string) []signature {
	var all []signature
	at := map[string]int{}
	for _, d := range declaration.FindAllStringSubmatch(declarations, -1) {
		n, ok := at[d[1]]
		if !ok {
			n = len(all)
			at[d[1]] = n
			all = append(all, signature{name: d[1], parameters: d[3], results: d[4]})
		}
		all[n].sets = append(all[n].sets, d[2])
	}
	return all
}

func (s signature) method() string {
	return fmt.Sprintf("func (i isa) %s(%s)%s", s.name, s.parameters, s.results)
}

func (s signature) call(set string) string {
	var arguments []string
	for parameter := range strings.SplitSeq(s.parameters, ", ") {
		argument, _, _ := strings.Cut(parameter, " ")
		arguments = append(arguments, argument)
	}
	call := fmt.Sprintf("%s%s(%s)", s.name, set, strings.Join(arguments, ", "))
	if s.results != "" {
		return "return " + call
	}
	return call
}

// calls writes a method of isa for each kernel that calls the code of the instruction set.
func calls(kernels []signature) (text string) {
	for _, s := range kernels {
		body := s.call(s.sets[0])
		if len(s.sets) > 1 {
			body = fmt.Sprintf("if i == avx512 {\n%s\n} else {\n%s\n}", s.call(avx512.name), s.call(avx2.name))
			if s.results != "" {
				body = fmt.Sprintf("if i == avx512 {\n%s\n}\n%s", s.call(avx512.name), s.call(avx2.name))
			}
		}
		text += "\n" + s.method() + " {\n" + body + "\n}\n"
	}
	return text
}

// panics writes the methods of the kernels that a build does not have.
func panics(all, has []signature) (text string) {
	for _, s := range all {
		if !slices.ContainsFunc(has, func(h signature) bool { return h.name == s.name }) {
			text += s.method() + " { panic(noVectors) }\n"
		}
	}
	return "\n" + text
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
