package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestArguments: arguments are refused, and nothing is made. The test runs itself again as the example.
func TestArguments(t *testing.T) {
	const asked = "OCL_TEST_EXAMPLE"
	if os.Getenv(asked) != "" {
		os.Args = []string{"continue", "runs/mine"}
		main()
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestArguments$")
	cmd.Env, cmd.Dir = append(os.Environ(), asked+"=1"), t.TempDir()
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out),
		"this example takes no arguments: it makes both of its runs. Write `go run ./examples/continue`") {
		t.Errorf("%v: %s", err, out)
	}
	if made, err := os.ReadDir(cmd.Dir); err != nil || len(made) > 0 {
		t.Errorf("%v is made, %v", made, err)
	}
}
