package result

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ocl/internal/limit"
)

// TestEvents reads lines behind a first one that is right.
func TestEvents(t *testing.T) {
	const first = `{"time":"","event":"run","format":"ocl-events","version":1}` + "\n"
	step := func(n int) string { return fmt.Sprintf(`{"time":"","event":"step","step":%d,"task":0}`, n) }
	for _, tt := range []struct {
		name, text string
		events     int
		kind       error
		want       string
	}{
		{"whole", first + step(1) + "\n" + step(2) + "\n", 3, nil, ""},
		{"without the end of the last line", first + step(1) + "\n" + step(2), 2, nil, ""},
		{"empty", "", 0, nil, ""},
		{"another format", `{"event":"run","format":"x"}` + "\n", 0, ErrVersion,
			`line 1: another format or version: the format is "x"`},
		{"a newer version", `{"event":"run","format":"ocl-events","version":2}` + "\n", 0, ErrNewer,
			"line 1: written by a newer ocl: the version is 2"},
		{"two events in a line", first + step(1) + step(2) + "\n", 1, ErrDamaged,
			"line 2: damaged: it is not the JSON object of an event"},
		{"an empty line", first + "\n" + step(1) + "\n", 1, ErrDamaged, "line 2: damaged: it is not the JSON object"},
		{"null", first + "null\n", 1, ErrDamaged, `line 2: damaged: it has no key "event"`},
		{"a list", first + step(1) + "\n[]\n", 2, ErrDamaged, "line 3: damaged: it is not the JSON object"},
		{"a long line", first + `{"event":"` + strings.Repeat("x", limit.EventLine) + "\"}\n", 1, ErrDamaged,
			"line 2: damaged: the line has more than 1048576 bytes"},
	} {
		n, message := 0, ""
		var fault error
		for _, err := range Events(strings.NewReader(tt.text)) {
			if fault = err; err == nil {
				n++
			} else {
				message = err.Error()
			}
		}
		if n != tt.events || !errors.Is(fault, tt.kind) || (fault == nil) != (tt.kind == nil) ||
			!strings.HasPrefix(message, tt.want) {
			t.Errorf("%s: %d events, then %v; want %d, then %q", tt.name, n, fault, tt.events, tt.want)
		}
	}
}
