package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ocl/run/result"
)

var (
	soak = flag.Duration("soak", 0,
		"how long TestSoak disturbs studies of 200 jobs; 0 is one study of 40 jobs with OCL_LONG, and without it the test is skipped")
	soakSeed = flag.Uint64("soakseed", 0, "seed of the faults of TestSoak; 0 draws one")
)

// soakStudy are short jobs on images of a folder, which have a cache.
const soakStudy = `study: 1
data: {name: folder, dir: %s, size: 16}
stream: {tasks: 4}
network: {name: mlp, hidden: [64]}
memory: 20
runs: %d
methods: [er, agem, gdumb, lwf]
`

// soakDisk is the size of the disk of a study: what 200 jobs leave, three times.
const soakDisk = 48 << 20

// TestSoak: two processes do a study of short jobs. They are killed, stopped for a while and asked to end, their disk
// is full for some time, folders of checkpoints and of runs are removed, the cache of images is cut or removed, and
// their clock jumps by hours and years. Each study ends with the results of an undisturbed one, no file more, and
// processes no larger. A study that has ended is followed by the next one until the time is over.
func TestSoak(t *testing.T) {
	runs := 50
	if *soak == 0 {
		if os.Getenv(longTier) == "" {
			t.Skip(longTier + " is unset; with it or with -soak, studies are disturbed")
		}
		runs = 10
	}
	seed := cmp.Or(*soakSeed, rand.Uint64())
	t.Logf("-soakseed %d", seed)
	s := &soaking{T: t, bin: jumping(t), study: filepath.Join(t.TempDir(), "s.yaml"), draw: rand.New(rand.NewPCG(seed, 2)),
		told: map[string]int{}}
	images := filepath.Join(t.TempDir(), "images")
	soakPictures(t, images)
	if err := os.WriteFile(s.study, fmt.Appendf(nil, soakStudy, images, runs), 0o644); err != nil {
		t.Fatal(err)
	}
	s.newDisk()
	alone := s.start("sweep", s.study, "--out", s.out, "--no-report", "OCL_TEST_CLOCK=")
	var sizes []int64
	for alone.running() {
		sizes = append(sizes, alone.resident())
		time.Sleep(50 * time.Millisecond)
	}
	if alone.code() != 0 {
		t.Fatalf("an undisturbed study: %s", alone.text)
	}
	s.want, s.files = s.results(), s.left()
	half := len(sizes) / 2
	t.Logf("an undisturbed study: %d results, resident %d MiB at most, %d MiB in the first half of its time, %d MiB in the second",
		len(s.want), alone.peak>>20, slices.Max(sizes[:half])>>20, slices.Max(sizes[half:])>>20)
	if first, second := slices.Max(sizes[:half]), slices.Max(sizes[half:]); second > first+first/4+soakRoom {
		t.Errorf("the process grows: %d bytes in the first half, %d in the second", first, second)
	}
	s.most = alone.peak + alone.peak/2 + soakRoom
	for began := time.Now(); !t.Failed(); {
		s.newDisk()
		s.disturb(began)
		s.check()
		if time.Since(began) >= *soak {
			break
		}
	}
	var lines []string
	for text, n := range s.told {
		lines = append(lines, fmt.Sprintf("%5d  %s", n, text))
	}
	slices.Sort(lines)
	t.Logf("%d studies, at most %d MiB resident; faults, ends and messages:\n%s", s.studies, s.peak>>20,
		strings.Join(lines, "\n"))
}

// soakRoom is by how much two processes may differ: the collector of garbage is not exact.
const soakRoom = 16 << 20

