package budget

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("OCL_TEST_PRINT_BUDGET") != "" {
		fmt.Println(Bytes())
		return
	}
	os.Exit(m.Run())
}

// TestLimitOfTheUser: GOMEMLIMIT is the user's word, also if the machine has less.
func TestLimitOfTheUser(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(was)
	for _, set := range []int64{3 << 30, 1 << 60} {
		debug.SetMemoryLimit(set)
		if got := Bytes(); got != set {
			t.Errorf("Bytes is %d with a limit of %d", got, set)
		}
	}
	debug.SetMemoryLimit(math.MaxInt64)
	if got := Bytes(); got <= 0 || runtime.GOOS == "linux" && got > 1<<50 {
		t.Errorf("Bytes is %d without a limit", got)
	}
}

// TestLimitOfAControlGroup puts a process into a group whose parent has a limit. Only root may make groups.
func TestLimitOfAControlGroup(t *testing.T) {
	root, file := "/sys/fs/cgroup", "memory.max"
	if _, err := os.Stat("/sys/fs/cgroup/memory/memory.limit_in_bytes"); err == nil {
		root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	}
	parent := filepath.Join(root, fmt.Sprintf("ocl-test-%d", os.Getpid()))
	child := filepath.Join(parent, "child")
	for _, dir := range []string{parent, child} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skip("cannot make a control group: ", err)
		}
		defer os.Remove(dir)
	}
	if err := os.WriteFile(filepath.Join(parent, file), []byte("1073741824"), 0o600); err != nil {
		t.Skip("cannot limit a control group: ", err)
	}
	cmd := exec.Command("sh", "-c", `echo $$ > "$1/cgroup.procs" && exec "$2"`, "sh", child, os.Args[0])
	cmd.Env = append(os.Environ(), "OCL_TEST_PRINT_BUDGET=1", "GOMEMLIMIT=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := strings.TrimSpace(string(out)); got != "1073741824" {
		t.Errorf("a process in a group with a limit of 1073741824 bytes may use %s", got)
	}
}
