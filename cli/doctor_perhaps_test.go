package cli

import (
	"strings"
	"testing"

	"ocl/doctor"
)

// TestPerhapsIsExplained: the findings say what (perhaps) is, where one has it.
func TestPerhapsIsExplained(t *testing.T) {
	for _, sure := range []bool{false, true} {
		var b strings.Builder
		writeFindings(&b, "", &doctor.Findings{Data: "folder", List: []doctor.Finding{{Kind: doctor.WrongLabel,
			Images: []doctor.Image{{File: "a/1.jpg", Label: "a"}}, Suggested: "b", Sure: sure}}})
		if explained := strings.Contains(b.String(), "\n(perhaps): "); explained == sure {
			t.Errorf("sure %v:\n%s", sure, b.String())
		}
	}
}
