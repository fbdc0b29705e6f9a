package archtest

import (
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// documents are the Markdown files of the repository, by their path below its root, without the code between fences.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path) // below it
		pages[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 20 {
		t.Fatalf("%d documents are found; there were 20 when the test was written", len(pages))
	}
	return pages
}

// fence matches code between fences.
var fence = regexp.MustCompile("(?ms)^```.*?^```$")

// anchors are the names that links to the headings of a page use, as GitHub makes them.
func anchors(page string) map[string]bool {
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ +(.*?) *$`).FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(m[1]) {
			switch {
			case r == ' ' || r == '-':
				b.WriteByte('-')
			case unicode.IsLetter(r), unicode.IsNumber(r), r == '_':
				b.WriteRune(r)
			}
		}
		name := b.String()
		for n := 1; names[name]; n++ {
			name = b.String() + "-" + string(rune('0'+n))
		}
		names[name] = true
	}
	return names
}

// TestLinksLead checks that every link within the repository leads to a file, and its anchor to a heading there.
func TestLinksLead(t *testing.T) {
	pages, links := documents(t), 0
	link := regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)`)
	for name, page := range pages {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
			to, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: the link to %s: %v", name, m[1], err)
				continue
			}
			if to.Scheme != "" {
				continue
			}
			links++
			target := name
			if to.Path != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), filepath.FromSlash(to.Path)))
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, and there is no %s", name, m[1], target)
			} else if there, is := pages[target]; to.Fragment != "" && (!is || !anchors(there)[to.Fragment]) {
				t.Errorf("%s links to %s, and %s has no such heading", name, m[1], target)
			}
		}
	}
	if links < 60 {
		t.Errorf("%d links are found, want at least the 60 that were there when the test was written", links)
	}
}

// testNames lists the functions of the test files: tests, fuzz targets, benchmarks and examples, and the packages that
// have them.
func testNames(t *testing.T) (all []string, packages map[string][]string) {
	t.Helper()
	packages = map[string][]string{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		dir, _ := filepath.Rel(root, filepath.Dir(path))
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			all = append(all, m[1])
			packages[filepath.ToSlash(dir)] = append(packages[filepath.ToSlash(dir)], m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, packages
}

// ciSteps are the steps of .ci/run, from its functions.
func ciSteps(t *testing.T) (script string, steps []string) {
	t.Helper()
	text, err := os.ReadFile(root + "/.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^step_(\w+)\(\)`).FindAllStringSubmatch(string(text), -1) {
		steps = append(steps, m[1])
	}
	return string(text), steps
}

// TestCommandsInDocs holds the commands that documents name, those of ocl apart (cli has the commands): targets of
// make, steps of .ci/run, packages of go and the tests that -run and -bench name, and every name of a test.
func TestCommandsInDocs(t *testing.T) {
	tests, _ := testNames(t)
	_, steps := ciSteps(t)
	makefile, err := os.ReadFile(root + "/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("`([^`\n]+)`|(?m:^    +(.+)$)")
	commands := 0
	for name, page := range documents(t) {
		for _, m := range code.FindAllStringSubmatch(page, -1) {
			words := strings.Fields(regexp.MustCompile(`\s(#|>|\|).*$`).ReplaceAllString(m[1]+m[2], ""))
			for len(words) > 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(words[0]) {
				words = words[1:]
			}
			if len(words) < 2 && !slices.Equal(words, []string{".ci/run"}) {
				continue
			}
			fault := ""
			switch words[0] {
			case "make":
				if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(words[1]) + `:`).Match(makefile) {
					fault = "the Makefile has no such target"
				}
			case ".ci/run":
				for _, s := range words[1:] {
					if !slices.Contains(steps, s) && !slices.Contains([]string{"all", "STEP...", "STEP"}, s) {
						fault = ".ci/run has no step " + s
					}
				}
			case "go":
				fault = goFault(words[1:], tests)
			default:
				continue
			}
			commands++
			if fault != "" {
				t.Errorf("%s: `%s`: %s", name, strings.Join(words, " "), fault)
			}
		}
		for _, m := range regexp.MustCompile(`(\w+\.)?\b((?:Test|Fuzz|Benchmark)[A-Z]\w*)`).FindAllStringSubmatch(page, -1) {
			if field := m[1] != "" && unicode.IsUpper(rune(m[1][0])); !field && !slices.Contains(tests, m[2]) {
				t.Errorf("%s names %s, and there is no such test", name, m[2])
			}
		}
	}
	if commands < 20 {
		t.Errorf("%d commands are found, want at least the 20 that were there when the test was written", commands)
	}
}

