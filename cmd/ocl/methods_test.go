package main

import (
	"os"
	"strings"
	"testing"

	"ocl/method"
	"ocl/report"
)

func TestMethodsPageIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../../docs/methods.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := methodsPage(&b, method.Catalogue()); err != nil {
		t.Fatal(err)
	}
	if b.String() != string(page) {
		t.Error("docs/methods.md is not what the catalogue says; run `go run ./cmd/ocl methods --markdown > docs/methods.md`")
	}
}

// TestIdeasAreShort: `ocl methods NAME` tells the idea in at most four lines.
func TestIdeasAreShort(t *testing.T) {
	for _, info := range method.Catalogue() {
		if lines := fold(info.Idea, plainWidth); len(lines) > 4 {
			t.Errorf("%s: the idea takes %d lines of %d characters, want at most 4", info.Name, len(lines), plainWidth)
		}
	}
}

// Reports are told the look of every method.
func TestKnownMethodsHaveTheirLooks(t *testing.T) {
	known := knownMethods()
	for i, info := range method.Catalogue() {
		if k := known[i]; k.Name != info.Name || k.Look != info.Look || (k.Bound == report.NoBound) != (k.Look > 0) {
			t.Errorf("reports are told %+v of %s with the look %d", k, info.Name, info.Look)
		}
	}
}
