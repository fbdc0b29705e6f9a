package cli

import (
	"os"
	"strings"
	"testing"

	"ocl/learn/method"
	"ocl/run/experiment"
)

func TestMethodsPageIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../docs/methods.md")
	if err != nil {
		t.Fatal(err)
	}
	if methodsPage() != string(page) {
		t.Error("docs/methods.md is not what the catalogue says; run `go run ./cmd/ocl methods --markdown > docs/methods.md`")
	}
}

// TestCommandsPageIsCurrent holds docs/cli.md against the commands.
func TestCommandsPageIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := writePage(&b, newRoot(&b, &b)); err != nil {
		t.Fatal(err)
	}
	if b.String() != string(page) {
		t.Error("docs/cli.md is not what the commands say; run `go run ./cmd/ocl help --markdown > docs/cli.md`")
	}
}

// TestConfigPageIsCurrent: docs/format/config.md has the keys as `ocl config keys --markdown` prints them. It is here
// because tests of package experiment register a network, which the keys would name.
func TestConfigPageIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../docs/format/config.md")
	if err != nil {
		t.Fatal(err)
	}
	if table := experiment.Schema().Markdown(); !strings.Contains(string(page), table) {
		t.Error("docs/format/config.md is not current; put the output of `go run ./cmd/ocl config keys --markdown` into it")
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
