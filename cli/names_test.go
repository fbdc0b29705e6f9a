package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"ocl/predict"
)

// TestHostileNames: names of files and classes are neither obeyed by a terminal nor computed by a spreadsheet, and JSON
// keeps them.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	const name = "=cmd|' /C calc'!A0\x1b[31m\u202e\u200b\u009b<b>"
	for format, f := range map[string]predictFlags{"text": {}, "CSV": {asCSV: true},
		"JSON": {asJSON: jsonFlag{given: true}}} {
		var b bytes.Buffer
		p := f.printer(&b, predict.Info{Measure: predict.Probability})
		one := predict.Answer{Guesses: []predict.Guess{{Class: 1, Name: name, Value: 0.5}}}
		if err := errors.Join(p.print(labelled{file: name, Answer: one}), p.end()); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), "\x1b\u202e\u200b\u009b") || !strings.Contains(b.String(), "cmd|") {
			t.Errorf("%s is %q", format, &b)
		}
		switch format {
		case "CSV":
			records, err := csv.NewReader(&b).ReadAll()
			if err != nil || len(records) != 2 || !strings.HasPrefix(records[1][0], "'=cmd") ||
				!strings.HasPrefix(records[1][3], "'=cmd") {
				t.Errorf("CSV is %q, %v", records, err)
			}
		case "JSON":
			var line labelledJSON
			if err := json.Unmarshal(b.Bytes(), &line); err != nil || line.Image != name || line.Guesses[0].Name != name {
				t.Errorf("JSON is read as %+v, %v", line, err)
			}
		}
	}
}
