package budget

import (
	"fmt"
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
	for text, want := range map[string]int64{"3GiB": 3 << 30, "1048576TiB": 1 << 60, "500": 500, "7B": 7, "2KiB": 2048,
		"9MiB": 9 << 20} {
		t.Setenv("GOMEMLIMIT", text)
		if got := Bytes(); got != want {
			t.Errorf("Bytes is %d with GOMEMLIMIT=%s, want %d", got, text, want)
		}
	}
	for _, text := range []string{"", "off", "x", "-5", "9999999999TiB"} {
		t.Setenv("GOMEMLIMIT", text)
		if got := Bytes(); got <= 0 || runtime.GOOS == "linux" && got > 1<<50 {
			t.Errorf("Bytes is %d with GOMEMLIMIT=%q", got, text)
		}
	}
	t.Setenv("GOMEMLIMIT", "")
	before := Bytes()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 28)) // as the program does while it runs
	if got := Bytes(); got != before {
		t.Errorf("Bytes is %d, and %d once the program has moved the collector's limit", before, got)
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

// TestLimitOfAddresses: what a shell allows with ulimit -v counts too.
func TestLimitOfAddresses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux enforces such a limit")
	}
	cmd := exec.Command("sh", "-c", `ulimit -v 2000000 && exec "$1"`, "sh", os.Args[0])
	cmd.Env = append(os.Environ(), "OCL_TEST_PRINT_BUDGET=1", "GOMEMLIMIT=off")
	out, err := cmd.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "2048000000" {
		t.Errorf("%s, %v, want 2048000000", got, err)
	}
}
