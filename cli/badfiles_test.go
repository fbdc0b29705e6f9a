//go:build linux

package cli

import (
	"bytes"
	"cmp"
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
	"ocl/data"
)

// badFile is a class of the table: something that lies in the place of a file or a folder.
type badFile struct {
	name string
	// put makes it where there is nothing; nil is a class of files that are made of the good one.
	put func(path string) error
	// change is the content, made of the good file and the same file of another run, which is nil where there is none.
	change func(good, other []byte) []byte
}

// errNotHere says that this machine or this user cannot make such a thing.
var errNotHere = errors.New("not here")

var badFiles = []badFile{
	{name: "pipe", put: func(path string) error { return syscall.Mkfifo(path, 0o644) }},
	{name: "link to an endless device", put: func(path string) error { return os.Symlink("/dev/zero", path) }},
	{name: "device", put: func(path string) error {
		if syscall.Mknod(path, syscall.S_IFCHR|0o644, 1<<8|5) != nil { // that of /dev/zero
			return errNotHere
		}
		return nil
	}},
	{name: "socket", put: makeSocket},
	{name: "link to nothing", put: func(path string) error { return os.Symlink("nowhere", path) }},
	{name: "link to itself", put: func(path string) error { return os.Symlink(filepath.Base(path), path) }},
	{name: "folder", put: func(path string) error { return os.Mkdir(path, 0o755) }},
	{name: "sparse", put: func(path string) error {
		return errors.Join(os.WriteFile(path, nil, 0o644),
			os.Truncate(path, 1<<40))
	}},
	{name: "no permission", put: func(path string) error {
		if os.Geteuid() == 0 {
			return errNotHere
		}
		return os.WriteFile(path, nil, 0)
	}},
	{name: "empty", put: func(path string) error { return os.WriteFile(path, nil, 0o644) }},
	{name: "random bytes", put: func(path string) error {
		b := make([]byte, 5000)
		_, _ = rand.NewChaCha8([32]byte{7}).Read(b)
		return os.WriteFile(path, b, 0o644)
	}},
	{name: "huge", put: func(path string) error {
		return errors.Join(os.WriteFile(path, []byte("a"), 0o644), os.Truncate(path, 3<<30))
	}},
	{name: "huge with a good beginning", change: func(good,
		_ []byte) []byte {
		return append(bytes.Clone(good), make([]byte, 200<<20)...)
	}},
	{name: "truncated", change: func(good, _ []byte) []byte { return good[:len(good)/2] }},
	{name: "another version", change: func(good, _ []byte) []byte {
		b := bytes.Clone(good)
		if at := versions.FindSubmatchIndex(good[:min(len(good), 4096)]); at != nil {
			b[at[2]] = '9'
		} else if len(b) > 8 {
			b[7] ^= 0x55 // behind the magic
		}
		return b
	}},
	{name: "of another run", change: func(_, other []byte) []byte { return other }},
}

// versions finds the number of the version in a text.
var versions = regexp.MustCompile(`(?i)(?:version|study|format)\D{0,12}?(\d)`)

func makeSocket(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer folder.Close()
	short := fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(path)) // the path of a socket must be short
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return errNotHere
	}
	l.SetUnlinkOnClose(false)
	return l.Close()
}

// slot is a place from which a command reads: a file or a folder that its line names, or one below such a folder.
type slot struct {
	args []string
	path string // in a world
	made bool   // the world has nothing there, so that what is said of it may be about something else
}

func (s slot) String() string { return "ocl " + strings.Join(s.args, " ") + " with a bad " + s.path }

// takesPath says whether a flag takes a path.
func takesPath(f *pflag.Flag) bool {
	return slices.Contains([]string{"FILE", "DIR", "PATH", "RUN", "GRID"}, annotation(f, valueKey))
}

