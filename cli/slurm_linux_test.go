package cli

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestSlurm: a real Slurm of one node runs the array of a study's eight shards, and the folder then has all results.
func TestSlurm(t *testing.T) {
	if os.Getenv(longTier) == "" {
		t.Skip(longTier + " is not set")
	}
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sbatch"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("there is no Slurm here:", err)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("Slurm's node must be started by root")
	}
	dir := t.TempDir()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("munge.key", strings.Repeat("a key of this test alone ", 20))
	write("slurm.conf", fmt.Sprintf(`ClusterName=test
SlurmctldHost=%[1]s(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%[2]s/munge.sock
CredType=cred/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
SlurmctldPidFile=%[2]s/slurmctld.pid
SlurmdPidFile=%[2]s/slurmd.pid
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/spool
MpiDefault=none
ReturnToService=2
NodeName=%[1]s NodeAddr=127.0.0.1 CPUs=%[5]d RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`, host, dir, freePort(t), freePort(t), runtime.NumCPU()))
	for _, name := range []string{"state", "spool"} {
		if err := os.Mkdir(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "SLURM_CONF="+at("slurm.conf"))
	start := func(args ...string) {
		t.Helper()
		log, err := os.Create(at(args[0] + ".log"))
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(args[0], args[1:]...)
		c.Env, c.Stdout, c.Stderr = env, log, log
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Kill()
			_ = c.Wait()
			if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
				t.Logf("%s: %s", args[0], text)
			}
			_ = log.Close()
		})
	}
	start("munged", "--foreground", "--force", "--key-file="+at("munge.key"), "--socket="+at("munge.sock"),
		"--pid-file="+at("munged.pid"), "--log-file="+at("munged.txt"), "--seed-file="+at("munge.seed"))
	do := func(args ...string) (string, error) {
		c := exec.Command(args[0], args[1:]...)
		c.Env, c.Dir = env, dir
		out, err := c.CombinedOutput()
		return string(out), err
	}
	await := func(what string, done func() bool) {
		t.Helper()
		for !done() {
			if t.Context().Err() != nil {
				t.Fatal(what)
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
	await("munged", func() bool { _, err := os.Stat(at("munge.sock")); return err == nil })
	start("slurmctld", "-D")
	start("slurmd", "-D")
	await("the node", func() bool {
		out, err := do("sinfo", "-h", "-o", "%T")
		return err == nil && strings.Contains(out, "idle")
	})

	write("study.yaml", `study: 1
data: {size: 8, train_per_class: 6, test_per_class: 1}
stream: {tasks: 2, batch: 1}
network: {name: mlp, hidden: [64]}
methods: [er, mir]
memory: [20, 40]
runs: 3
`)
	program := at("ocl")
	if out, err := do("go", "build", "-C", mustDir(t), "-o", program, "../cmd/ocl"); err != nil {
		t.Fatal(out, err)
	}
	job, err := do(program, "sweep", "study.yaml", "--out", "out", "--job", "slurm", "--shards", "8", "--concurrency", "1",
		"--max-time", "1h")
	if err != nil {
		t.Fatal(job, err)
	}
	write("job.sh", job)
	if out, err := do("sbatch", "--test-only", "job.sh"); err != nil {
		t.Fatal(out, err)
	}
	if out, err := do("sbatch", "--wait", "job.sh"); err != nil {
		logs, _ := do("sh", "-c", "cat *_*.log")
		t.Fatal(out, err, logs)
	}
	if out, err := do(program, "sweep", "status", "out"); err != nil || out != "12 of 12 jobs done\n" {
		t.Errorf("%s %v", out, err)
	}
}

// freePort is a port of this machine that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// mustDir is the folder of this package.
func mustDir(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
