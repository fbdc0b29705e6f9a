package cli

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// quotedLine is a command line in a document, a help text or a message.
type quotedLine struct {
	where, text string
	whole       bool // it stands on a line of its own, so that nothing is left out
}

// placeholders are the words in capitals that stand for something, and what the test puts there; a word behind a slash
// stays.
var placeholders = map[string]string{
	"STUDY": "exp.yaml", "METHOD": "er", "SEED": "1", "RATE": "0.1", "M": "500", "N": "2", "COMMAND": "run", "WORD": "lr",
	"SHELL": "bash", "KEY=VALUE": "seed=2", "KEY=VALUE...": "seed=2", "flags": "", "RESULT": "folder",
	"RESULT...": "folder", "PATH": "folder",
	"RUN": "folder", "RUNS": "folder", "RUNS...": "folder", "FORMAT": "npz", "DIR": "folder", "DIR...": "folder",
	"FILE": "exp.yaml", "FILE.json": "exp.yaml", "FILE.npz": "exp.npz", "exp.yaml": "exp.yaml", "result.json": "exp.yaml",
}

// TestLinesOfDocs holds every command line `ocl …` in the documents, the help and the messages to the commands: command
// and flags exist, and values are of their kinds. One that stands on a line of its own must be whole: with what the
// command takes, and for a run with settings that make a valid config.
func TestLinesOfDocs(t *testing.T) {
	lines := slices.Concat(linesOfDocs(t), linesOfHelp(), linesOfMessages(t))
	if len(lines) < 150 {
		t.Errorf("%d command lines are found, want at least the 150 that were there when the test was written", len(lines))
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"exp.yaml", "runs/er5k/experiment.yaml"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("seed: 1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	done := map[string]bool{}
	for _, l := range lines {
		args, err := wordsOf(l.text)
		if err != "" {
			t.Errorf("%s: %s: %s", l.where, l.text, err)
			continue
		}
		if key := strings.Join(args, "\x00") + strconv.FormatBool(l.whole); done[key] {
			continue
		} else {
			done[key] = true
		}
		if fault := checkLine(args, l.whole); fault != "" {
			t.Errorf("%s: %s: %s", l.where, l.text, fault)
		}
	}
}

// checkLine says what is wrong with a command line, "" for nothing.
func checkLine(args []string, whole bool) string {
	var out, errs bytes.Buffer
	root := newRoot(&out, &errs)
	root.InitDefaultHelpCmd()
	cmd, rest, err := root.Find(args)
	if err != nil || cmd == root && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return "there is no such command"
	}
	if last := len(rest) - 1; !whole && last >= 0 { // a sentence names a flag and leaves its value out
		if name, isFlag := strings.CutPrefix(rest[last], "--"); isFlag {
			if f := cmd.Flags().Lookup(name); f != nil && f.NoOptDefVal == "" {
				rest = rest[:last]
			}
		}
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err.Error()
	}
	given := cmd.Flags().Args()
	help := cmd.Flags().Changed("help")
	if cmd.Args != nil && !help && (whole || len(given) > 0) {
		if err := cmd.Args(cmd, given); err != nil {
			return err.Error()
		}
	}
	ctx, again := context.Background(), args
	var words, pairs []string
	for _, word := range given {
		if isPair(word) && strings.Contains(cmd.Use, "KEY=VALUE") {
			pairs = append(pairs, word)
		} else {
			words = append(words, word)
		}
	}
	switch path := strings.TrimPrefix(cmd.CommandPath(), "ocl "); {
	case path == "sweep": // it reads a study and writes a folder; testdata/script/sweep.txtar runs it
		if whole && !strings.HasSuffix(given[0], ".yaml") {
			return "STUDY is not the name of a study file"
		}
		return ""
	case cmd.HasSubCommands() && path != "report" && path != "serve" && len(given) > 0:
		return "there is no such command"
	case help, !whole && (path == "run" || path == "learn" || path == "tune" || len(given) == 0):
		return ""
	case path == "run", path == "tune", path == "data preview": // the config that it would have
		again = append([]string{"config", "show"}, pairs...)
		if path == "data preview" {
			again = append(again, "--data", words[0])
		}
		shown := newConfigShow().Flags()
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if shown.Lookup(f.Name) != nil && f.Name != "json" {
				again = append(again, "--"+f.Name+"="+f.Value.String())
			}
		})
	case path == "bench methods": // up to where it would measure
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		stop()
	case path == "learn" && !cmd.Flags().Changed("data"):
		return "--data is missing"
	case path == "export": // it reads a run
		if _, err := formatOf(cmd, cmd.Flags().Lookup("to").Value.String()); err != nil {
			return err.Error()
		}
		return ""
	case path == "report import": // it reads a table; testdata/script/import.txtar does so
		for _, flag := range []string{"method", "data", "program"} {
			if whole && !cmd.Flags().Changed(flag) {
				return "--" + flag + " is missing"
			}
		}
		return ""
	case !slices.Contains([]string{"methods", "config show", "config keys", "config schema", "config check", "data list",
		"data streams", "help", ""}, path):
		return "" // it reads or writes files, or takes its time; the scripts run it
	}
	if code := execute(ctx, again, &out, &errs); code != exitDone && code != exitInterrupted {
		return strings.TrimSpace(errs.String())
	}
	return ""
}