// slots are all places from which a command reads: of each of its lines the words that are paths in the world, with all
// below them, and of its first line each flag and each key that takes a path too.
func slots(world, path string, cmd *cobra.Command) (all []slot) {
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
			name, value, pair := strings.Cut(strings.TrimLeft(word, "-"), "=")
			given[name] = true
			if !pair {
				value = word
			}
			_ = filepath.WalkDir(filepath.Join(world, value), func(p string, e fs.DirEntry, err error) error {
				rel := strings.TrimPrefix(p, world+"/")
				switch {
				case err != nil:
					return filepath.SkipAll // the word is no path
				case rel == value, e.Type().IsRegular():
					if sample := digits.ReplaceAllString(rel, "N"); strings.HasPrefix(rel, "images/") && seen[line+sample] {
						return nil // one picture of all
					} else {
						seen[line+sample] = true
					}
					add(slot{args: args, path: rel})
				case e.IsDir() && !strings.HasPrefix(rel, "images/"): // beside the folders of images may lie anything
					add(slot{args: args, path: rel})
				}
				return nil
			})
		}
		if n > 0 {
			continue
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if takesPath(f) && !given[f.Name] && (f.Shorthand == "" || !given[f.Shorthand]) {
				add(slot{append(slices.Clone(args), "--"+f.Name, "bad"), "bad", true})
			}
		})
		for _, k := range config.Keys() {
			if k.Place && !given[k.Name] && strings.Contains(cmd.Use, "KEY=VALUE") {
				add(slot{append(slices.Clone(args), k.Name+"=bad"), "bad", true})
			}
		}
	}
	return all
}

// setSlots are the folders of data sets, and the files that are looked for there.
func setSlots() (all []slot) {
	for _, info := range data.Catalogue() {
		if !info.NeedsDir {
			continue
		}
		for _, command := range []string{"info", "verify"} {
			place := "sets/" + info.Name
			args := []string{"data", command, info.Name, "--data-dir", place}
			all = append(all, slot{args, place, true})
			names := map[string][]string{"mini-imagenet": {"mini-imagenet-cache-train.pkl", "train.csv"}}[info.Name]
			files, _ := filesOf(info.Name)
			for _, f := range files {
				names = append(names, f.Name)
			}
			for _, name := range names {
				all = append(all, slot{args, place + "/" + name, true},
					slot{slices.Replace(slices.Clone(args), 4, 5, place+"/"+name), place + "/" + name, true})
			}
		}
	}
	return all
}

var digits = regexp.MustCompile(`[0-9]+`)

// shortTrials and longTrials are how many trials of the table the tiers make. All, near ten thousand, take more than
// half an hour.
const (
	shortTrials = 10
	longTrials  = 1000
)

// TestBadFiles: whatever lies in the place of a file that a command reads, the command ends soon, with little memory
// and without a trace of Go: either with a short message that names the file, or as if the file were not there, if it
// can do without. The test draws some trials of the table (-killseed repeats them), the long tier more; BAD=REGEXP
// makes those that match, and BAD=. all.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	world := makeWorld(t)
	type trial struct {
		slot
		class badFile
	}
	var all []trial
	for path, cmd := range leaves(t) {
		for _, s := range slots(world, path, cmd) {
			for _, class := range badFiles {
				all = append(all, trial{s, class})
			}
		}
	}
	name := func(x trial) string { return x.class.name + ": " + x.String() }
	slices.SortFunc(all, func(a, b trial) int { return cmp.Compare(name(a), name(b)) })
	for _, s := range setSlots() {
		for _, class := range badFiles {
			all = append(all, trial{s, class})
		}
	}
	draw := draws(t)
	draw.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	t.Logf("%d commands read at %d places", len(lines), len(all)/len(badFiles))
	some := os.Getenv("BAD")
	switch {
	case some != "":
		matches := regexp.MustCompile(some)
		all = slices.DeleteFunc(all, func(x trial) bool { return !matches.MatchString(name(x)) })
	case os.Getenv(longTier) == "":
		all = all[:shortTrials]
	default:
		all = all[:longTrials]
	}
	known := &knownOutcomes{world: world, of: map[string]func() outcome{}}
	var wg sync.WaitGroup
	next := make(chan trial)
	for range min(2, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for x := range next {
				if fault := x.try(world, x.class, known); fault != "" {
					t.Errorf("%s: %s", name(x), fault)
				}
			}
		})
	}
	for _, x := range all {
		next <- x
	}
	close(next)
	wg.Wait()
}

