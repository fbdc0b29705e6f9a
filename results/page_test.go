package main

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/metric/compare"
)

// TestCommandsOfCells: what the commands of a table share stands above it, and a row with another value says it again.
func TestCommandsOfCells(t *testing.T) {
	commands := []string{
		"ocl run --data d --eval final --method er --memory 5 --lr 0.1 --runs 15",
		"ocl run --data d --eval seen --method er --memory 7 --lr 0.1 --set a=1 --runs 15",
		"ocl run --data d --eval final --method er --memory 9 --lr 0.1 --runs 15",
	}
	common := shared(commands)
	if want := []string{"ocl run", "data d", "eval final", "runs 15"}; !slices.Equal(common, want) {
		t.Errorf("they share %q, want %q", common, want)
	}
	if got, want := own(commands[1], common), "`--eval seen --method er --memory 7 --lr 0.1 --set a=1`"; got != want {
		t.Errorf("the second row has %s, want %s", got, want)
	}
}

// TestWordsOfPages: numbers and names of files as the pages have them.
func TestWordsOfPages(t *testing.T) {
	path := func(name string) string { return filepath.Join("root", "results", filepath.FromSlash(name)) }
	for got, want := range map[string]string{
		signed(-0.04): "+0.0", signed(-1.26): "−1.3", signed(2): "+2.0",
		thousands(0): "–", thousands(500): "500", thousands(10000): "10,000",
		joined([]float64{1, math.NaN(), 2.25}, "%.1f"): "1.0, 2.2", joined([]float64{math.NaN()}, "%.1f"): "–",
		files("root", nil): "–",
		files("root", []string{path("a/er-s1.json.gz"), path("a/er-s2.json.gz"), path("b/er-s3-all.json.gz")}): "`a/er-s{1,2}.json.gz` `b/er-s3-all.json.gz`",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestOrderOf: what the table of the survey's order says of each verdict.
func TestOrderOf(t *testing.T) {
	for c, want := range map[[2]string]string{
		{string(compare.FirstHigher)}: "holds", {string(compare.Alike)}: "holds", {string(compare.SecondHigher)}: "fails", {string(compare.Apart)}: "fails",
		{string(compare.Undecided), string(compare.NotSignificant)}: "undecided",
		{string(compare.Undecided), string(compare.FewSeeds)}:       "undecided: fewer than three seeds in common",
	} {
		if got := orderOf(compare.Comparison{Verdict: compare.Verdict(c[0]), Reason: compare.Reason(c[1])}); got != want {
			t.Errorf("%v is %q, want %q", c, got, want)
		}
	}
}

// TestFiguresOfText: a figure of a run that is not committed is an error that names it, and no gap in the page.
func TestFiguresOfText(t *testing.T) {
	runs, err := allRuns()
	if err != nil {
		t.Fatal(err)
	}
	p, err := openPage("..", runs)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{{.Mean "er rv" 77}}`: "er rv with a memory of 77", `{{.Full "mir lb/ncm" 77}}`: "mir lb/ncm",
		`{{.Instead "er" 77 "replay.teacher=evaluation"}}`: "memory of 77", `{{.Of "er" "x"}}`: "no metric x", `{{.Nothing}}`: "Nothing",
	} {
		if _, err := fill("text", text, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{ // runs are paired with those of equal kernels, or the text says that there are none
		`{{.Instead "er kdc" 5000 "replay.teacher=evaluation"}}`: "(2 seeds)", `{{.Instead "icarl" 1000 "replay.teacher=evaluation"}}`: "(3 seeds, other kernels)",
	} {
		if got, err := fill("text", text, p); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s gives %q, %v, want %q", text, got, err, want)
		}
	}
	if text, err := fill("text", `{{.Mean "er" 5000}}`, p); err != nil || len(text) < 3 {
		t.Errorf("ER has %q, %v", text, err)
	}
}
