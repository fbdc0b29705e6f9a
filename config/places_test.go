package config

import (
	"strings"
	"testing"
)

// TestFaultsNameTheLine: a value of a file that is out of range, or does not fit another, is named with its line there;
// one that a flag has set since, or a default, is not.
func TestFaultsNameTheLine(t *testing.T) {
	const text = `optimizer:
  lr: -1
memory: 5
stream:
  # a comment
  batch: 0
  shift:
    noise_strengths: [1, 200]
method:
  er:
    nothing: 3
  ewc++: {every: 0}
methods:
  - er
  - err
replay: {batch: 0}
`
	s := small
	c, from, err := s.ParseAt("exp.yaml", []byte(text))
	if err == nil || !strings.Contains(err.Error(), "config: exp.yaml:11: ") {
		t.Errorf("an unknown option: %v", err)
	}
	c.Seed, c.Runs = 1, 0 // as a flag would
	from.Forget("replay.batch")
	got := s.ValidateAt(c, from).Error()
	for _, want := range []string{
		"config: exp.yaml:2: optimizer.lr", "config: exp.yaml:6: stream.batch",
		"config: exp.yaml:8: stream.shift.noise_strengths",
		"value 2: 200 is out of range", "config: exp.yaml:13: methods (--method): unknown method \"err\"",
		"config: exp.yaml:12: method.ewc++.every: 0 is out of range", "config: replay.batch", "config: runs",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if plain := s.Validate(c).Error(); strings.Contains(plain, "exp.yaml") {
		t.Errorf("without the lines of a file:\n%s", plain)
	}
}
