package limit

import (
	"flag"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"regexp"
	"strings"
	"testing"

	"ocl/internal/count"
)

var update = flag.Bool("update", false, "write docs/limits.md")

const (
	page = "../../docs/limits.md"
	head = `# Limits

What is larger is refused with an error that names the limit. These are the limits on what comes from outside; ` + "`internal/limit`" + ` has
the reason of each. The ranges of the keys of a config are in [format/config.md](format/config.md).

| limit | most |
|---|---|
`
)

// form is that of a comment on a limit: its name, what is bounded, the unit, the reason, and the key that changes it.
var form = regexp.MustCompile(`^(\w+) is (.+?), in (\w+)\. ([A-Z].+\.) Key: (.+)\.$`)

// TestPage holds docs/limits.md, which is made of the comments on the limits.
func TestPage(t *testing.T) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "limit.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := (&types.Config{}).Check("limit", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(head)
	for _, d := range file.Decls {
		group, is := d.(*ast.GenDecl)
		if !is || group.Tok != token.CONST {
			continue
		}
		for _, s := range group.Specs {
			c := s.(*ast.ValueSpec)
			m := form.FindStringSubmatch(strings.Join(strings.Fields(c.Doc.Text()), " "))
			if name := c.Names[0].Name; m == nil || m[1] != name {
				t.Errorf("the comment on %s is %q, wanted `%s is WHAT, in UNIT. REASON. Key: KEY.`", name, c.Doc.Text(), name)
				continue
			}
			v, exact := constant.Int64Val(pkg.Scope().Lookup(m[1]).(*types.Const).Val())
			if !exact {
				t.Fatalf("%s is no integer", m[1])
			}
			most := amount(v, m[3])
			if m[5] != "none" {
				most += " (" + strings.TrimPrefix(m[5], "none; ") + ")"
			}
			fmt.Fprintf(&b, "| %s | %s |\n", m[2], most)
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(page); err != nil || string(text) != b.String() {
		t.Errorf("docs/limits.md is not current (%v); run `go test ./internal/limit -update`", err)
	}
}

// amount is a number with its unit. Bytes have the largest unit that leaves a whole number.
func amount(v int64, unit string) string {
	if unit == "bytes" {
		for _, u := range []struct {
			shift int
			name  string
		}{{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
			if v>>u.shift<<u.shift == v {
				return count.Number(v>>u.shift) + " " + u.name
			}
		}
	}
	return count.Number(v) + " " + unit
}
