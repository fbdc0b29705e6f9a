package paper

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ocl/survey"
)

// between is the text of the page between two comments of that name.
func between(t *testing.T, page, name string) string {
	t.Helper()
	_, text, ok := strings.Cut(page, "<!-- "+name+" -->\n")
	if !ok {
		t.Fatalf("docs/reproduction.md has no <!-- %s -->", name)
	}
	text, _, _ = strings.Cut(text, "<!-- /"+name+" -->")
	return text
}

// TestCommittedCells holds the cells to those of docs/reproduction.md, which results/methods.py writes from the names of files.
func TestCommittedCells(t *testing.T) {
	s := committed(t)
	text, err := os.ReadFile("../../docs/reproduction.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	found := map[string]*Cell{}
	for _, label := range []string{survey.ClassIncremental, survey.TricksCIFAR100} {
		var cells []*Cell
		for _, c := range cellsOf(t, s, label) {
			if (c.Column == survey.CIFAR100 || label == survey.TricksCIFAR100) && c.Repeat == "" {
				cells = append(cells, c)
				name, trick := c.Row, "–"
				if label == survey.TricksCIFAR100 {
					name, trick = c.Column, c.Row
				}
				found[fmt.Sprintf("%s|%s|%d", name, trick, c.Memory)] = c
			}
		}
		counts := CountVerdicts(cells)
		want := fmt.Sprintf("| %s |", label)
		for _, v := range Verdicts() {
			want += fmt.Sprintf(" %d |", counts[v])
		}
		want += fmt.Sprintf(" %d |\n", counts.Sum())
		if !strings.Contains(between(t, page, "count"), want) {
			t.Errorf("the cells count %q, but the page has\n%s", want, between(t, page, "count"))
		}
	}
	rows := 0
	for line := range strings.Lines(between(t, page, "cells")) {
		part := strings.Split(line, "|")
		if len(part) < 9 || strings.HasPrefix(part[1], "-") || strings.TrimSpace(part[1]) == "method" {
			continue
		}
		for i := range part {
			part[i] = strings.TrimSpace(part[i])
		}
		rows++
		memory, _ := strconv.Atoi(strings.ReplaceAll(part[3], ",", ""))
		c := found[fmt.Sprintf("%s|%s|%d", part[1], part[2], memory)]
		if c == nil {
			t.Errorf("there is no cell for %q", line)
			continue
		}
		var values []string
		for _, v := range c.Values {
			values = append(values, fmt.Sprintf("%.1f", v))
		}
		seeds := strings.Join(values, ", ")
		if seeds == "" {
			seeds = "–"
		}
		ours := "–"
		if c.Ours.N > 0 {
			ours = fmt.Sprintf("%.1f", c.Ours.Mean)
		}
		if c.Ours.N >= decisive {
			ours += fmt.Sprintf(" ± %.1f", c.Ours.Half)
		}
		if ours != part[4] || seeds != part[5] || string(c.Verdict()) != part[8] {
			t.Errorf("%s %s %d is %s (%s), %s, but the page has %s (%s), %s", part[1], part[2], memory, ours, seeds, c.Verdict(), part[4], part[5], part[8])
		}
	}
	if rows != 86 {
		t.Errorf("the page has %d cells, want 86", rows)
	}
}

// TestChosenSettings: settings.csv has the best settings of results/cifar100/tuning.csv with a memory of 5,000.
func TestChosenSettings(t *testing.T) {
	text, err := os.ReadFile("../../results/cifar100/tuning.csv")
	if err != nil {
		t.Fatal(err)
	}
	best, score := map[string]string{}, map[string]float64{}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Split(line, ",")
		if i == 0 {
			if !slices.Equal(f[:6], []string{"method", "memory", "lr", "weight_decay", "option", "average_accuracy"}) {
				t.Fatalf("tuning.csv begins with %s", line)
			}
			continue
		}
		v, err := strconv.ParseFloat(f[5], 64)
		if err != nil || math.IsNaN(v) || f[1] != "5000" && f[1] != "0" {
			continue
		}
		if old, ok := score[f[0]]; !ok || v > old {
			lr, _ := strconv.ParseFloat(f[2], 64)
			decay, _ := strconv.ParseFloat(f[3], 64)
			best[f[0]], score[f[0]] = fmt.Sprintf("%g %g %s", lr, decay, f[4]), v
		}
	}
	best["finetune"] = best["er"]
	for name, want := range best {
		s := chosen()[name]
		got := fmt.Sprintf("%g %g ", s.lr, s.weightDecay)
		if s.option != "" {
			got += fmt.Sprintf("method.%s.%s=%g", name, s.option, s.value)
		}
		if got != want {
			t.Errorf("%s has the settings %q, but tuning.csv chooses %q", name, got, want)
		}
	}
	if len(best) < 9 {
		t.Errorf("tuning.csv has %d methods", len(best))
	}
}

// TestCommands: every cell of a method that ocl has says how to run it.
func TestCommands(t *testing.T) {
	s := committed(t)
	form := regexp.MustCompile(`^ocl run --data \S+ --data-dir DIR .*--runs 1[05]$`)
	for _, label := range tables {
		for _, c := range cellsOf(t, s, label) {
			if command := c.Command(); c.Known && c.Row != bestRow && !form.MatchString(command) {
				t.Errorf("%s: %s %s %d: command %q", label, c.Row, c.Column, c.Memory, command)
			}
		}
	}
	for _, c := range cellsOf(t, s, survey.TricksCIFAR100) {
		if c.Row == "KDC*" && c.Column == "MIR" && c.Memory == 5000 {
			const want = "ocl run --data cifar100 --data-dir DIR --tasks 20 --protocol survey --eval final --method mir --memory 5000 --trick 'kdc*' " +
				"--lr 0.01 --weight-decay 0.0001 --set method.mir.candidates=50 --runs 15"
			if got := c.Command(); got != want {
				t.Errorf("the command is\n%s, want\n%s", got, want)
			}
		}
	}
}
