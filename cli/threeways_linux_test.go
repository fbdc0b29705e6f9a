package cli

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ocl/run/experiment"
	"ocl/run/result"
	"ocl/sweep/study"
)

var (
	waysStudy = flag.String("waysstudy", "",
		"file of the study of TestThreeWays, with its data in OCL_DATA; \"\" is a small one of drawn images")
	waysKills = flag.Int("wayskills", 3, "kills of TestThreeWays in each way")
	waysCut   = flag.Duration("wayscut", 5*time.Second, "how long TestThreeWays cuts one worker off")
	waysEvery = flag.Duration("waysevery", 2*time.Second, "mean time between two kills of TestThreeWays")
	waysDir   = flag.String("waysdir", "", "folder of TestThreeWays, which is kept; \"\" is a temporary one")
)

// ways is a study that is done three times, each in another way, while processes are killed.
type ways struct {
	t     *testing.T
	dir   string
	ocl   string
	draw  *rand.Rand
	kills int
}

// wayfarer is a command that was started. Its whole group is killed, as `ip netns exec` is its leader.
type wayfarer struct {
	*exec.Cmd
	log   string
	ended chan error
}

func (w *ways) start(args ...string) *wayfarer {
	w.t.Helper()
	log, err := os.CreateTemp(w.dir, "*.log")
	if err != nil {
		w.t.Fatal(err)
	}
	p := &wayfarer{exec.Command(args[0], args[1:]...), log.Name(), make(chan error, 1)}
	p.Dir, p.Stdout, p.Stderr = w.dir, log, log
	if err := p.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		p.ended <- p.Wait()
		_ = log.Close()
	}()
	return p
}

// do keeps commands at work until each has ended well, and kills some of them meanwhile.
func (w *ways) do(commands ...[]string) {
	w.t.Helper()
	running := make([]*wayfarer, len(commands))
	left, kills := len(commands), w.kills
	for i, c := range commands {
		running[i] = w.start(c...)
	}
	w.t.Cleanup(func() {
		for _, p := range running {
			if p != nil {
				_ = p.Process.Kill()
			}
		}
	})
	next := time.Now().Add(*waysEvery)
	for left > 0 {
		time.Sleep(50 * time.Millisecond)
		for i, p := range running {
			if p == nil {
				continue
			}
			select {
			case err := <-p.ended:
				if err == nil {
					running[i], left = nil, left-1
					continue
				}
				text, _ := os.ReadFile(p.log)
				w.t.Logf("%q ended: %v\n%s", commands[i], err, text)
				switch away := strings.Contains(string(text), "no server of the study answers"); {
				case away: // it was started while it is cut off; a person would start it again
					time.Sleep(time.Second)
				case !strings.Contains(err.Error(), "killed"):
					w.t.Fatal("it was not killed")
				}
				running[i] = w.start(commands[i]...)
			default:
			}
		}
		if i := w.draw.IntN(len(running)); kills > 0 && running[i] != nil && time.Now().After(next) {
			if err := running[i].Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				w.t.Fatal(err)
			}
			kills--
			next = time.Now().Add(time.Duration(w.draw.Int64N(2 * int64(*waysEvery))))
		}
	}
	if kills > 0 {
		w.t.Logf("%d kills were left when all was done", kills)
	}
}

func (w *ways) run(args ...string) {
	w.t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		w.t.Fatalf("%q: %v %s", args, err, out)
	}
}

