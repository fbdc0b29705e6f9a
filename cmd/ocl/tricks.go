package main

import (
	"fmt"
	"io"
	"strings"

	"ocl/internal/nearest"
	"ocl/method"
)

// printTricks lists the tricks, or describes the one called names[0].
func printTricks(w io.Writer, names []string, markdown bool, asJSON *jsonFlag) error {
	var b strings.Builder
	switch {
	case len(names) == 0 && asJSON.given:
		return asJSON.print(w, each(method.Tricks(), newTrickJSON))
	case len(names) == 0 && markdown:
		tricksInMarkdown(&b)
	case len(names) == 0:
		if err := listTricks(&b); err != nil {
			return err
		}
	default:
		t, err := method.LookupTrick(names[0])
		if err != nil {
			return usage(fmt.Errorf("unknown trick %q. %s", names[0], meantTrick(names[0])))
		}
		switch {
		case asJSON.given:
			return asJSON.print(w, newTrickJSON(t))
		case markdown:
			trickInMarkdown(&b, t)
		default:
			describeTrick(&b, t)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// meantTrick says which trick an unknown name probably stands for.
func meantTrick(name string) string {
	about := func(name string) string {
		t, _ := method.LookupTrick(name)
		return t.Title + " " + t.Summary
	}
	return nearest.Names{List: trickNames()[1:], Meaning: about, All: "`ocl methods --tricks` lists all tricks"}.Hint(name)
}

func listTricks(w io.Writer) error {
	t := table{head: []string{"name", "trick", "methods", "summary"}, right: make([]bool, 4)}
	for _, trick := range method.Tricks() {
		takes, _ := takers(trick)
		t.rows = append(t.rows, []string{trick.Name, trick.Title, joinWords(takes), trick.Summary})
	}
	return t.write(w)
}

func listText(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return joinWords(names)
}

// takers are the methods that take a trick, and the refusals of the others, as "names: reason".
func takers(t method.Trick) (takes, refusals []string) {
	var reasons []string
	refusers := map[string][]string{} // by reason
	for _, info := range method.Catalogue() {
		reason, refused := info.Refuses[t.Name]
		if !refused {
			takes = append(takes, info.Name)
			continue
		}
		if refusers[reason] == nil {
			reasons = append(reasons, reason)
		}
		refusers[reason] = append(refusers[reason], info.Name)
	}
	for _, reason := range reasons {
		refusals = append(refusals, joinWords(refusers[reason])+": "+reason)
	}
	return takes, refusals
}

// trickFacts are the facts about a trick besides its idea.
func trickFacts(t method.Trick) []fact {
	takes, refusals := takers(t)
	list := []fact{
		{"update", t.Formula},
		{"signals", listText(t.Signals)},
		{"settings", listText(t.Settings)},
		{"methods", joinWords(takes)},
		{"refused by", strings.Join(refusals, "; ")},
	}
	for _, other := range method.Tricks() {
		if reason, excluded := t.Excludes(other); excluded {
			list = append(list, fact{"not with", other.Name + ": " + reason})
		}
	}
	return append(list, fact{"cost", t.Cost}, fact{"expect", t.Expect}, fact{"citation", t.Citation})
}

func describeTrick(b *strings.Builder, t method.Trick) {
	fmt.Fprintf(b, "%s: %s\n\n", t.Name, t.Title)
	for _, text := range []string{t.Summary, t.Idea} {
		fmt.Fprintf(b, "%s\n\n", strings.Join(fold(text, plainWidth), "\n"))
	}
	for _, f := range trickFacts(t) {
		for _, line := range fold(f.text, plainWidth-12) {
			fmt.Fprintf(b, "%-10s  %s\n", f.name, line)
			f.name = ""
		}
	}
}

// tricksInMarkdown is the section of docs/methods.md on tricks.
func tricksInMarkdown(b *strings.Builder) {
	fmt.Fprint(b, "\n# Tricks\n\nMost replay methods take these tricks, one at a time or several joined by plus signs. `--trick none,ncm,lb+rv` runs each method of\n"+
		"`--method` three times: plain, with `ncm`, and with `lb` and `rv` together. If two tricks do not go together, or a method does not take a\n"+
		"trick, ocl says so before it runs anything.\n\n"+
		"| name | trick | signals | methods |\n|---|---|---|---|\n")
	for _, t := range method.Tricks() {
		takes, _ := takers(t)
		fmt.Fprintf(b, "| [%s](#%s) | %s | %s | %s |\n", escape(t.Name), trickAnchor(t), t.Title, listText(t.Signals), joinWords(takes))
	}
	for _, t := range method.Tricks() {
		fmt.Fprintln(b)
		trickInMarkdown(b, t)
	}
}

func trickInMarkdown(b *strings.Builder, t method.Trick) {
	fmt.Fprintf(b, "## Trick %s\n\n%s: %s\n\n%s\n| | |\n|---|---|\n", escape(t.Name), t.Title, t.Summary, ofPage(t.Page()))
	for _, f := range trickFacts(t) {
		fmt.Fprintf(b, "| %s | %s |\n", f.name, escape(f.text))
	}
}

// trickAnchor is the anchor of the heading of a trick. If two tricks have the same anchor without their signs, the
// later one gets a number.
func trickAnchor(t method.Trick) string {
	at := "trick-" + anchor(t.Name)
	if at != "trick-"+t.Name {
		at += "-1"
	}
	return at
}

// escape is text with the signs of Markdown escaped.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`).Replace(text)
}
