package served_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ocl/checkpoint"
	"ocl/internal/atomicfile"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/served"
	"ocl/sweep/study"
	"ocl/sweep/studytest"
)

var (
	scale = flag.Bool("scale", false,
		"TestKills with 100,000 jobs of 2 s, ten processes and 200 workers, which takes half an hour")
	scaleJobs = flag.Int("scalejobs", 0, "jobs of TestKills; 0 is 300, 2,000 with OCL_LONG, or 100,000 with -scale")
	scaleWait = flag.Duration("scalewait", 0, "time of a job of TestKills; 0 is 20 ms, or 2 s with -scale")
	placesDir = flag.String("placesdir", "",
		"where TestKills makes the folders of its worker processes, which stand for other machines with disks of their own; \"\" is beside the study")
	killEvery = flag.Duration("killevery", 0,
		"time between two looks of TestKills, each of which kills a process with -scale; 0 is 20 ms, or a minute with -scale")
)

// Variables of a process that this test binary is started as: the role, and the folder of the test.
const (
	roleVariable   = "OCL_TEST_ROLE"
	folderVariable = "OCL_TEST_STUDY"
)

func TestMain(m *testing.M) {
	do := map[string]func(string) error{"holder": holding, "worker": working}[os.Getenv(roleVariable)]
	if do == nil {
		os.Exit(m.Run())
	}
	if err := do(os.Getenv(folderVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// load is how a process of the test is to do jobs: learning is replaced by waiting, and the files are real.
type load struct {
	Wait    time.Duration
	Workers int
	Listen  string
	Places  string // where the folders of the worker processes are
	Poll    time.Duration
	Look    time.Duration // how often processes look; 0 is as usual
}

// didFile has a line for each job that was done, twice if two workers did it.
const didFile = "did"

// loaded reads what a process of the test has to do.
func loaded(root string) (l load, r *result.Result, jobs []study.Job, err error) {
	text, err := os.ReadFile(filepath.Join(root, "load.json"))
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err == nil {
		r, err = result.Read(filepath.Join(root, "of-all.json"))
	}
	var entries []study.Entry
	if err == nil {
		entries, err = study.ReadJobs(filepath.Join(root, "study"))
	}
	jobs = make([]study.Job, len(entries))
	for i, e := range entries {
		jobs[i].Entry = e
	}
	return l, r, jobs, err
}

func note(who string) func(string) {
	return func(text string) { fmt.Fprintf(os.Stderr, "%s %d: %s\n", who, os.Getpid(), text) }
}

// holding serves the study until standard input ends, and then prints its peak of memory.
func holding(root string) error {
	l, _, jobs, err := loaded(root)
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "study")
	h, err := served.Serve(context.Background(), dir, study.OpenFolder(dir), study.Entries(jobs),
		served.ServeOptions{Listen: l.Listen, Look: l.Look, Note: note("holder")})
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); { // each is the number of a process that was killed
		h.Bury(lines.Text())
	}
	err = h.Close()
	status, _ := os.ReadFile("/proc/self/status") // of Linux
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			fmt.Print(strings.Join(strings.Fields(line), " "))
		}
	}
	return err
}

