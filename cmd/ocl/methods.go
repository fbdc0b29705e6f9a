package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ocl/internal/nearest"
	"ocl/method"
)

func newMethods() *cobra.Command {
	return &cobra.Command{
		Use:   "methods [NAME]",
		Short: "List the methods, or describe one: its formula, options, what it needs to know and its cost.",
		Example: `  ocl methods
  ocl methods er`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactly("one NAME or nothing")(cmd, args)
			}
			return nil
		},
		ValidArgsFunction: completeFirst(methodNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listMethods(cmd.OutOrStdout())
			}
			info, err := method.Lookup(args[0])
			if err != nil {
				return usage(fmt.Errorf("unknown method %q; %s; see `ocl methods`", args[0], nearest.Hint(args[0], methodNames())))
			}
			return describeMethod(cmd.OutOrStdout(), info)
		},
	}
}

func listMethods(w io.Writer) error {
	t := table{head: []string{"name", "method", "memory", "summary"}, right: make([]bool, 4)}
	for _, info := range method.Catalogue() {
		memory := "none"
		if info.UsesMemory {
			memory = "samples"
		}
		t.rows = append(t.rows, []string{info.Name, info.Title, memory, info.Summary})
	}
	return t.write(w)
}

func describeMethod(w io.Writer, info method.Info) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", info.Name, info.Title)
	for _, text := range []string{info.Summary, info.Idea} {
		if text != "" {
			fmt.Fprintf(&b, "%s\n\n", strings.Join(fold(text, plainWidth), "\n"))
		}
	}
	field := func(name, text string) {
		if text == "" {
			return
		}
		for _, line := range fold(text, plainWidth-12) {
			fmt.Fprintf(&b, "%-10s  %s\n", name, line)
			name = ""
		}
	}
	field("formula", info.Formula)
	signals := "nothing but the stream"
	if len(info.Signals) > 0 {
		signals = joinWords(info.Signals)
	}
	field("signals", signals)
	field("settings", joinWords(info.Settings))
	field("cost", info.CostPerStep)
	field("expect", info.Expect)
	field("citation", info.Citation)
	if len(info.Options) > 0 {
		fmt.Fprintf(&b, "\nOptions, set by --set method.%s.NAME=VALUE:\n", info.Name)
		t := table{head: []string{"name", "default", "range", "meaning"}, right: []bool{false, true, false, false}}
		for _, o := range info.Options {
			t.rows = append(t.rows, []string{o.Name, fmt.Sprint(o.Default), o.Range, o.Meaning})
		}
		if err := t.write(&b); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
