package findings

import (
	"fmt"
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/survey"
	"ocl/survey/paper"
)

// commented are the titles of the claims that a comment of the survey on a method or a trick stands for.
var commented = map[paper.Comment][]string{
	{Table: survey.MethodComments, Row: "EWC++", Number: "1"}: {"EWC++ and Finetune"},
	{Table: survey.MethodComments, Row: "EWC++", Number: "2"}: {"EWC++ explodes with λ"},
	{Table: survey.MethodComments, Row: "LwF", Number: "1"}:   {"LwF and small memories"},
	{Table: survey.MethodComments, Row: "LwF", Number: "2"}:   {"LwF falls behind"},
	{Table: survey.MethodComments, Row: "ER", Number: "1"}:    {"Run time of ER"},
	{Table: survey.MethodComments, Row: "ER", Number: "2"}:    {"GSS stays below ER", "MIR and ER"},
	{Table: survey.MethodComments, Row: "MIR", Number: "1"}: {"GDumb leads with larger memories", "MIR leads on CORe50",
		"Methods that replay are alike"},
	{Table: survey.MethodComments, Row: "MIR", Number: "2"}:    {"MIR and ER"},
	{Table: survey.MethodComments, Row: "GSS", Number: "1"}:    {"Run times of methods"},
	{Table: survey.MethodComments, Row: "GSS", Number: "2"}:    {"GSS stays below ER"},
	{Table: survey.MethodComments, Row: "iCaRL", Number: "1"}:  {"iCaRL leads with a small memory"},
	{Table: survey.MethodComments, Row: "A-GEM", Number: "1"}:  {"A-GEM and Finetune"},
	{Table: survey.MethodComments, Row: "GDumb", Number: "1"}:  {"GDumb leads with larger memories"},
	{Table: survey.MethodComments, Row: "GDumb", Number: "2"}:  {"GDumb falls behind", "What GDumb stores"},
	{Table: survey.MethodComments, Row: "GDumb", Number: "3"}:  {"Run times of methods"},
	{Table: survey.MethodComments, Row: "CN-DPM", Number: "1"}: {"CN-DPM with a small memory"},
	{Table: survey.MethodComments, Row: "CN-DPM", Number: "3"}: {"Run times of methods"},
	{Table: survey.TrickComments, Row: "LB", Number: "1"}: {"Tricks for a small memory",
		"Tricks for a small memory on Mini-ImageNet"},
	{Table: survey.TrickComments, Row: "LB", Number: "2"}:  {"Overhead of tricks", "Run times of tricks"},
	{Table: survey.TrickComments, Row: "KDC", Number: "1"}: {"KDC fails with a large memory", "New classes under KDC"},
	{Table: survey.TrickComments, Row: "KDC*", Number: "1"}: {"Every trick helps", "Overhead of tricks",
		"Run times of tricks"},
	{Table: survey.TrickComments, Row: "MI", Number: "1"}:  {"Tricks that depend on the memory"},
	{Table: survey.TrickComments, Row: "MI", Number: "2"}:  {"Overhead of tricks"},
	{Table: survey.TrickComments, Row: "SS", Number: "1"}:  {"KDC, KDC* and separated softmax", "Tricks by run time"},
	{Table: survey.TrickComments, Row: "NCM", Number: "1"}: {"The nearest class mean helps always"},
	{Table: survey.TrickComments, Row: "NCM", Number: "2"}: {"Two tricks beat every plain method"},
	{Table: survey.TrickComments, Row: "NCM", Number: "3"}: {"Run times of tricks"},
	{Table: survey.TrickComments, Row: "RV", Number: "1"}:  {"Review helps with a large memory"},
	{Table: survey.TrickComments, Row: "RV", Number: "2"}:  {"Two tricks beat every plain method"},
	{Table: survey.TrickComments, Row: "RV", Number: "3"}:  {"Run times of tricks", "Tricks by run time"},
}

// Comments are what results show of the survey's comments: a line for each of their claims on each benchmark that
// something was run for, with the parts about the row of the comment.
func Comments(s *paper.Study) map[paper.Comment][]string {
	of := map[string][]Finding{}
	for _, f := range Check(s) {
		of[f.Claim.Title] = append(of[f.Claim.Title], f)
	}
	lines := map[paper.Comment][]string{}
	for c, titles := range commented {
		for _, title := range titles {
			for _, f := range of[title] {
				if parts := f.about(c.Row); len(parts) > 0 {
					lines[c] = append(lines[c], fmt.Sprintf("%s (%s): %s", title, f.Benchmark, strings.Join(parts, "; ")))
				}
			}
		}
	}
	return lines
}

// about are the parts of a finding that name a method or a trick, and have a result.
func (f Finding) about(name string) (parts []string) {
	for _, p := range f.Parts {
		named := slices.Contains(strings.FieldsFunc(p.What, func(r rune) bool { return r == ' ' || r == ',' || r == ':' }),
			name)
		if named && p.Ours != "" {
			parts = append(parts, fmt.Sprintf("%s: %s (%s, %s)", p.What, p.Ours, count.Of(p.Seeds, "seed"), p.Verdict))
		}
	}
	return parts
}
