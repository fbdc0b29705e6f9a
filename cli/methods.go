package cli

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/internal/escape"
	"ocl/internal/nearest"
	"ocl/learn/method"
)

func newMethods() *cobra.Command {
	var (
		markdown, tricks bool
		asJSON           jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "methods [NAME]",
		Short: "List the methods or the tricks, or describe one: its idea, formula, options and cost.",
		Example: `  ocl methods
  ocl methods er
  ocl methods --tricks
  ocl methods --tricks rv
  ocl methods --json name,citation
  ocl methods --markdown > docs/methods.md`,
		Args:              atMostOne("[NAME]"),
		ValidArgsFunction: completeFirst(methodNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if markdown && asJSON.given {
				return usage(fmt.Errorf("%s: --markdown and --json are both given. Remove one of them", pathOf(cmd)))
			}
			var text string
			var forJSON any
			switch {
			case len(args) > 0:
				e, err := entryCalled(args[0], tricks)
				if err != nil {
					return usage(err)
				}
				text, forJSON = e.describe(), e.json
				if markdown {
					text = e.markdown()
				}
			case tricks:
				text, forJSON = listTricks().String(), each(method.Tricks(), newTrickJSON)
				if markdown {
					_, text, _ = strings.Cut(methodsPage(), "\n# Tricks")
					text = "# Tricks" + text
				}
			default:
				text, forJSON = listMethods().String(), each(method.Catalogue(), newMethodJSON)
				if markdown {
					text = methodsPage()
				}
			}
			return asJSON.printOr(cmd.OutOrStdout(), forJSON, text)
		},
	}
	cmd.Flags().BoolVar(&tricks, "tricks", false,
		"list or describe the tricks (for --trick of `ocl run`) instead of the methods")
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print Markdown, as in docs/methods.md")
	addJSON(cmd, &asJSON, methodJSON{}, trickJSON{})
	return cmd
}

// meantMethod says which method an unknown name probably stands for.
func meantMethod(name string) string {
	about := func(name string) string {
		info, _ := method.Lookup(name)
		return info.Title + " " + info.Summary
	}
	return nearest.Names{List: methodNames(), Meaning: about, All: "`ocl methods` lists all methods"}.Hint(name)
}

// meantTrick says which trick an unknown name probably stands for.
func meantTrick(name string) string {
	about := func(name string) string {
		t, _ := method.LookupTrick(name)
		return t.Title + " " + t.Summary
	}
	return nearest.Names{List: trickNames()[1:], Meaning: about, All: "`ocl methods --tricks` lists all tricks"}.Hint(name)
}

func listMethods() table {
	t := table{head: []string{"name", "method", "memory", "signals", "summary"}}
	for _, group := range method.Grouped() {
		t.rows = append(t.rows, []string{"Methods " + group[0].Group()})
		for _, info := range group {
			memory := "none"
			if info.UsesMemory {
				memory = "samples"
			}
			t.rows = append(t.rows, []string{info.Name, info.Title, memory, listText(info.Signals), info.Summary})
		}
	}
	return t
}

func listTricks() table {
	t := table{head: []string{"name", "trick", "methods", "summary"}}
	for _, trick := range method.Tricks() {
		takes, _ := takers(trick)
		t.rows = append(t.rows, []string{trick.Name, trick.Title, joinWords(takes), trick.Summary})
	}
	return t
}

func listText(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return joinWords(names)
}

// entry is a method or a trick as it is described.
type entry struct {
	name, heading, title, summary string
	group                         string // of a method
	idea                          string
	facts                         []fact
	options                       []config.Option
	advice                        []method.Advice
	json                          any
}

// fact is a line of what there is to say of a method or a trick.
type fact struct{ name, text string }

// entryCalled is the method or the trick of that name.
func entryCalled(name string, isTrick bool) (entry, error) {
	info, noMethod := method.Lookup(name)
	trick, noTrick := method.LookupTrick(name)
	switch {
	case isTrick && noTrick != nil:
		return entry{}, fmt.Errorf("unknown trick %q. %s", name, meantTrick(name))
	case isTrick:
		return trickEntry(trick), nil
	case noMethod != nil && noTrick == nil:
		return entry{}, fmt.Errorf("%q is a trick, not a method. Use `ocl methods --tricks %s`", name, escape.Word(name))
	case noMethod != nil:
		return entry{}, fmt.Errorf("unknown method %q. %s", name, meantMethod(name))
	}
	return methodEntry(info), nil
}

func methodEntry(info method.Info) entry {
	memory, settings := "none", "network and optimizer only"
	if info.Solves != nil {
		settings = "its own only"
	}
	if info.UsesMemory {
		memory = "stores samples"
	}
	if len(info.Settings) > 0 {
		settings = joinWords(info.Settings)
	}
	tuning := gridText(info.Paper)
	if other := gridText(info.Authors); other != tuning {
		tuning += "; by the authors' files: " + other
	}
	facts := []fact{
		{"update", info.Formula},
		{"memory", memory},
		{"signals", listText(info.Signals)},
		{"predicts", info.Rule()},
		{"settings", settings},
		{"tuning", tuning},
		{"cost", info.CostPerStep},
		{"expect", info.Expect},
		{"citation", info.Citation},
	}
	if module, version := info.Origin(); module != "" {
		facts = append(facts, fact{"module", module + " " + version})
	}
	return entry{name: info.Name, heading: info.Name, title: info.Title, group: info.Group(),
		summary: info.Summary, idea: info.Idea,
		facts: facts, options: info.Options, advice: info.Advice, json: newMethodJSON(info)}
}

