package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// twice are numbers that stand in two files. Each pattern has one group, the number.
var twice = []struct{ file, pattern, other, otherPattern string }{
	{"docs/studies.md", `A study of more than (\S+) runs needs`, "docs/limits.md",
		`runs a study may have without a word of its author \| (\S+) runs`},
	{"docs/studies.md", `more than (\S+) are not possible`, "docs/limits.md",
		`runs a study or an experiment may have at all \| (\S+) runs`},
	{"docs/serve.md", `A body has at most (\d+ MB)`, "docs/limits.md", `the size of the body of a request \| (\S+) bytes`},
	{"docs/serve.md", `A body has at most \d+ MB and (\S+) pictures`, "docs/limits.md",
		`the number of pictures in a request \| (\S+) pictures`},
	{"docs/serve.md", `a picture at most (\d+ mega)pixels`, "docs/limits.md",
		`the number of pixels of a picture in a request \| (\S+) pixels`},
	{"docs/data.md", `A set of your own has at most (\S+) images`, "docs/limits.md",
		`the number of a user's own images in a list or in folders \| (\S+) images`},
	{"docs/data.md", `images in (\S+) folders, which`, "docs/limits.md",
		`the number of folders that are walked for a user's own images \| (\S+) folders`},
	{"README.md", `one file of (\d+ MB)`, "tools/dist", `the largest had (\S+) on`},
	{"README.md", `ocl-(\S+)-linux-arm64\.tar\.gz`, "internal/edition/edition.go", `Release = "(\S+)"`},
}

// TestFactsThatStandTwice holds numbers of documents against the place that they come from. A number of MB or of
// megapixels is rounded.
func TestFactsThatStandTwice(t *testing.T) {
	read := func(file, pattern string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Join(strings.Fields(string(text)), " ")
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(words, -1)
		if len(found) == 0 {
			t.Errorf("%s: nothing matches %q. Correct the pattern in this test, or remove it with its fact", file, pattern)
			return ""
		}
		for _, m := range found {
			if m[1] != found[0][1] {
				t.Errorf("%s: %q is both %s and %s", file, pattern, found[0][1], m[1])
			}
		}
		return strings.ReplaceAll(found[0][1], ",", "")
	}
	for _, f := range twice {
		said, is := read(f.file, f.pattern), read(f.other, f.otherPattern)
		for _, unit := range []string{" MB", " mega"} {
			if n, ok := strings.CutSuffix(said, unit); ok {
				said = n
				if bytes, err := strconv.ParseFloat(is, 64); err == nil {
					is = strconv.FormatFloat(bytes/1e6, 'f', 0, 64)
				}
			}
		}
		if said != is {
			t.Errorf("%s says %s (%q), and %s says %s", f.file, said, f.pattern, f.other, is)
		}
	}
}

// TestMeasurementsAreDated: the head of a page of measurements, or each section, says when they were made. Each older
// figure has a date of its own.
func TestMeasurementsAreDated(t *testing.T) {
	date := regexp.MustCompile(`\d+ (January|February|March|April|May|June|July|August|September|October|November|` +
		`December) 20\d\d`)
	for page, least := range map[string]int{"benchmarks.md": 9, "beyond.md": 7} {
		text, err := os.ReadFile(filepath.Join(root, "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		sections := strings.Split(string(text), "\n## ")
		all := date.MatchString(sections[0])
		for _, s := range sections[1:] {
			title, rest, _ := strings.Cut(s, "\n")
			parts := []string{rest}
			if title == "Older figures" {
				parts = strings.Split(rest, "\n- ")[1:]
			}
			for _, p := range parts {
				if !date.MatchString(p) && (!all || title == "Older figures") && title != "What was tried" {
					t.Errorf("docs/%s: the section %q has no date, such as 28 November 2026, in %.80q", page, title, p)
				}
			}
		}
		if len(sections)-1 < least {
			t.Errorf("docs/%s has %d sections, want those of when the test was written", page, len(sections)-1)
		}
	}
}

// TestBenchmarksHaveTheirNames: docs/benchmarks.md has each name that measures something.
func TestBenchmarksHaveTheirNames(t *testing.T) {
	read := func(parts ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{root}, parts...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	script, page := read("cli", "internal", "bench", "all.sh"), read("docs", "benchmarks.md")
	names := regexp.MustCompile(`(?m)^(?:measure|serve) ([a-z0-9-]+) `).FindAllStringSubmatch(script, -1)
	if len(names) < 30 {
		t.Errorf("all.sh has %d names, want those of when the test was written", len(names))
	}
	var words []string
	for _, quoted := range regexp.MustCompile("`[^`]+`").FindAllString(page, -1) {
		words = append(words, strings.Fields(strings.Trim(quoted, "`"))...)
	}
	for _, n := range names {
		if !slices.Contains(words, n[1]) {
			t.Errorf("all.sh measures %s, and docs/benchmarks.md does not name it", n[1])
		}
	}
}