// working does jobs until none is left, and prints when it began the last one, in nanoseconds since 1970.
func working(root string) error {
	l, r, jobs, err := loaded(root)
	if err != nil {
		return err
	}
	place, err := os.MkdirTemp(cmp.Or(l.Places, root), "machine-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(place)
	worker, err := served.Join(context.Background(), filepath.Join(root, "study", served.JoinFile),
		served.JoinOptions{Dir: place, Look: l.Look, Note: note("worker")})
	if err != nil {
		return err
	}
	defer worker.Close()
	whole, err := result.Encode(r)
	if err != nil {
		return err
	}
	did, err := os.OpenFile(filepath.Join(root, didFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer did.Close()
	state, last := make([]byte, 100_000), new(atomic.Int64)
	w := study.Worker{Store: worker.Store(), Jobs: jobs, Concurrency: l.Workers, Workers: 1, Poll: l.Poll, Stay: true,
		Note: note("worker"),
		Do: func(ctx context.Context, j study.Job, at experiment.RunIn) (*result.Result, error) {
			last.Store(time.Now().UnixNano())
			saves, err := checkpoint.OpenDir(filepath.Join(at.Folder, experiment.CheckpointDir))
			if err == nil {
				err = os.WriteFile(filepath.Join(at.Folder, experiment.RunConfigFile), []byte("x"), 0o644)
			}
			for step := range 2 {
				select {
				case <-time.After(l.Wait / 2):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				c := checkpoint.NewContainer()
				c.Encoder().Bytes("state", state)
				if err == nil {
					_, err = saves.Save(step+1, c)
				}
			}
			mine := *r
			mine.Config = r.Config.Clone()
			mine.Config.Seed, mine.Key = j.Seed, j.Key
			text := bytes.Replace(whole, []byte(r.Key), []byte(j.Key), 1) // as Encode(&mine), which takes as long as ten claims
			text = bytes.Replace(text, []byte(`"seed": 1,`), fmt.Appendf(nil, `"seed": %d,`, j.Seed), 1)
			if err == nil {
				err = atomicfile.WriteBytes(filepath.Join(at.Folder, experiment.ResultFile), text)
			}
			if err == nil {
				err = saves.Clear()
			}
			if err == nil {
				_, err = fmt.Fprintln(did, j.Key)
			}
			return &mine, err
		}}
	_, err = w.Run(context.Background())
	fmt.Println(last.Load())
	return err
}

// process is a process of the test.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bytes.Buffer
	done chan struct{}
	err  error
}

func start(t testing.TB, root, role string) *process {
	p := &process{cmd: exec.Command(os.Args[0]), out: new(bytes.Buffer), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role, folderVariable+"="+root)
	p.cmd.Stdout, p.cmd.Stderr = p.out, os.Stderr
	in, err := p.cmd.StdinPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.in = in
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// seconds is the time on the processor of a process that has ended.
func (p *process) seconds() float64 {
	return (p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()).Seconds()
}

func (p *process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// TestKills: processes with many workers do many jobs, without a common folder. Again and again a worker process is
// killed, and twice the holder. Each job has exactly one accepted result: the file that is there first stays the same
// one.
func TestKills(t *testing.T) {
	n, wait, processes, workers, every, holderKills := 300, 20*time.Millisecond, 3, 20, 20*time.Millisecond, 1
	switch {
	case *scale:
		n, wait, processes, every, holderKills = 100_000, 2*time.Second, 10, time.Minute, 2
	case os.Getenv("OCL_LONG") != "":
		n = 2000
	}
	if *scaleJobs > 0 {
		n = *scaleJobs
	}
	if *scaleWait > 0 {
		wait = *scaleWait
	}
	if *killEvery > 0 {
		every = *killEvery
	}
	r := studytest.Results(t, 1)[0]
	entries := make([]study.Entry, n)
	for i := range entries {
		one := *r
		one.Config = r.Config.Clone()
		one.Config.Seed = uint64(i + 1)
		one.Key = experiment.Key(&one)
		entries[i] = studytest.Entry(&one)
		entries[i].Folder = fmt.Sprintf("finetune-s%d-%s", i+1, one.Key[:8])
	}
	dir := made(t, entries)
	root := filepath.Dir(dir)
	free, err := net.Listen("tcp", "127.0.0.1:0") // a port for all holders
	if err != nil {
		t.Fatal(err)
	}
	poll, look := 200*time.Millisecond, soon
	if *scale {
		poll, look = time.Second, 0
	}
	l, err := json.Marshal(load{wait, workers, free.Addr().String(), *placesDir, poll, look})
	text, failed := result.Encode(r)
	if err := errors.Join(err, failed, free.Close(), os.WriteFile(filepath.Join(root, "load.json"), l, 0o644),
		os.WriteFile(filepath.Join(root, "of-all.json"), text, 0o644)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	holder := start(t, root, "holder")
	ready := func() {
		within(t, "the holder serves", func() bool {
			if holder.over() {
				t.Fatalf("the holder has ended: %v", holder.err)
			}
			_, err := os.Stat(filepath.Join(dir, served.JoinFile))
			return err == nil && serves(free.Addr().String())
		})
	}
	ready()
	running := make([]*process, processes)
	for i := range running {
		running[i] = start(t, root, "worker")
	}
	folder := study.OpenFolder(dir)
	accepted := make(map[string]os.FileInfo, n)
	finished := func() int {
		begun := map[string]bool{} // most jobs have no folder yet
		folders, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range folders {
			begun[f.Name()] = true
		}
		for _, e := range entries {
			if accepted[e.Key] != nil || !begun[e.Folder] || folder.State(e).Phase != progress.Done {
				continue
			}
			if accepted[e.Key], err = os.Stat(filepath.Join(dir, e.Folder, experiment.ResultFile)); err != nil {
				t.Fatal(err)
			}
		}
		return len(accepted)
	}
	killed, told, draw, atHolder, files := 0, 0, rand.New(rand.NewPCG(1, 2)), 0.0, int64(0)
	for {
		select {
		case <-time.After(every):
		case <-allOver(running):
		}
		done := finished()
		files = max(files, sizeOf(filepath.Join(dir, served.NatsFolder)))
		if done > told {
			t.Logf("%.0f s: %d of %d jobs are done", time.Since(began).Seconds(), done, n)
			told = done
		}
		if done == n {
			break
		}
		for _, p := range running {
			if p.over() && p.err != nil {
				t.Fatalf("a worker ended with %v", p.err)
			}
		}
		if holderKills > 0 && done > n*(3-holderKills)/4 {
			holderKills--
			holder.kill()
			atHolder += holder.seconds()
			holder = start(t, root, "holder")
			ready()
		} else if i := draw.IntN(processes); !running[i].over() && (*scale || killed < 3 && done >= n*(killed+1)/8) {
			running[i].kill()
			killed++
			if !*scale { // the server takes a minute to let go of its claims
				fmt.Fprintln(holder.in, running[i].cmd.Process.Pid)
			}
			running[i] = start(t, root, "worker")
		}
	}
	if killed == 0 || holderKills > 0 {
		t.Errorf("%d processes were killed, and the holder %d times too few", killed, holderKills)
	}
	busy := began
	for _, p := range running {
		<-p.done
		var last int64
		if _, err := fmt.Sscan(p.out.String(), &last); err == nil && last > 0 && time.Unix(0, last).After(busy) {
			busy = time.Unix(0, last)
		}
		if p.err != nil {
			t.Errorf("a worker ended with %v", p.err)
		}
	}
	_ = holder.in.Close()
	<-holder.done
	atHolder += holder.seconds()
	if holder.err != nil {
		t.Errorf("the holder ended with %v", holder.err)
	}
	for _, e := range entries {
		if st := folder.State(e); st.Phase != progress.Done {
			t.Fatalf("%s is %+v", e.Folder, st)
		}
		now, err := os.Stat(filepath.Join(dir, e.Folder, experiment.ResultFile))
		if err != nil {
			t.Fatal(err)
		}
		if first := accepted[e.Key]; !os.SameFile(first, now) || !first.ModTime().Equal(now.ModTime()) {
			t.Errorf("%s had a second result accepted", e.Folder)
		}
	}
	did, err := os.ReadFile(filepath.Join(root, didFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{served.AsideDir, served.NatsFolder, served.JoinFile} {
		if _, err := os.Stat(filepath.Join(dir, left)); err == nil {
			t.Errorf("%s is left", left)
		}
	}
	seconds := busy.Sub(began).Seconds()
	t.Logf("%d jobs of %v, %d processes of %d workers, %d killed, %d jobs done a second time, %.1f s, efficiency %.3f; holder: %.2f ms on the processor a job, %s; the server's files %.1f MB at most",
		n, wait, processes, workers, killed, bytes.Count(did, []byte("\n"))-n, seconds,
		float64(n)*wait.Seconds()/(float64(processes*workers)*seconds), 1000*atHolder/float64(n),
		strings.TrimSpace(holder.out.String()), float64(files)/1e6)
}

// sizeOf is the size in bytes of the files in a folder, some of which may go meanwhile.
func sizeOf(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if of, gone := e.Info(); gone == nil {
				n += of.Size()
			}
		}
		return nil
	})
	return n
}

// serves says whether something listens at an address.
func serves(address string) bool {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// allOver is closed once all processes have ended.
func allOver(all []*process) <-chan struct{} {
	over := make(chan struct{})
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Go(func() { <-p.done })
	}
	go func() {
		wg.Wait()
		close(over)
	}()
	return over
}
