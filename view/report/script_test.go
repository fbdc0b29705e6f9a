package report

import (
	"path/filepath"
	"strings"
	"testing"

	"ocl/internal/browsertest"
)

// TestScript runs the tests of the page's script, and checks that all of it is well formed, as one module too.
func TestScript(t *testing.T) {
	if strings.Contains(PageScript(), "import ") {
		t.Error("the script of the page imports a file, which the page does not have")
	}
	browsertest.Scripts(t, filepath.Join("script", "*.test.mjs"), PageScript())
}
