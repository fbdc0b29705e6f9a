package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ocl/internal/count"
	"ocl/run/metric/compare"
	"ocl/survey/findings"
	"ocl/view/report"
)

// byClaim are the findings of a group, those of one claim together.
func (p *page) byClaim(g findings.Group) (claims [][]findings.Finding) {
	for _, f := range p.claims {
		n := len(claims)
		switch {
		case f.Claim.Group != g:
		case n > 0 && claims[n-1][0].Claim.Title == f.Claim.Title:
			claims[n-1] = append(claims[n-1], f)
		default:
			claims = append(claims, []findings.Finding{f})
		}
	}
	return claims
}

// ClaimCount says how many claims have which verdict; a claim counts once for each data set.
func (p *page) ClaimCount() string {
	heads := []string{"claims about"}
	for _, v := range findings.Verdicts() {
		heads = append(heads, string(v))
	}
	t := tableOf(append(heads, "all")...)
	line := func(name string, list []findings.Finding) {
		row := []string{name}
		for _, v := range findings.Verdicts() {
			row = append(row, strconv.Itoa(len(withVerdict(list, v))))
		}
		t.row(append(row, strconv.Itoa(len(list)))...)
	}
	for _, g := range findings.Groups() {
		line(string(g), slices.Concat(p.byClaim(g)...))
	}
	line("all", p.claims)
	return t.String()
}

// withVerdict are the findings with a verdict.
func withVerdict(list []findings.Finding, v findings.Verdict) []findings.Finding {
	return slices.DeleteFunc(slices.Clone(list), func(f findings.Finding) bool { return f.Verdict != v })
}