func trickEntry(t method.Trick) entry {
	takes, refusals := takers(t)
	facts := []fact{
		{"update", t.Formula},
		{"signals", listText(t.Signals)},
		{"settings", listText(t.Settings)},
		{"methods", joinWords(takes)},
		{"refused by", strings.Join(refusals, "; ")},
	}
	for _, other := range method.Tricks() {
		if reason, excluded := t.Excludes(other); excluded {
			facts = append(facts, fact{"not with", other.Name + ": " + reason})
		}
	}
	return entry{name: t.Name, heading: "Trick " + inTable(t.Name), title: t.Title, summary: t.Summary, idea: t.Idea,
		options: t.Options, facts: append(facts, fact{"cost", t.Cost}, fact{"expect", t.Expect}, fact{"citation", t.Citation}),
		json: newTrickJSON(t)}
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

// gridText writes a grid as "optimizer.lr 0.01, 0.1 · optimizer.weight_decay 0, 0.001".
func gridText(g method.Grid) string {
	if len(g) == 0 {
		return "no grid"
	}
	return strings.Join(each(g, func(a method.Axis) string {
		return a.Key + " " +
			joinWords(each(a.Values, config.FormatValue))
	}), " · ")
}

// told are the facts that have a text: a method of another module may say less.
func (e entry) told() []fact {
	return slices.DeleteFunc(slices.Clone(e.facts), func(f fact) bool { return f.text == "" })
}

// describe is an entry as a terminal shows it.
func (e entry) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", e.name, e.title)
	for _, text := range []string{e.summary, e.idea} {
		if text == "" {
			continue
		}
		fmt.Fprintf(&b, "%s\n\n", strings.Join(fold(text, plainWidth), "\n"))
	}
	for _, f := range e.told() {
		for _, line := range fold(f.text, plainWidth-12) {
			fmt.Fprintf(&b, "%-10s  %s\n", f.name, line)
			f.name = ""
		}
	}
	if len(e.options) > 0 {
		fmt.Fprintf(&b, "\nOptions, set by method.%s.NAME=VALUE:\n", e.name)
		t := table{head: []string{"name", ">default", "range", "meaning"}}
		for _, o := range e.options {
			t.rows = append(t.rows, []string{o.Name, config.FormatValue(o.Default), o.Wanted(), o.Meaning})
		}
		b.WriteString(t.String())
	}
	if len(e.advice) > 0 {
		fmt.Fprint(&b, "\nHow to choose those that decide whether it works:\n")
		for _, a := range e.advice {
			fmt.Fprintf(&b, "\n%s\n  %s\n", a.Of, strings.Join(fold(a.Text, plainWidth-2), "\n  "))
		}
	}
	return b.String()
}

// markdown is the section of docs/methods.md about an entry, without what stands in the table of all entries, and what
// describe says to those who use it.
func (e entry) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s: %s %s\n\n| | |\n|---|---|\n", e.heading, e.title, e.summary, e.idea)
	for _, f := range e.told() {
		switch f.name {
		case "memory", "signals", "predicts", "methods", "settings", "tuning":
		default:
			fmt.Fprintf(&b, "| %s | %s |\n", f.name, inTable(f.text))
		}
	}
	return b.String()
}

// inTable is Markdown for a cell of a table.
func inTable(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`).Replace(text)
}

// methodsText is docs/methods.md without what is made of the catalogue.
//
//go:embed methods.md.tmpl
var methodsText string

// methodsPage is docs/methods.md.
func methodsPage() string {
	all := each(slices.Concat(method.Grouped()...), methodEntry)
	headings := append([]string{"Methods"}, each(all, func(e entry) string { return e.heading })...)
	headings = append(headings, "Tricks")
	headings = append(headings, each(method.Tricks(), func(t method.Trick) string { return trickEntry(t).heading })...)
	at := anchors(headings)
	var methods, tricks string
	for i, e := range all {
		methods += fmt.Sprintf("| [%s](#%s) | %s | %s | %s | %s | %s |\n", e.name, at[1+i], inTable(e.title), e.group,
			e.facts[1].text, e.facts[2].text, inTable(e.facts[3].text))
	}
	for _, e := range all {
		methods += "\n" + e.markdown()
	}
	for i, t := range method.Tricks() {
		takes, _ := takers(t)
		tricks += fmt.Sprintf("| [%s](#%s) | %s | %s | %s |\n", inTable(t.Name), at[len(all)+2+i], t.Title,
			listText(t.Signals), joinWords(takes))
	}
	for _, t := range method.Tricks() {
		tricks += "\n" + trickEntry(t).markdown()
	}
	return strings.NewReplacer("{{methods}}", strings.TrimSuffix(methods, "\n")+"\n", "{{tricks}}",
		tricks).Replace(methodsText)
}

// anchors returns the anchors of a page's headings, as GitHub makes them: letters, digits, hyphens and underscores are
// kept, a space becomes a hyphen, and a heading whose anchor is taken gets a number.
func anchors(headings []string) []string {
	names, taken := make([]string, len(headings)), map[string]bool{}
	for i, heading := range headings {
		plain := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r):
				return r
			}
			return -1
		}, strings.ToLower(heading))
		names[i] = plain
		for n := 1; taken[names[i]]; n++ {
			names[i] = fmt.Sprintf("%s-%d", plain, n)
		}
		taken[names[i]] = true
	}
	return names
}