// TestThreeWays: a study that is killed again and again has the same results on one machine, in eight shards whose
// folders are apart, and served to workers that share nothing: each has network and file systems of its own, and one is
// cut off for a while.
func TestThreeWays(t *testing.T) {
	if os.Getenv(longTier) == "" {
		t.Skip(longTier + " is not set")
	}
	for _, name := range []string{"ip", "unshare", "mount"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("NOT RUN: there is no", name)
		}
	}
	if err := exec.Command("ip", "netns", "add", "ocl-try").Run(); err != nil {
		t.Skip("NOT RUN: network namespaces cannot be made here:", err)
	}
	_ = exec.Command("ip", "netns", "del", "ocl-try").Run()

	w := &ways{t: t, dir: *waysDir, draw: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)), kills: *waysKills}
	if w.dir == "" {
		w.dir = t.TempDir()
	}
	w.ocl = filepath.Join(w.dir, "ocl")
	w.run("go", "build", "-o", w.ocl, "../cmd/ocl")
	text := []byte(`study: 1
data: {size: 8, train_per_class: 10, test_per_class: 1}
stream: {tasks: 10}
network: {name: mlp, hidden: [256]}
replay: {iterations: 4}
methods: [er, agem]
memory: [50, 100]
runs: 3
`)
	flags := []string{"--concurrency", "1", "--workers", "1", "--checkpoint-every", "-1", "--quiet"}
	if *waysStudy != "" {
		var err error
		if text, err = os.ReadFile(*waysStudy); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--data-dir", os.Getenv("OCL_DATA"))
	}
	if err := os.WriteFile(filepath.Join(w.dir, "study.yaml"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	sweep := func(args ...string) []string { return append(append([]string{w.ocl, "sweep"}, args...), flags...) }

	w.do(sweep("study.yaml", "--out", "one", "--no-report"), sweep("study.yaml", "--out", "one", "--no-report"))
	for i := 1; i <= 8; i += 2 {
		part := func(i int) []string {
			return sweep("study.yaml", "--out", fmt.Sprintf("shard-%d", i), "--no-report", "--shard", fmt.Sprintf("%d/8", i))
		}
		w.do(part(i), part(i+1))
	}
	w.served(sweep)

	entries, err := study.ReadJobs(filepath.Join(w.dir, "one"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		found, err := filepath.Glob(filepath.Join(w.dir, "shard-*", e.Folder, experiment.ResultFile))
		if err != nil || len(found) != 1 {
			t.Errorf("%s: the shards have %q, error %v", e.Folder, found, err)
			continue
		}
		want, err := result.Read(filepath.Join(w.dir, "one", e.Folder, experiment.ResultFile))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, path := range append(found, filepath.Join(w.dir, "served", e.Folder, experiment.ResultFile)) {
			got, err := result.Read(path)
			if err != nil {
				t.Error(err)
			} else if difference, same := result.Same(experiment.Schema(), want, got); !same {
				t.Errorf("%s: %s", path, difference)
			}
		}
	}
	t.Logf("%d results are the same in all three ways", len(entries))
}

// served does the study by a holder, which is killed as well, and three workers in network namespaces of their own. The
// folder of each lies in a file system of memory that no other process sees, and the folder of the study is hidden from
// them.
func (w *ways) served(sweep func(...string) []string) {
	const bridge, address = "ocl-br", "10.203.0.1"
	w.run("ip", "link", "add", bridge, "type", "bridge")
	w.t.Cleanup(func() { _ = exec.Command("ip", "link", "del", bridge).Run() })
	w.run("ip", "addr", "add", address+"/24", "dev", bridge)
	w.run("ip", "link", "set", bridge, "up")
	commands := [][]string{sweep("study.yaml", "--out", "served", "--no-report", "--listen", address+":4222",
		"--concurrency", "0")}
	for i := range 3 {
		space, end, inner := fmt.Sprintf("ocl-w%d", i), fmt.Sprintf("ocl-v%d", i), fmt.Sprintf("ocl-i%d", i)
		w.run("ip", "netns", "add", space)
		w.t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", space).Run() })
		w.run("ip", "link", "add", end, "type", "veth", "peer", "name", inner)
		w.run("ip", "link", "set", end, "master", bridge, "up")
		w.run("ip", "link", "set", inner, "netns", space)
		w.run("ip", "netns", "exec", space, "ip", "addr", "add", fmt.Sprintf("10.203.0.%d/24", 10+i), "dev", inner)
		w.run("ip", "netns", "exec", space, "ip", "link", "set", inner, "up")
		w.run("ip", "netns", "exec", space, "ip", "link", "set", "lo", "up")
		// The join file is read before its folder is hidden.
		script := fmt.Sprintf(`until [ -s served/join ]; do sleep 0.1; done; umask 077; mkdir -p own-%[1]d && mount -t tmpfs none own-%[1]d && cp served/join own-%[1]d/join && mount -t tmpfs none served && exec "$@"`, i)
		commands = append(commands, append([]string{"ip", "netns", "exec", space, "unshare", "-m", "sh", "-c", script, "sh"},
			sweep("join", fmt.Sprintf("own-%d/join", i), "--out", fmt.Sprintf("own-%d/runs", i))...))
	}
	cut := time.AfterFunc(2*(*waysEvery), func() {
		_ = exec.Command("ip", "link", "set", "ocl-v0", "down").Run()
		time.Sleep(*waysCut)
		_ = exec.Command("ip", "link", "set", "ocl-v0", "up").Run()
	})
	defer cut.Stop()
	w.do(commands...)
}