// ClaimTable is a row for each claim of which some part is decided: those that fail on some data first, then those that
// are undecided on some, and those that hold.
func (p *page) ClaimTable() string {
	var claims [][]findings.Finding
	for _, g := range findings.Groups() {
		claims = append(claims, p.byClaim(g)...)
	}
	claims = slices.DeleteFunc(claims, func(list []findings.Finding) bool { return !slices.ContainsFunc(list, decided) })
	first := []findings.Verdict{findings.Fails, findings.Undecided, findings.Holds, findings.NotRun}
	rank := func(list []findings.Finding) int {
		return slices.IndexFunc(first, func(v findings.Verdict) bool { return len(withVerdict(list, v)) > 0 })
	}
	slices.SortStableFunc(claims, func(a, b []findings.Finding) int { return rank(a) - rank(b) })
	t := tableOf("claim", "verdict")
	for _, list := range claims {
		var verdicts []string
		for _, v := range first {
			if on := benchmarksOf(withVerdict(list, v)); len(on) > 0 && v != findings.NotRun {
				verdicts = append(verdicts, bold(v)+" on "+count.And(on))
			}
		}
		title := list[0].Claim.Title
		t.row(fmt.Sprintf("[%s](#%s)", title, anchor(title)), strings.Join(verdicts, "; "))
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
	case n != 1 && v == findings.Holds:
		return "hold"
	case n != 1 && v == findings.Fails:
		return "fail"
	case n != 1:
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

// mostRows is how many parts of a claim the page shows, but for those that fail, which it always shows. Parts with
// fewer than compare.LeastSeeds seeds have no verdict; it counts them.
const mostRows = 3

// Claims are all claims, below the studies that make the runs of a group: with a table of its parts each one of which
// some part is decided, and the others in a list.
func (p *page) Claims() string {
	var b strings.Builder
	var open [][]findings.Finding
	for _, g := range findings.Groups() {
		fmt.Fprintf(&b, "## %s\n\n", g)
		var studies []string
		for _, f := range slices.Concat(p.byClaim(g)...) {
			if name := f.Claim.StudyOf(f.Benchmark); !slices.Contains(studies, name) {
				studies = append(studies, name)
				fmt.Fprintf(&b, "    ocl sweep survey/studies/%s --data-dir DATA_DIR --results survey/results\n", name)
			}
		}
		b.WriteString("\n")
		for _, list := range p.byClaim(g) {
			if !slices.ContainsFunc(list, decided) {
				open = append(open, list)
				continue
			}
			b.WriteString(claim(list))
		}
	}
	b.WriteString("## No part is decided\n\n")
	for _, list := range open {
		c := list[0].Claim
		fmt.Fprintf(&b, "- **%s.** %s (`%s`) %s\n", c.Title, sentences(c), c.Source, verdicts(list))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// decided says whether a part of a finding holds or fails.
func decided(f findings.Finding) bool { return f.Count(findings.Holds)+f.Count(findings.Fails) > 0 }

// verdicts says what is known of a claim on each of its data sets.
func verdicts(list []findings.Finding) string {
	var all []string
	for _, f := range list {
		all = append(all, f.Benchmark+": "+verdictText(f))
	}
	return strings.Join(all, "; ") + "."
}

// sentences are what a claim says, what decides it, and what a reader should know of it.
func sentences(c findings.Claim) string {
	return strings.Join(slices.DeleteFunc([]string{c.Text, c.Rule, c.Note}, func(s string) bool { return s == "" }), " ")
}

func benchmarksOf(list []findings.Finding) (names []string) {
	for _, f := range list {
		names = append(names, f.Benchmark)
	}
	return names
}

// claim is a section: what the claim says, its verdicts, and the parts that matter most. claims.csv has the files.
func claim(list []findings.Finding) string {
	var b strings.Builder
	c := list[0].Claim
	fmt.Fprintf(&b, "### %s\n\n%s (`%s`)\n\n", c.Title, sentences(c), c.Source)
	var rows []partRow
	few := 0
	for _, f := range list {
		for _, part := range f.Parts {
			switch {
			case part.Verdict == findings.NotRun:
			case part.Seeds < compare.LeastSeeds:
				few++
			default:
				rows = append(rows, partRow{f.Benchmark, part})
			}
		}
	}
	b.WriteString(verdicts(list) + "\n\n")
	order := []findings.Verdict{findings.Fails, findings.Undecided, findings.Holds}
	slices.SortStableFunc(rows, func(a, b partRow) int {
		return slices.Index(order, a.Verdict) - slices.Index(order,
			b.Verdict)
	})
	shown := max(mostRows, slices.IndexFunc(rows, func(r partRow) bool { return r.Verdict != findings.Fails }))
	shown = min(shown, len(rows))
	if shown > 0 {
		b.WriteString(partTable(rows[:shown]) + "\n\n")
	}
	var more []string
	if n := len(rows) - shown; n > 0 {
		more = append(more, count.Of(n, "part")+" more")
	}
	if few > 0 {
		more = append(more, fmt.Sprintf("%s with fewer than three seeds that can be paired", count.Of(few, "part")))
	}
	if len(more) > 0 {
		fmt.Fprintf(&b, "In claims.csv: %s.\n\n", count.And(more))
	}
	return b.String()
}

// verdictText is the verdict of a claim on its data, with the number of its parts by verdict where it has more than
// one.
func verdictText(f findings.Finding) string {
	text := bold(f.Verdict)
	if len(f.Parts) < 2 || f.Verdict == findings.NotRun {
		return text
	}
	var counts []string
	for _, v := range findings.Verdicts() {
		if n := f.Count(v); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, plural(v, n)))
		}
	}
	return fmt.Sprintf("%s (of %d parts %s)", text, len(f.Parts), strings.Join(counts, ", "))
}

// partRow is a part of a claim on some data.
type partRow struct {
	benchmark string
	findings.Part
}

// partTable is a row for each part, without columns that say nothing.
func partTable(rows []partRow) string {
	has := func(of func(partRow) bool) bool { return slices.ContainsFunc(rows, of) }
	columns := []struct {
		head string
		is   bool
		of   func(partRow) string
	}{
		{"on", has(func(r partRow) bool { return r.benchmark != rows[0].benchmark }),
			func(r partRow) string { return r.benchmark }},
		{"part", true, func(r partRow) string { return r.What }},
		{"ocl", true, func(r partRow) string { return r.Ours }},
		{"seeds", true, func(r partRow) string { return strconv.Itoa(r.Seeds) }},
		{"p (Holm)", has(func(r partRow) bool { return !math.IsNaN(r.P) }),
			func(r partRow) string { return count.Chance(r.P) }},
		{"the paper", has(func(r partRow) bool { return r.Published != "" }),
			func(r partRow) string { return cmp.Or(r.Published, dash) }},
		{"", true, func(r partRow) string {
			text := bold(r.Verdict)
			if r.Why != "" {
				text += ": " + r.Why
			}
			if r.As != "" {
				text += " (see " + r.As + ")"
			}
			return text
		}},
	}
	var heads []string
	for _, c := range columns {
		if c.is {
			heads = append(heads, c.head)
		}
	}
	t := tableOf(heads...)
	for _, r := range rows {
		var row []string
		for _, c := range columns {
			if c.is {
				row = append(row, c.of(r))
			}
		}
		t.row(row...)
	}
	return t.String()
}

// claimsCSV has a line for each part of each claim on each data set.
func (p *page) claimsCSV() []byte {
	lines := [][]string{{"claim", "source", "data", "claim_verdict", "part", "ours", "seeds", "kernels", "p_holm",
		"p_sign_flip_holm", "published", "verdict", "why", "as_in", "study", "files"}}
	for _, f := range p.claims {
		for _, part := range f.Parts {
			lines = append(lines, []string{f.Claim.Title, f.Claim.Source, f.Benchmark, string(f.Verdict), part.What, part.Ours,
				strconv.Itoa(part.Seeds), part.Kernels,
				count.Exact(part.P), count.Exact(part.SignFlip), part.Published, string(part.Verdict), part.Why, part.As,
				f.Claim.StudyOf(f.Benchmark),
				each(part.Paths, p.below)})
		}
	}
	return report.CSV(lines)
}
