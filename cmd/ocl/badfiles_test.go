//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ocl/config"
)

// badFile puts something else in the place of a file of a world. other is the world's file of the same kind of another run, "" if there is none.
type badFile struct {
	name string
	kind bool // it is no regular file that can be read, so that whoever needs it must fail
	put  func(path, other string) error
}

var errSkip = errors.New("not here")

// badFiles are the classes of the table.
var badFiles = []badFile{
	{"missing", true, func(path, _ string) error { return nil }},
	{"pipe", true, func(path, _ string) error { return syscall.Mkfifo(path, 0o644) }},
	{"zero", true, func(path, _ string) error { return os.Symlink("/dev/zero", path) }},
	{"device", true, func(path, _ string) error {
		if err := syscall.Mknod(path, syscall.S_IFCHR|0o644, 1<<8|5); err != nil {
			return errSkip // not root
		}
		return nil
	}},
	{"socket", true, func(path, _ string) error {
		folder, err := os.Open(filepath.Dir(path)) // the path of a socket must be short
		if err != nil {
			return err
		}
		defer folder.Close()
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(path)), Net: "unix"})
		if err != nil {
			return errSkip
		}
		l.SetUnlinkOnClose(false)
		return l.Close()
	}},
	{"dangling", true, func(path, _ string) error { return os.Symlink("nowhere", path) }},
	{"loop", true, func(path, _ string) error { return os.Symlink(filepath.Base(path), path) }},
	{"folder", true, func(path, _ string) error { return os.Mkdir(path, 0o755) }},
	{"sparse", true, func(path, _ string) error {
		return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 1<<40))
	}},
	{"forbidden", true, func(path, _ string) error {
		if os.Geteuid() == 0 {
			return errSkip
		}
		return os.WriteFile(path, nil, 0)
	}},
	{"empty", false, func(path, _ string) error { return os.WriteFile(path, nil, 0o644) }},
	{"garbage", false, func(path, _ string) error {
		b := make([]byte, 5000)
		rand.NewChaCha8([32]byte{7}).Read(b)
		return os.WriteFile(path, b, 0o644)
	}},
	{"truncated", false, nil},
	{"huge", false, nil},
	{"version", false, nil},
	{"other", false, nil},
}

// changedFile are classes that are made of the good file.
func changedFile(class string, good, other []byte) []byte {
	switch class {
	case "truncated":
		return good[:len(good)/2]
	case "version":
		// The first number behind a word such as version, or the byte behind the magic.
		at := regexp.MustCompile(`(?i)(version|study|format)\D{0,12}?(\d)`).FindSubmatchIndex(good[:min(len(good), 4096)])
		b := bytes.Clone(good)
		if at != nil {
			b[at[4]] = '9'
		} else if len(b) > 8 {
			b[7] ^= 0x55
		}
		return b
	case "other":
		return other
	}
	return nil
}

// slot is a place of a command line where a file, or one in a folder, is read.
type slot struct {
	command string
	args    []string // {BAD} is the path
	path    string   // in the world
	new     bool     // the path does not exist in the world: a flag that the line lacks
}

func (s slot) String() string { return strings.Join(s.args, " ") + " with " + s.path }

// alike is the same for files of one kind.
func alike(path string) string { return regexp.MustCompile(`[0-9]+`).ReplaceAllString(path, "N") }

// takesPath says whether a flag takes a path.
func takesPath(f *pflag.Flag) bool {
	return slices.Contains([]string{"FILE", "DIR", "PATH", "RUN", "GRID"}, annotation(f, valueKey))
}

// slots are all places of a command where it reads a file.
func slots(t *testing.T, world, path string, cmd *cobra.Command) (all []slot) {
	seen := map[string]bool{}
	add := func(s slot) {
		if key := s.String(); !seen[key] {
			seen[key] = true
			all = append(all, s)
		}
	}
	for n, line := range lines[path] {
		args := strings.Fields(line)
		given := map[string]bool{}
		for _, word := range args {
			name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
			given[name] = true
			info, err := os.Stat(filepath.Join(world, word))
			if err != nil {
				continue
			}
			add(slot{path, args, word, false})
			if info.IsDir() {
				_ = filepath.WalkDir(filepath.Join(world, word), func(p string, e fs.DirEntry, err error) error {
					rel, _ := filepath.Rel(world, p)
				if e.IsDir() && strings.HasPrefix(rel, "images") { // a folder of images may have anything beside them
					return nil
				}
					if e.IsDir() && rel != word || e.Type().IsRegular() {
						if key := line + alike(rel); !e.IsDir() && strings.HasSuffix(rel, ".png") {
							if seen[key] {
								return nil
							}
							seen[key] = true
						}
						add(slot{path, args, rel, false})
					}
					return nil
				})
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if n == 0 && takesPath(f) && !given[f.Name] && !given[f.Shorthand] && f.Name != "resume" {
				add(slot{path, append(slices.Clone(args), "--"+f.Name, "bad"), "bad", true})
			}
		})
		for _, k := range config.Keys() {
			if n == 0 && k.Place && k.Flag() == "" && strings.Contains(cmd.Use, "KEY=VALUE") && path == "run" {
				add(slot{path, append(slices.Clone(args), k.Name+"=bad"), "bad", true})
			}
		}
	}
	return all
}