// jumping builds ocl with a clock that jumps every two seconds if OCL_TEST_CLOCK is set: time.Now is that of the system
// and some hours or years. Timers and differences of times go on, as where a person sets the clock.
func jumping(t *testing.T) (bin string) {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	of := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	text, err := os.ReadFile(filepath.Join(of, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	const now = "sec, nsec, mono := runtimeNow()\n"
	if bytes.Count(text, []byte(now)) != 1 {
		t.Fatalf("package time of this Go has not one %q. Change the test", now)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(of, "time.go"): filepath.Join(dir, "time.go"),
		filepath.Join(of, "jump.go"): filepath.Join(dir, "jump.go"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"time.go": strings.Replace(string(text), now, now+"\tsec += jump(mono)\n", 1),
		"jump.go": `package time

import "syscall"

var clock, _ = syscall.Getenv("OCL_TEST_CLOCK")

func jump(mono int64) int64 {
	if clock == "" {
		return 0
	}
	return [...]int64{0, -3 * 3600, 400 * 86400, 0, -25 * 365 * 86400, 25 * 365 * 86400}[uint64(mono)>>31%6]
}
`,
		"overlay.json": string(overlay),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bin = filepath.Join(dir, "ocl")
	if out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", bin,
		"ocl/cmd/ocl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// soakPictures writes 8 classes of 30 images.
func soakPictures(t *testing.T, dir string) {
	t.Helper()
	for k := range 8 {
		folder := filepath.Join(dir, fmt.Sprintf("class%d", k))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			m := image.NewRGBA(image.Rect(0, 0, 18, 18))
			for p := range 18 * 18 {
				m.Set(p%18, p/18, color.RGBA{uint8(30 * k), uint8(8 * i), uint8(3 * p), 255})
			}
			var b bytes.Buffer
			if err := errors.Join(png.Encode(&b, m), os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.png", i)), b.Bytes(),
				0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// soaking is a soak under way.
type soaking struct {
	*testing.T
	bin, study string
	disk, out  string // of the study under way: its disk, and its folder there
	mounted    bool   // the disk is a file system of its own
	want       map[string]string
	files      []string
	most, peak int64 // bytes that a process may have, and the most that one had
	draw       *rand.Rand
	studies    int
	told       map[string]int // faults, ends of processes and messages
}

// newDisk makes the disk of a study: a file system of its own where the test may mount one, else a folder.
func (s *soaking) newDisk() {
	s.Helper()
	if s.mounted {
		if err := unix.Unmount(s.disk, unix.MNT_DETACH); err != nil {
			s.Fatal(err)
		}
	}
	first := s.disk == ""
	s.disk = s.TempDir()
	err := unix.Mount("none", s.disk, "tmpfs", 0, fmt.Sprintf("size=%d", soakDisk))
	if s.mounted = err == nil; s.mounted {
		disk := s.disk
		s.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	} else if first {
		s.Logf("NOT RUN: a full file system, as none can be mounted (%v). Processes get a limit of the size of files instead",
			err)
	}
	s.out = filepath.Join(s.disk, "study")
}

// process is an ocl that is at work.
type process struct {
	cmd  *exec.Cmd
	text *bytes.Buffer
	end  chan struct{}
	peak int64 // most resident memory seen
}

func (s *soaking) start(args ...string) *process {
	s.Helper()
	p := &process{text: new(bytes.Buffer), end: make(chan struct{})}
	environ := append(os.Environ(), "OCL_CACHE="+filepath.Join(s.disk, "cache"), "HOME="+s.disk, "NO_COLOR=1",
		"OCL_TEST_CLOCK=1")
	if last := args[len(args)-1]; strings.Contains(last, "=") {
		environ, args = append(environ, last), args[:len(args)-1]
	}
	if args[0] == "sweep" && args[1] != "retry" {
		args = append(args, "--workers", "1", "--concurrency", "1", "--checkpoint-every", "-1")
	}
	p.cmd = exec.Command(s.bin, args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = environ, p.text, p.text
	if err := p.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	go func() { defer close(p.end); _ = p.cmd.Wait() }()
	return p
}

func (p *process) running() bool {
	select {
	case <-p.end:
		return false
	default:
		return true
	}
}

// code is the exit code after the end; -1 after a signal.
func (p *process) code() int { <-p.end; return p.cmd.ProcessState.ExitCode() }

// resident is the resident memory of a running process, in bytes; 0 after its end. (The ru_maxrss of a child begins
// with that of its parent.)
func (p *process) resident() int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	var size, pages int64
	_, _ = fmt.Sscan(string(text), &size, &pages)
	p.peak = max(p.peak, pages*int64(os.Getpagesize()))
	return pages * int64(os.Getpagesize())
}

// disturb does a study with two processes until it has all results, and disturbs them meanwhile.
func (s *soaking) disturb(began time.Time) {
	s.Helper()
	s.studies++
	var workers [2]*process
	begin := func(i int) {
		s.results() // none is torn, at any time
		if i == 0 {
			workers[i] = s.start("sweep", s.study, "--out", s.out, "--no-report")
		} else {
			workers[i] = s.start("sweep", "join", s.out)
		}
	}
	begin(0)
	for complete := false; !complete; {
		for i, p := range workers {
			switch {
			case p == nil:
				if _, err := os.Stat(filepath.Join(s.out, "jobs.jsonl")); err == nil {
					begin(i)
				}
			case !p.running():
				s.ended(p)
				if i == 0 && p.code() == 0 {
					complete = true
				} else if strings.Contains(p.text.String(), "sweep retry") {
					s.ended(s.start("sweep", "retry", s.out))
				}
				begin(i)
			}
		}
		for range s.draw.IntN(10) {
			time.Sleep(40 * time.Millisecond)
			for _, p := range workers {
				if p != nil {
					p.resident()
				}
			}
		}
		p := workers[s.draw.IntN(2)]
		if p == nil {
			continue
		}
		s.fault(p)
	}
	for _, p := range workers {
		p.code()
		s.ended(p)
	}
	s.Logf("%.0f s: study %d is done", time.Since(began).Seconds(), s.studies)
}

// fault disturbs a process or what it needs.
func (s *soaking) fault(p *process) {
	s.Helper()
	job := func() string { // a folder of a job, done or not
		all, _ := filepath.Glob(filepath.Join(s.out, "*-*-*"))
		at := s.draw.Float64()
		if len(all) == 0 {
			return filepath.Join(s.out, "none")
		}
		return all[int(at*float64(len(all)))]
	}
	var kind string
	switch s.draw.IntN(10) {
	case 0, 1:
		kind = "kill"
		_ = p.cmd.Process.Kill() // unless it has ended
	case 2:
		kind = "SIGTERM"
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.end:
		case <-time.After(20 * time.Second):
			s.Errorf("20 s after SIGTERM the process goes on: %s", p.text)
			_ = p.cmd.Process.Kill()
		}
	case 3:
		kind = "stop"
		_ = p.cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(time.Duration(s.draw.IntN(1500)) * time.Millisecond)
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
	case 4, 5:
		kind = "full disk"
		s.full(p, time.Duration(s.draw.IntN(1000))*time.Millisecond)
	case 6:
		kind = "remove checkpoints"
		for _, c := range s.working(filepath.Join(job(), "checkpoint")) {
			_ = os.RemoveAll(c)
		}
	case 7:
		kind = "remove runs"
		for _, c := range s.working(job()) {
			_ = os.RemoveAll(strings.TrimSuffix(c, "/checkpoint"))
		}
	case 8:
		kind = "cut the cache"
		at := s.draw.Float64()
		files, _ := filepath.Glob(filepath.Join(s.disk, "cache", "*"))
		for _, f := range files {
			if info, err := os.Stat(f); err == nil {
				_ = os.Truncate(f, int64(at*float64(info.Size())))
			}
		}
	case 9:
		kind = "remove the cache"
		_ = os.RemoveAll(filepath.Join(s.disk, "cache"))
	}
	s.told["fault: "+kind]++
}

// working are the folders of checkpoints with a file, of the runs under way, and a folder more.
func (s *soaking) working(more string) []string {
	files, _ := filepath.Glob(filepath.Join(s.out, "*", "checkpoint", "*"))
	all := []string{more}
	for _, f := range files {
		all = append(all, filepath.Dir(f))
	}
	return all
}

// full lets the disk have no room for some time.
func (s *soaking) full(p *process, while time.Duration) {
	if !s.mounted {
		var was unix.Rlimit
		if unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &was) == nil { // it has not ended
			_ = unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 64, Max: was.Max}, nil)
			time.Sleep(while)
			_ = unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &was, nil)
		}
		return
	}
	path := filepath.Join(s.disk, "full")
	if f, err := os.Create(path); err == nil { // it may be full already, of a process that still writes
		for zeros := make([]byte, 1<<16); err == nil; {
			_, err = f.Write(zeros)
		}
		f.Close()
	}
	time.Sleep(while)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Fatal(err)
	}
}

// numbers differ between equal messages.
var numbers = regexp.MustCompile(`[0-9a-f]{8,}|[0-9]+`)

// ended notes how a process has ended and what it said.
func (s *soaking) ended(p *process) {
	s.Helper()
	code := p.code()
	s.told[fmt.Sprintf("end: exit code %d", code)]++
	s.peak = max(s.peak, p.peak)
	if p.peak > s.most {
		s.Errorf("a process took %d MiB, more than %d", p.peak>>20, s.most>>20)
	}
	text := p.text.String()
	for _, bug := range []string{"goroutine ", "panic", "fatal error", "bug in ocl", "internal error", "SIGBUS"} {
		if strings.Contains(text, bug) {
			s.Errorf("a process says %q:\n%s", bug, text)
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "ocl: ") || strings.Contains(line, "FAILED") {
			line = strings.ReplaceAll(strings.TrimSpace(line), s.disk, "$DISK")
			s.told["says: "+numbers.ReplaceAllString(line, "0")]++
		}
	}
}

// check ends the study as a person does, and compares what it leaves.
func (s *soaking) check() {
	s.Helper()
	if err := os.RemoveAll(filepath.Join(s.disk, "cache")); err != nil { // it is made again, by a command that ends
		s.Fatal(err)
	}
	s.ended(s.start("sweep", "retry", s.out))
	last := s.start("sweep", s.study, "--out", s.out, "--no-report")
	if s.ended(last); last.code() != 0 {
		s.Errorf("the last command: %s", last.text)
	}
	got := s.results()
	for path, want := range s.want {
		if got[path] != want {
			s.Errorf("%s is\n%s\nwant\n%s", path, got[path], want)
		}
	}
	if files := s.left(); !slices.Equal(files, s.files) {
		for _, f := range files {
			if !slices.Contains(s.files, f) {
				s.Errorf("%s is left", f)
			}
		}
		for _, f := range s.files {
			if !slices.Contains(files, f) {
				s.Errorf("%s is missing", f)
			}
		}
	}
}

// results are the results of the study by their places, without what says when and where they were made.
func (s *soaking) results() map[string]string {
	s.Helper()
	all := map[string]string{}
	paths, _ := filepath.Glob(filepath.Join(s.out, "*", "result.json"))
	for _, path := range paths {
		r, err := result.Read(path)
		if err != nil {
			s.Errorf("a result that is torn: %v", err)
			continue
		}
		p := &r.Provenance
		p.Started, p.Ended, p.Command, r.Seconds, r.Resources.PeakResidentBytes = "", "", nil, result.Seconds{}, 0
		text, err := json.Marshal(r)
		if err != nil {
			s.Fatal(err)
		}
		all[filepath.Base(filepath.Dir(path))] = string(text)
	}
	return all
}

// left are the files of the disk but for logs, which are one a process.
func (s *soaking) left() (all []string) {
	s.Helper()
	err := filepath.WalkDir(s.disk, func(path string, d fs.DirEntry, err error) error {
		if path == filepath.Join(s.out, "log") {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() && d.Name() != ".done" { // which is dispensable, so a full disk leaves none
			all = append(all, strings.TrimPrefix(path, s.disk))
		}
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return all
}
