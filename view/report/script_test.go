package report

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestScript runs the tests of the page's script, and checks that all of it is well formed, as one module too.
func TestScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("NOT RUN: there is no node (`apt-get install nodejs` installs one), so the page's script is tested by the browser alone")
	}
	if strings.Contains(PageScript(), "import ") {
		t.Error("the script of the page imports a file, which the page does not have")
	}
	tests, err := filepath.Glob(filepath.Join("script", "*.test.mjs"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("there are %d tests of the script: %v", len(tests), err)
	}
	out, err := exec.Command(node, append([]string{"--test"}, tests...)...).CombinedOutput()
	if err != nil {
		t.Errorf("node --test: %v\n%s", err, out)
	}
	check := exec.Command(node, "--input-type=module", "--check", "-")
	check.Stdin = strings.NewReader(PageScript())
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("the script is not well formed: %v\n%s", err, out)
	}
}
