package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ocl/config"
	"ocl/internal/nearest"
	"ocl/method"
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
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactly("[NAME]")(cmd, args)
			}
			return nil
		},
		ValidArgsFunction: completeFirst(methodNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if markdown && asJSON.given {
				return usage(fmt.Errorf("%s: --markdown and --json are both given. Remove one of them", pathOf(cmd)))
			}
			if tricks {
				return printTricks(cmd.OutOrStdout(), args, markdown, &asJSON)
			}
			write, infos := describeMethod, method.Catalogue()
			if markdown {
				write = describeInMarkdown
			}
			if len(args) > 0 {
				info, err := method.Lookup(args[0])
				if _, noTrick := method.LookupTrick(args[0]); err != nil && noTrick == nil {
					return usage(fmt.Errorf("%q is a trick, not a method. Use `ocl methods --tricks %s`", args[0], quoteWord(args[0])))
				}
				if err != nil {
					return usage(fmt.Errorf("unknown method %q. %s", args[0], meantMethod(args[0])))
				}
				if asJSON.given {
					return asJSON.print(cmd.OutOrStdout(), newMethodJSON(info))
				}
				return write(cmd.OutOrStdout(), info)
			}
			if asJSON.given {
				return asJSON.print(cmd.OutOrStdout(), each(infos, newMethodJSON))
			}
			if !markdown {
				return listMethods(cmd.OutOrStdout())
			}
			return methodsPage(cmd.OutOrStdout(), infos)
		},
	}
	cmd.Flags().BoolVar(&tricks, "tricks", false, "list or describe the tricks (for --trick of `ocl run`) instead of the methods")
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print Markdown, as in docs/methods.md")
	addJSON(cmd, &asJSON, methodJSON{}, trickJSON{})
	annotate(cmd.Flags(), groupOutput, map[string]string{"tricks": "", "markdown": ""})
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

func listMethods(w io.Writer) error {
	t := table{head: []string{"name", "method", "memory", "signals", "summary"}, right: make([]bool, 5)}
	for _, info := range method.Catalogue() {
		memory := "none"
		if info.UsesMemory {
			memory = "samples"
		}
		t.rows = append(t.rows, []string{info.Name, info.Title, memory, listText(info.Signals), info.Summary})
	}
	return t.write(w)
}

// fact is a line of what there is to say of a method.
type fact struct{ name, text string }

// facts are what is said of a method besides its idea and its options.
func facts(info method.Info) []fact {
	memory := "none"
	if info.UsesMemory {
		memory = "stores samples"
	}
	signals := "none"
	if len(info.Signals) > 0 {
		signals = joinWords(info.Signals)
	}
	settings := "network and optimizer only"
	if len(info.Settings) > 0 {
		settings = joinWords(info.Settings)
	}
	tuning := gridText(info.Paper)
	if other := gridText(info.Authors); other != tuning {
		tuning += "; by the authors' files: " + other
	}
	return []fact{
		{"update", info.Formula},
		{"memory", memory},
		{"signals", signals},
		{"predicts", info.Rule()},
		{"settings", settings},
		{"tuning", tuning},
		{"cost", info.CostPerStep},
		{"expect", info.Expect},
		{"citation", info.Citation},
	}
}

// gridText writes a grid as "optimizer.lr 0.01, 0.1 · optimizer.weight_decay 0, 0.001".
func gridText(g method.Grid) string {
	if len(g) == 0 {
		return "no grid"
	}
	var axes []string
	for _, a := range g {
		var values []string
		for _, v := range a.Values {
			values = append(values, config.FormatValue(v))
		}
		axes = append(axes, a.Key+" "+joinWords(values))
	}
	return strings.Join(axes, " · ")
}

