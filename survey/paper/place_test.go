package paper

import (
	"fmt"
	"strings"
	"testing"

	"ocl/config"
	"ocl/survey"
)

// TestPlanned: every run of a table is where the table has it, and what is changed is named.
func TestPlanned(t *testing.T) {
	for _, label := range tables {
		values := survey.Read(label)
		for _, v := range values {
			spec, ok := specOf(label, v)
			if !ok {
				continue
			}
			got, changes, err := Planned(spec.Config(3))
			spec.Classifier = config.ClassifierHead
			if got != spec || len(changes) > 0 || err != nil {
				t.Errorf("%s %s %s %d: %+v, %v, %v; want %+v", label, v.Row, v.Column, v.Memory, got, changes, err, spec)
			}
		}
	}
	c := Spec{Benchmark: survey.Blur, Protocol: config.ProtocolSurvey, Method: "er", Memory: 5000,
		Classifier: config.ClassifierHead}.Config(1)
	c.Stream.Shift.Blur, c.Optimizer.LR = config.BlurPerImage, 0.5
	_, changes, err := Planned(c)
	var flags []string
	for _, c := range changes {
		flags = append(flags, c.Flag())
	}
	if got := strings.Join(flags, " "); err != nil || got != "--lr 0.5 stream.shift.blur=per-image" {
		t.Errorf("the changes are %q, %v", got, err)
	}
	c.Method = map[string]map[string]any{"gdumb": {"update": "reservoir"}}
	c.Methods = []string{"gdumb"}
	if _, changes, _ = Planned(c); !strings.Contains(fmt.Sprint(changes), "method.gdumb.update") {
		t.Errorf("the changes of GDumb are %v", changes)
	}
	if _, _, err := Planned(config.Config{}); err == nil {
		t.Error("a config without a method has a place")
	}
	c.Data.Name = "glyphs"
	if _, _, err := Planned(c); err == nil {
		t.Error("glyphs have a place")
	}
}
