package arm64

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"
)

// TestWords: the instructions that Go's assembler lacks are those of their comments.
func TestWords(t *testing.T) {
	files, err := filepath.Glob("../../*_arm64.s")
	if err != nil || len(files) == 0 {
		t.Fatalf("no assembly: %v", err)
	}
	seen := map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			word, comment, ok := strings.Cut(strings.TrimSpace(line), " // ")
			if !ok || !strings.HasPrefix(word, "WORD $") {
				continue
			}
			var code uint32
			if _, err := fmt.Sscanf(word, "WORD $0x%x", &code); err != nil {
				t.Fatalf("%s: %s: %v", name, line, err)
			}
			i, err := arm64asm.Decode(binary.LittleEndian.AppendUint32(nil, code))
			if err != nil {
				t.Fatalf("%s: %s: %v", name, line, err)
			}
			if got := arm64asm.GNUSyntax(i); got != comment && !seen[got] {
				t.Errorf("%s: %#08x is %q, and the comment says %q", name, code, got, comment)
				seen[got] = true
			}
		}
	}
}