// try makes a copy of the world with the bad file, gives the command there, and says what is wrong with what it does.
func (s slot) try(world string, class badFile, known *knownOutcomes) string {
	dir, err := copyOf(world)
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	place := filepath.Join(dir, s.path)
	info, err := os.Stat(place)
	whole := err == nil && info.IsDir()
	if class.put == nil && (whole || s.made) {
		return "" // it is made of a good file
	}
	var content []byte
	if class.change != nil {
		good, err := os.ReadFile(place)
		if err != nil {
			return err.Error()
		}
		if content = class.change(good, ofAnotherRun(world, s.path)); content == nil || bytes.Equal(content, good) {
			return ""
		}
	}
	if err = errors.Join(os.RemoveAll(place), os.MkdirAll(filepath.Dir(place), 0o755)); err == nil {
		if class.put != nil {
			err = class.put(place)
		} else {
			err = os.WriteFile(place, content, 0o644)
		}
	}
	switch {
	case errors.Is(err, errNotHere):
		return ""
	case err != nil:
		return "it cannot be made: " + err.Error()
	}
	r := give(dir, s.args)
	text := r.stdout + r.stderr
	named := func(part string) bool { return strings.Contains(text, part) } // by its name, or that of its folder
	switch {
	case r.code < 0:
		return fmt.Sprintf("it hangs, with %d MB, until %v; %.500s", r.rss>>20, r.took, r.stderr)
	case strings.Contains(text, "goroutine ") || strings.Contains(text, "This is a bug"):
		return fmt.Sprintf("it crashes, with %d MB: %.500s", r.rss>>20, r.stderr)
	case r.rss > mostMemory:
		return fmt.Sprintf("it takes %d MB: %.500s", r.rss>>20, r.stderr)
	case len(r.stderr) > longMessage:
		return fmt.Sprintf("a message of %d bytes: %.500s", len(r.stderr), r.stderr)
	case r.code == exitDone:
		if class.name == "empty" && (s.made || strings.HasSuffix(s.path, ".yaml")) {
			return "" // an empty config is a config
		}
		if said := r.said(); said == known.outcome(s.args, s.path).said() || said == known.outcome(s.args, "").said() {
			return "" // it does without the file, or reads nothing of it
		}
		if !slices.ContainsFunc(strings.Split(s.path, "/"), named) {
			return fmt.Sprintf("it believes the file: %.500s", text)
		}
	case r.code != exitFailed && r.code != exitUsage &&
		!(r.code == exitDifferent && strings.HasPrefix(strings.Join(s.args, " "),
			"serve verify ")): // which says so of a damaged folder
		return fmt.Sprintf("exit code %d: %.500s", r.code, r.stderr)
	case s.made, r.said() == known.outcome(s.args, s.path).said(): // the flag may not fit the line; nothing is there
	case !slices.ContainsFunc(strings.Split(s.path, "/"), named):
		return fmt.Sprintf("exit code %d, and no message names it: %.500s", r.code, r.stderr)
	}
	return ""
}

// longMessage is the longest message, in bytes.
const longMessage = 3000

// ofAnotherRun is the content of the file of the other run of a world that is like a file; nil if there is none.
func ofAnotherRun(world, path string) []byte {
	parts := strings.Split(path, "/")
	if parts[0] != "x" && parts[0] != "half" {
		return nil
	}
	parts[0] = "y"
	for i, p := range parts {
		if strings.HasPrefix(p, "er-m20-s1-") {
			parts[i] = "er-m20-s2-*"
		}
	}
	found, err := filepath.Glob(filepath.Join(world, filepath.Join(parts...)))
	if err != nil || len(found) == 0 {
		return nil
	}
	content, _ := os.ReadFile(found[0]) // a folder has none
	return content
}

// knownOutcomes are those of commands in a world without a fault.
type knownOutcomes struct {
	world string
	mu    sync.Mutex
	of    map[string]func() outcome
}

// outcome is that of a command in a copy of the world without a file; "" is with all files.
func (k *knownOutcomes) outcome(args []string, without string) outcome {
	k.mu.Lock()
	key := strings.Join(append(slices.Clone(args), without), "\x00")
	if k.of[key] == nil {
		k.of[key] = sync.OnceValue(func() outcome {
			dir, err := copyOf(k.world)
			if err == nil {
				defer os.RemoveAll(dir)
				if without != "" {
					err = os.RemoveAll(filepath.Join(dir, without))
				}
			}
			if err != nil {
				return outcome{code: -1, err: err}
			}
			return give(dir, args)
		})
	}
	f := k.of[key]
	k.mu.Unlock()
	return f()
}

var changing = regexp.MustCompile(`[0-9.]+ ?(ms|s|m[0-9]+s|h[0-9]+m)\b|20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]+`)

// said is what a command printed, without what differs each time.
func (r outcome) said() string {
	return fmt.Sprint(r.code, changing.ReplaceAllString(strings.ReplaceAll(r.stdout+r.stderr, r.dir, "…"), "…"))
}
