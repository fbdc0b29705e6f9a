package main

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ocl/report/findings"
)

// findingsText is docs/findings.md as people wrote it, filled in by the methods of findingsPage.
//
//go:embed findings.md.tmpl
var findingsText string

// findingsPage has what the page of the findings is filled in from.
type findingsPage struct {
	root string
	all  []findings.Finding
}

func newFindingsPage(p *page) *findingsPage {
	return &findingsPage{root: p.root, all: findings.Check(p.study)}
}

// claims are the findings, those of one claim together.
func (p *findingsPage) claims(g findings.Group) (claims [][]findings.Finding) {
	for _, f := range p.all {
		if f.Claim.Group != g {
			continue
		}
		if n := len(claims); n > 0 && claims[n-1][0].Claim.Title == f.Claim.Title {
			claims[n-1] = append(claims[n-1], f)
			continue
		}
		claims = append(claims, []findings.Finding{f})
	}
	return claims
}

// Count says how many claims have which verdict; a claim counts once for each data set.
func (p *findingsPage) Count() string {
	var heads []string
	for _, v := range findings.Verdicts() {
		heads = append(heads, string(v))
	}
	t := tableOf(append(append([]string{"claims about"}, heads...), "all")...)
	total := map[findings.Verdict]int{}
	line := func(name string, counts map[findings.Verdict]int) {
		row, sum := []string{name}, 0
		for _, v := range findings.Verdicts() {
			row, sum = append(row, strconv.Itoa(counts[v])), sum+counts[v]
		}
		t.row(append(row, strconv.Itoa(sum))...)
	}
	for _, g := range findings.Groups() {
		counts := map[findings.Verdict]int{}
		for _, f := range p.all {
			if f.Claim.Group == g {
				counts[f.Verdict]++
				total[f.Verdict]++
			}
		}
		line(string(g), counts)
	}
	line("all", total)
	return t.String()
}

// Summary is a row for each claim.
func (p *findingsPage) Summary() string {
	t := tableOf("claim", "of the survey's", "verdict")
	for _, g := range findings.Groups() {
		for _, list := range p.claims(g) {
			var verdicts []string
			for _, f := range list {
				text := f.Benchmark + ": " + bold(f.Verdict)
				if n := f.Count(findings.Holds); f.Verdict == findings.Undecided && n > 0 {
					text += fmt.Sprintf(" (%d of %d parts %s)", n, len(f.Parts), plural(findings.Holds, n))
				}
				verdicts = append(verdicts, text)
			}
			c := list[0].Claim
			t.row(fmt.Sprintf("[%s](#%s)", c.Title, anchor(c.Title)), "`"+c.Source+"`", strings.Join(verdicts, "; "))
		}
	}
	return t.String()
}

// bold marks the verdicts that decide.
func bold(v findings.Verdict) string {
	if v == findings.Holds || v == findings.Fails {
		return "**" + string(v) + "**"
	}
	return string(v)
}

// plural is a verdict as a sentence says it of some parts.
func plural(v findings.Verdict, n int) string {
	switch {
	case n > 1 && v == findings.Holds:
		return "hold"
	case n > 1 && v == findings.Fails:
		return "fail"
	case n > 1:
		return "are " + string(v)
	case v == findings.Undecided || v == findings.NotRun:
		return "is " + string(v)
	}
	return string(v)
}

// anchor is what links call a heading.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ' || r == '-':
			b.WriteByte('-')
		case unicode.IsLetter(r), unicode.IsNumber(r), r == '_':
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Claims are all claims with what bears on them.
func (p *findingsPage) Claims() string {
	var b strings.Builder
	for _, g := range findings.Groups() {
		fmt.Fprintf(&b, "## %s\n\n", g)
		for _, list := range p.claims(g) {
			c := list[0].Claim
			fmt.Fprintf(&b, "### %s\n\n%s (`%s`)", c.Title, c.Text, c.Source)
			for _, text := range []string{c.Rule, c.Note} {
				if text != "" {
					b.WriteString("\n\n" + text)
				}
			}
			b.WriteString("\n\n")
			var studies []string
			for _, f := range list {
				b.WriteString(p.finding(f))
				if name := c.StudyOf(f.Benchmark); !slices.Contains(studies, name) {
					studies = append(studies, name)
				}
			}
			for _, name := range studies {
				fmt.Fprintf(&b, "    ocl sweep studies/%s --data-dir DATA_DIR --results results\n", name)
			}
			b.WriteString("\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n\n")
}

// finding is a claim on a data set: the verdict, a row for each part with results, and the files.
func (p *findingsPage) finding(f findings.Finding) string {
	if f.Verdict == findings.NotRun {
		return fmt.Sprintf("%s: not run.\n\n", f.Benchmark)
	}
	var b strings.Builder
	var counts []string
	if len(f.Parts) > 1 {
		for _, v := range findings.Verdicts() {
			if n := f.Count(v); n > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", n, plural(v, n)))
			}
		}
		counts = []string{fmt.Sprintf(". Of %d parts %s", len(f.Parts), strings.Join(counts, ", "))}
	}
	fmt.Fprintf(&b, "%s: %s%s.\n\n", f.Benchmark, bold(f.Verdict), strings.Join(counts, ""))
	compares, published := false, false
	for _, part := range f.Parts {
		compares = compares || !math.IsNaN(part.P)
		published = published || part.Published != "" && part.Verdict != findings.NotRun
	}
	heads := []string{"part", "ocl", "seeds", "kernels"}
	if compares {
		heads = append(heads, "p, paired t (Holm)", "p, sign flip (Holm)")
	}
	if published {
		heads = append(heads, "the paper")
	}
	t := tableOf(append(heads, "")...)
	var missing []string
	for _, part := range f.Parts {
		if part.Verdict == findings.NotRun {
			missing = append(missing, part.What)
			continue
		}
		row := []string{part.What, part.Ours, strconv.Itoa(part.Seeds), orDash(part.Kernels)}
		if compares {
			row = append(row, probability(part.P), probability(part.SignFlip))
		}
		if published {
			row = append(row, orDash(part.Published))
		}
		verdict := bold(part.Verdict)
		if part.Why != "" {
			verdict += ": " + part.Why
		}
		t.row(append(row, verdict)...)
	}
	b.WriteString(t.String() + "\n\n")
	if n := len(missing); n > 0 {
		const most = 4
		if n > most {
			missing = append(missing[:most:most], fmt.Sprintf("and %d more", n-most))
		}
		fmt.Fprintf(&b, "Not run: %s.\n\n", strings.Join(missing, "; "))
	}
	fmt.Fprintf(&b, "From %s.\n\n", strings.ReplaceAll(files(p.root, f.Paths()), "` `", "`, `"))
	return b.String()
}

func orDash(text string) string {
	if text == "" {
		return dash
	}
	return text
}

// probability is a probability to three places, a dash where there is none.
func probability(p float64) string {
	switch {
	case math.IsNaN(p):
		return dash
	case p < 0.001:
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}