// wordsOf splits a line as a shell does, and puts values where placeholders stand.
func wordsOf(text string) (args []string, fault string) {
	var word strings.Builder
	inside, quote := false, rune(0)
	end := func() {
		if inside {
			args = append(args, word.String())
		}
		word.Reset()
		inside = false
	}
	for _, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, inside = c, true
		case c == ' ':
			end()
		default:
			inside = true
			word.WriteRune(c)
		}
	}
	if end(); quote != 0 {
		return nil, "a quotation mark has no end"
	}
	args = args[1:] // ocl
	var out []string
	for _, a := range args {
		a = strings.Trim(a, "[]")
		if a == "…" || a == "..." {
			continue
		}
		flag, value, is := strings.Cut(a, "=")
		if p, known := placeholders[value]; is && known && strings.HasPrefix(flag, "--") {
			a = flag + "=" + p
		}
		if p, known := placeholders[a]; known {
			a = p
		}
		if a == "NAME" || a == "NAME..." {
			a = map[bool]string{true: "glyphs", false: "er"}[slices.Contains(out, "data")]
			if slices.Contains(out, "--tricks") {
				a = "rv"
			}
		}
		out = append(out, a)
	}
	return out, ""
}

var (
	comment    = regexp.MustCompile(`\s+#.*$`)
	calls      = regexp.MustCompile(`^(?:\$ )?((?:[A-Z_]+=\S+ )*)(?:ocl|go run \./cmd/ocl)((?: .*)?)$`)
	inlineCode = regexp.MustCompile("`([^`\n]+)`")
	inMessage  = regexp.MustCompile("[`“\"]((?:OCL_[A-Z]+=\\S+ )*ocl(?: [^`”\"\n]*)?)")
)

// call is the line of ocl in a line of a shell, "" where there is none: without variables before it, and without what
// follows it.
func call(line string) string {
	line = comment.ReplaceAllString(strings.TrimSpace(line), "")
	line = strings.TrimSuffix(strings.TrimPrefix(line, "source <("), ")")
	m := calls.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	line, _, _ = strings.Cut(m[2], " > ")
	line, _, _ = strings.Cut(line, " | ")
	line, _, _ = strings.Cut(line, " && ")
	return "ocl" + strings.TrimRight(line, " ")
}

// linesOfDocs are those of all Markdown files: lines of code blocks, and code within a line.
func linesOfDocs(t *testing.T) (all []quotedLine) {
	t.Helper()
	eachFile(t, ".md", func(path string, text []byte) {
		if path == "CHANGELOG.md" { // it says what was
			return
		}
		fenced := false
		for at, line := range joinedLines(string(text)) {
			where := path + ":" + strconv.Itoa(at)
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			if c := call(line); c != "" && (fenced || strings.HasPrefix(line, "    ")) {
				all = append(all, quotedLine{where, c, true})
				continue
			}
			for _, m := range inlineCode.FindAllStringSubmatch(line, -1) {
				if c := call(m[1]); c != "" {
					all = append(all, quotedLine{where, c, false})
				}
			}
		}
	})
	return all
}

// joinedLines yields the lines of a text with their numbers; one that ends in a backslash goes on in the next.
func joinedLines(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		before, at, n := "", 0, 0
		for line := range strings.Lines(text) {
			n++
			if before == "" {
				at = n
			}
			line = strings.TrimSuffix(line, "\n")
			if part, more := strings.CutSuffix(line, "\\"); more {
				before += part
				continue
			}
			if before != "" {
				line = before + strings.TrimSpace(line)
			}
			before = ""
			if !yield(at, line) {
				return
			}
		}
	}
}

// linesOfHelp are the examples of all commands.
func linesOfHelp() (all []quotedLine) {
	for _, cmd := range allCommands(newRoot(&bytes.Buffer{}, &bytes.Buffer{})) {
		for line := range strings.Lines(cmd.Example) {
			if c := call(line); c != "" {
				all = append(all, quotedLine{"ocl help " + cmd.CommandPath(), c, true})
			}
		}
	}
	return all
}

// linesOfMessages are those in quotes in the texts of the program: messages, usages and longer help.
func linesOfMessages(t *testing.T) (all []quotedLine) {
	t.Helper()
	verb := regexp.MustCompile(`%[a-z]`)
	eachFile(t, ".go", func(path string, source []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "_asm") {
			return
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, is := n.(*ast.BasicLit)
			if !is || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range inMessage.FindAllStringSubmatch(text, -1) {
				if c := call(verb.ReplaceAllString(m[1], "NAME")); c != "" {
					all = append(all, quotedLine{set.Position(lit.Pos()).String(), c, false})
				}
			}
			return true
		})
	})
	return all
}

// eachFile calls f with every file of the repository whose name ends so.
func eachFile(t *testing.T, ext string, f func(path string, text []byte)) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && strings.HasPrefix(e.Name(), ".") && path != root:
			return fs.SkipDir
		case e.IsDir() || filepath.Ext(path) != ext:
			return nil
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path) // below it
		f(name, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