// goFault says what a go command names that is not there.
func goFault(words, tests []string) string {
	dir := root
	for i, w := range words {
		switch {
		case i > 0 && words[i-1] == "-C":
			dir = filepath.Join(root, w)
			if _, err := os.Stat(dir); err != nil {
				return "there is no folder " + w
			}
		case strings.HasPrefix(w, "./"):
			path := strings.TrimSuffix(strings.TrimSuffix(w, "/..."), "...")
			if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
				return "there is no " + w
			}
		case i > 0 && slices.Contains([]string{"-run", "-bench", "-fuzz"}, words[i-1]):
			if missing := unmatched(w, tests); missing != "" {
				return "no test matches " + missing
			}
		}
	}
	return ""
}

// unmatched is the first alternative of a pattern that matches none of the tests, "" for none. ^$ is there to match
// nothing.
func unmatched(pattern string, tests []string) string {
	for part := range strings.SplitSeq(strings.Trim(pattern, `'"`), "|") {
		name, _, _ := strings.Cut(part, "/")
		re, err := regexp.Compile(name)
		if err != nil || part != "^$" && !slices.ContainsFunc(tests, re.MatchString) {
			return part
		}
	}
	return ""
}

// TestPatternsOfCI checks that each alternative of every -run pattern in .ci/run matches a test of its packages.
// Otherwise the step would pass without testing anything.
func TestPatternsOfCI(t *testing.T) {
	script, _ := ciSteps(t)
	_, packages := testNames(t)
	patterns := 0
	for _, m := range regexp.MustCompile(`(?m)^.*\bgo test\b.* -run '([^']+)'(.*)$`).FindAllStringSubmatch(script, -1) {
		if strings.ContainsAny(m[1], "$") {
			continue // nothing, or a target that was listed
		}
		var tests []string
		for _, p := range regexp.MustCompile(`\./[\w/.]*`).FindAllString(m[2], -1) {
			below := strings.TrimPrefix(strings.TrimSuffix(p, "/..."), "./")
			for dir, names := range packages {
				if dir == below || strings.HasSuffix(p, "/...") && strings.HasPrefix(dir, below+"/") {
					tests = append(tests, names...)
				}
			}
		}
		patterns++
		if missing := unmatched(m[1], tests); missing != "" {
			t.Errorf(".ci/run: no test matches %s in%s", missing, m[2])
		}
	}
	if patterns == 0 {
		t.Error(".ci/run has no -run pattern")
	}
}

// TestStepsOfCI wants every function step_… of .ci/run among the steps that it runs, and the script to be one that the
// shell reads.
func TestStepsOfCI(t *testing.T) {
	script, steps := ciSteps(t)
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^(?:all|short)="([^"]*)"`).FindAllStringSubmatch(script, -1) {
		all = append(all, strings.Fields(m[1])...)
	}
	slices.Sort(all)
	slices.Sort(steps)
	all = slices.Compact(all)
	if !slices.Equal(all, steps) {
		t.Errorf(".ci/run runs %v and has %v", all, steps)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash; with it the syntax of .ci/run is checked")
	}
	if out, err := exec.Command(bash, "-n", root+"/.ci/run").CombinedOutput(); err != nil {
		t.Errorf("bash -n .ci/run: %v\n%s", err, out)
	}
}