func describeMethod(w io.Writer, info method.Info) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", info.Name, info.Title)
	for _, text := range []string{info.Summary, info.Idea} {
		fmt.Fprintf(&b, "%s\n\n", strings.Join(fold(text, plainWidth), "\n"))
	}
	for _, f := range facts(info) {
		for _, line := range fold(f.text, plainWidth-12) {
			fmt.Fprintf(&b, "%-10s  %s\n", f.name, line)
			f.name = ""
		}
	}
	if len(info.Options) > 0 {
		fmt.Fprintf(&b, "\nOptions, set by method.%s.NAME=VALUE:\n", info.Name)
		t := table{head: []string{"name", "default", "range", "meaning"}, right: []bool{false, true, false, false}}
		for _, o := range info.Options {
			t.rows = append(t.rows, []string{o.Name, config.FormatValue(o.Default), o.Wanted(), o.Meaning})
		}
		if err := t.write(&b); err != nil {
			return err
		}
	}
	if len(info.Advice) > 0 {
		fmt.Fprint(&b, "\nHow to choose those that decide whether it works:\n")
		for _, a := range info.Advice {
			fmt.Fprintf(&b, "\n%s\n", a.Of)
			for _, line := range fold(a.Text, plainWidth-2) {
				fmt.Fprintf(&b, "  %s\n", line)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// methodsIntroduction begins docs/methods.md.
const methodsIntroduction = `# Methods

This page explains the methods and the [tricks](#tricks) to readers who have not read their papers. A method is a way to learn from a
stream of batches. A trick changes one part of a method. ` + "`ocl methods NAME` and `ocl methods --tricks NAME`" + ` print a short form.

The survey is Mai et al., *Online Continual Learning in Image Classification: An Empirical Survey*. Symbols are the survey's: B_n is the
incoming batch, B_M the replay batch, M the memory or its size in samples, θ the parameters, ℓ the loss, and α the learning rate (α_lr
for EWC++, which has another α). Accuracies are for CIFAR-100 by the survey's protocol, 18 of 20 tasks: the mean over the tasks after the
last one, in per cent, with a 95 % interval. Tuning grids are those of the survey's table:hyper. [deviations.md](deviations.md) says where the survey's text and its
authors' code differ, and which of them ocl follows.

` + "`ocl methods --markdown > docs/methods.md`" + ` writes this page from the catalogue in ` + "`method/`" + ` and the texts in ` + "`method/page/`" + `; a test keeps it
current.

`

// methodsPage writes docs/methods.md.
func methodsPage(w io.Writer, infos []method.Info) error {
	var b strings.Builder
	fmt.Fprint(&b, methodsIntroduction+"| name | method | memory | signals | predicts |\n|---|---|---|---|---|\n")
	for _, info := range infos {
		f := facts(info)
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s | %s |\n", info.Name, anchor(info.Name), info.Title, f[1].text, f[2].text, f[3].text)
	}
	for _, info := range infos {
		fmt.Fprintln(&b)
		if err := describeInMarkdown(&b, info); err != nil {
			return err
		}
	}
	tricksInMarkdown(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// anchor is where a heading can be linked to: letters and digits alone are kept.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, heading)
}

// ofPage is a text of method/page with its links as docs/methods.md needs them.
func ofPage(text string) string { return strings.ReplaceAll(text, "(../../docs/", "(") }

// describeInMarkdown explains a method, and lists its facts and options.
func describeInMarkdown(w io.Writer, info method.Info) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s: %s\n\n%s\n", info.Name, info.Title, info.Summary, ofPage(info.Page()))
	fmt.Fprint(&b, "| | |\n|---|---|\n")
	for _, f := range facts(info) {
		fmt.Fprintf(&b, "| %s | %s |\n", f.name, strings.ReplaceAll(f.text, "|", `\|`))
	}
	if len(info.Options) > 0 {
		fmt.Fprintf(&b, "\n| option, `method.%s.…` | default | range | meaning |\n|---|---|---|---|\n", info.Name)
		for _, o := range info.Options {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", o.Name, config.FormatValue(o.Default), o.Wanted(), o.Meaning)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
