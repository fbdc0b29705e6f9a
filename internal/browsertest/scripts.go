package browsertest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Scripts runs the tests in the files of a pattern in node, without a page, and fails the test unless they pass and
// whole, which a page makes of several scripts, is well formed; "" is none. It skips the test where there is no node.
func Scripts(t *testing.T, pattern, whole string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("NOT RUN: there is no node (`apt-get install nodejs` installs one), so the page's script is tested by the browser alone")
	}
	tests, err := filepath.Glob(pattern)
	if err != nil || len(tests) == 0 {
		t.Fatalf("there are %d tests of scripts (%s): %v", len(tests), pattern, err)
	}
	if out, err := exec.Command(node, append([]string{"--test"}, tests...)...).CombinedOutput(); err != nil {
		t.Errorf("node --test: %v\n%s", err, out)
	}
	if whole == "" {
		return
	}
	check := exec.Command(node, "--input-type=module", "--check", "-")
	check.Stdin = strings.NewReader(whole)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("the script is not well formed: %v\n%s", err, out)
	}
}