// TestBadFiles: whatever lies in the place of a file that a command reads, the command ends at once with a short message that names it.
func TestBadFiles(t *testing.T) {
	world, err := makeWorld()
	if err != nil {
		t.Fatal(err)
	}
	type trial struct {
		slot
		class badFile
	}
	var trials []trial
	for path, cmd := range leaves(t) {
		for _, s := range slots(t, world, path, cmd) {
			for _, class := range badFiles {
				trials = append(trials, trial{s, class})
			}
		}
	}
	slices.SortFunc(trials, func(a, b trial) int { return strings.Compare(a.String()+a.class.name, b.String()+b.class.name) })
	t.Logf("%d trials", len(trials))
	if only := os.Getenv("BAD"); only != "" {
		trials = slices.DeleteFunc(trials, func(x trial) bool { return !regexp.MustCompile(only).MatchString(x.class.name + ": " + x.String()) })
	}
	draw := draws(t)
	draw.Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })
	if os.Getenv(longTier) == "" && os.Getenv("BAD") == "" {
		trials = trials[:min(len(trials), 250)]
	}
	var wg sync.WaitGroup
	next := make(chan trial)
	for range min(2, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for x := range next {
				if fault := x.slot.try(t, world, x.class); fault != "" {
					t.Errorf("FAULT %s: %s: %s", x.class.name, x.slot, fault)
				}
			}
		})
	}
	for _, x := range trials {
		next <- x
	}
	close(next)
	wg.Wait()
}

// try makes a copy of the world with the bad file, runs the command, and says what is wrong with what it does.
func (s slot) try(t *testing.T, world string, class badFile) string {
	dir, err := os.MkdirTemp("", "ocl-bad-")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, os.DirFS(world)); err != nil {
		return err.Error()
	}
	place := filepath.Join(dir, s.path)
	info, statErr := os.Stat(place)
	isDir := statErr == nil && info.IsDir()
	if (isDir || s.new) && class.put == nil && class.name != "huge" {
		return ""
	}
	good, _ := os.ReadFile(place)
	var other []byte
	if class.name == "other" {
		name := otherOf(world, s.path)
		if name == "" {
			return ""
		}
		other, _ = os.ReadFile(name)
		if bytes.Equal(other, good) {
			return ""
		}
	}
	_ = os.RemoveAll(place)
	switch {
	case class.name == "huge":
		err = errors.Join(os.WriteFile(place, good, 0o644), os.Truncate(place, int64(len(good))+3<<30))
	case class.put == nil:
		err = os.WriteFile(place, changedFile(class.name, good, other), 0o644)
	default:
		err = class.put(place, "")
	}
	if errors.Is(err, errSkip) {
		return ""
	}
	if err != nil {
		return "cannot make it: " + err.Error()
	}
	r := child_(dir, s.args)
	text := r.stdout + r.stderr
	var faults []string
	switch {
	case r.code < 0:
		return fmt.Sprintf("HANGS, killed after %v; %d MB; %.300q", r.took, r.rss>>20, r.stderr)
	case strings.Contains(text, "goroutine ") || strings.Contains(text, "panic"):
		return fmt.Sprintf("CRASH, exit %d, %d MB: %.400q", r.code, r.rss>>20, r.stderr)
	}
	if r.rss > 1<<30 {
		faults = append(faults, fmt.Sprintf("MEMORY %d MB", r.rss>>20))
	}
	switch {
	case r.code == 0:
		// It did without the file, or it says what it found there.
		said := func(o outcome) string { return steady(o.stdout + o.stderr) }
		if m := s.without(world); m.code == 0 && said(m) == said(r) {
			break
		}
		if g := s.undisturbed(world); said(g) == said(r) || strings.Contains(said(r), filepath.Base(s.path)) || strings.Contains(said(r), filepath.Base(filepath.Dir(s.path))) {
			break
		}
		faults = append(faults, "BELIEVED: "+r.stdout)
	case r.code == 1 || r.code == 2:
		name := filepath.Base(s.path)
		if isDir {
			name = strings.Split(s.path, "/")[0]
		}
		if !s.new && !strings.Contains(text, name) {
			faults = append(faults, "NONAME")
		}
		if len(r.stderr) > 1500 || strings.Count(r.stderr, "\n") > 6 {
			faults = append(faults, "LONG")
		}
	default:
		faults = append(faults, fmt.Sprintf("EXIT%d", r.code))
	}
	if len(faults) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%v): %.700q", strings.Join(faults, " "), r.took.Round(1e6), r.stderr)
}

// otherOf is the file of the other run that is like a file of a world.
func otherOf(world, path string) string {
	parts := strings.Split(path, "/")
	if parts[0] != "x" && parts[0] != "half" {
		return ""
	}
	parts[0] = "y"
	for i, p := range parts {
		if strings.HasPrefix(p, "er-m20-s1") {
			parts[i] = "er-m20-s2-*"
		}
	}
	found, _ := filepath.Glob(filepath.Join(world, filepath.Join(parts...)))
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

var (
	knownMu sync.Mutex
	known_  = map[string]func() outcome{}
)

// once runs the command in a copy of the world without a file, "" is with all; it does so once.
func once(world string, args []string, without string) outcome {
	knownMu.Lock()
	key := strings.Join(args, " ") + " without " + without
	if known_[key] == nil {
		known_[key] = sync.OnceValue(func() outcome {
			dir, err := os.MkdirTemp("", "ocl-bad-")
			if err == nil {
				defer os.RemoveAll(dir)
				err = os.CopyFS(dir, os.DirFS(world))
			}
			if err == nil && without != "" {
				err = os.RemoveAll(filepath.Join(dir, without))
			}
			if err != nil {
				return outcome{code: -1, err: err}
			}
			return child_(dir, args)
		})
	}
	f := known_[key]
	knownMu.Unlock()
	return f()
}

func (s slot) without(world string) outcome     { return once(world, s.args, s.path) }
func (s slot) undisturbed(world string) outcome { return once(world, s.args, "") }

var durations = regexp.MustCompile(`[0-9.]+ ?(ms|s|m[0-9]+s|h[0-9]+m)\b`)

// steady is output without what differs from run to run.
func steady(text string) string { return durations.ReplaceAllString(text, "T") }
