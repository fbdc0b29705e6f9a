package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	module = "ocl"
	root   = "../.."
)

// pkg is what go list says of a package.
type pkg struct {
	ImportPath, Dir, Doc, Name string
	Imports, Deps              []string
	GoFiles                    []string
}

// packages lists the packages of the module, without their tests.
func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,Name,Imports,Deps,GoFiles", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// rule is a line of the graph: what a package may and must not import.
type rule struct{ may, not []string }

// short is a path as the graph writes it: project paths without the module, others as they are.
func short(path string) string { return strings.TrimPrefix(path, module+"/") }

// readGraph reads the block of docs/ARCHITECTURE.md that starts with ```imports. A line is "packages: names, !names"; a
// name with ! is forbidden, directly or through others. Packages and names may end in "/...", as in patterns of the
// command go.
func readGraph(t *testing.T) map[string]rule {
	t.Helper()
	page, err := os.ReadFile(root + "/docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(page), "```imports\n")
	if !ok {
		t.Fatal("docs/ARCHITECTURE.md has no block ```imports")
	}
	block, _, _ = strings.Cut(block, "```")
	graph := map[string]rule{}
	for line := range strings.Lines(block) {
		name, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			t.Fatalf("docs/ARCHITECTURE.md: line %q has no colon", line)
		}
		if _, twice := graph[name]; twice {
			t.Fatalf("docs/ARCHITECTURE.md: %s stands there twice", name)
		}
		r := rule{may: []string{name}}
		for _, word := range strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' }) {
			if forbidden, is := strings.CutPrefix(word, "!"); is {
				r.not = append(r.not, forbidden)
			} else {
				r.may = append(r.may, word)
			}
		}
		graph[name] = r
	}
	return graph
}

// ruleOf is the line for a package: of those that cover it the longest, which is the nearest.
func ruleOf(graph map[string]rule, path string) (name string) {
	for n := range graph {
		if covers(n, path) && (name == "" || len(strings.TrimSuffix(n, "/...")) > len(strings.TrimSuffix(name, "/...")) ||
			n == path) {
			name = n
		}
	}
	return name
}

// covers says whether an import path is the named package, lies below a name that ends in "/...", or in the named
// module of another author.
func covers(name, path string) bool {
	above, below := strings.CutSuffix(name, "/...")
	return path == above || (below || strings.Contains(name, ".")) && strings.HasPrefix(path, above+"/")
}

// TestImportsFollowTheGraph compares what go list reports with docs/ARCHITECTURE.md.
func TestImportsFollowTheGraph(t *testing.T) {
	graph := readGraph(t)
	ours := map[string]bool{}
	list := packages(t)
	for _, p := range list {
		ours[p.ImportPath] = true
	}
	used := map[string]bool{}
	for _, p := range list {
		name := short(p.ImportPath)
		line := ruleOf(graph, name)
		if line == "" {
			t.Errorf("%s is not in the graph; move it to a room, or add a line to docs/ARCHITECTURE.md", name)
			continue
		}
		used[line] = true
		r := graph[line]
		for _, path := range p.Imports {
			standard := !ours[path] && !strings.Contains(strings.Split(path, "/")[0], ".")
			for _, n := range r.not {
				if standard && covers(n, path) {
					t.Errorf("%s imports %s, which the graph forbids", name, path)
				}
			}
			if !standard && !slices.ContainsFunc(r.may, func(m string) bool { return covers(m, short(path)) }) {
				t.Errorf("%s imports %s; it may import %s", name, short(path), strings.Join(r.may, ", "))
			}
		}
		for _, path := range p.Deps {
			for _, n := range r.not {
				if ours[path] && covers(n, short(path)) {
					t.Errorf("%s depends on %s, which the graph forbids", name, short(path))
				}
			}
		}
	}
	for name := range graph {
		if !used[name] {
			t.Errorf("%s is in the graph, and no package follows this line; remove it", name)
		}
	}
}

// TestEveryPackageSaysWhatItIsFor wants a package comment of a sentence or more.
func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range packages(t) {
		if len(strings.Fields(p.Doc)) < 5 {
			t.Errorf("%s: the package comment is %q; say what the package is for", p.ImportPath, p.Doc)
		}
	}
}
