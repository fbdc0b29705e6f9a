package result

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/config"
)

// Each line of the table has the field of its place, under its key, and the page says of it what the table says.
func TestMetricTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/result.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := reflect.TypeFor[Metrics]()
	if fields.NumField() != len(metrics) {
		t.Fatalf("%d fields and %d lines of the table", fields.NumField(), len(metrics))
	}
	var keys []string
	for _, m := range metrics {
		keys = append(keys, m.Key)
	}
	if d := cmp.Diff(keys, config.Metrics()); d != "" {
		t.Errorf("package config lists other metrics: %s", d)
	}
	titles := map[string]bool{}
	for i, d := range metrics {
		half := 0.5
		var m Metrics
		reflect.ValueOf(&m).Elem().Field(i).Set(reflect.ValueOf(&half))
		text, err := json.Marshal(m)
		if want := fmt.Sprintf(`{"%s":0.5}`, d.Key); err != nil || string(text) != want {
			t.Errorf("field %d is written as %s, want %s", i, text, want)
		}
		if v := d.Of(m); v == nil || *v != half {
			t.Errorf("%s reads another field", d.Key)
		}
		if titles[d.Title] || d.Title == "" {
			t.Errorf("%s has the title %q, which is empty or that of another", d.Key, d.Title)
		}
		titles[d.Title] = true
		if row := fmt.Sprintf("| `metrics.%s` | number ? | %s, in [%g,1] |\n", d.Key, d.Help,
			d.Least); !strings.Contains(string(page), row) {
			t.Errorf("docs/format/result.md has no row %s", row)
		}
		low := d.Least - 0.1
		*d.field(&m) = &low
		if err := checkMetrics("metrics", m); err == nil ||
			!strings.Contains(err.Error(), fmt.Sprintf("metrics.%s is %g, but must be a fraction in [%g,1]", d.Key, low,
				d.Least)) {
			t.Errorf("%s below its range: %v", d.Key, err)
		}
	}
}

// numbers is a row of accuracies; below zero is one that was not evaluated.
func numbers(row ...float64) []*float64 {
	out := make([]*float64, len(row))
	for i, v := range row {
		if v >= 0 {
			out[i] = &v
		}
	}
	return out
}

func TestMetricsOf(t *testing.T) {
	for _, c := range []struct {
		name     string
		accuracy [][]*float64
		common   bool
		between  []Evaluation
		want     string
	}{
		{"the example of package metric", [][]*float64{numbers(0.75, 0.125, 0.25), numbers(0.5, 0.75, 0.375),
			numbers(0.25, 0.5, 0.75)}, false, nil,
			`{"average_accuracy":0.5,"average_forgetting":0.375,"forgetting_all_tasks":0.25,"bwt_plus":0,"fwt":0.25,"learning_accuracy":0.75,"average_incremental_accuracy":0.625,"retention":0.375}`},
		{"stopped after the first task", [][]*float64{numbers(0.75, -1), numbers(-1, -1)}, false, nil,
			`{"average_accuracy":0.75,"learning_accuracy":0.75,"average_incremental_accuracy":0.75}`},
		{"after the last task alone", [][]*float64{numbers(-1, -1), numbers(0.5, 0.25)}, false, nil,
			`{"average_accuracy":0.375,"retention":0.5}`},
		{"a common test set", [][]*float64{numbers(0.75), numbers(0.25)}, true, nil,
			`{"average_accuracy":0.25,"average_forgetting":0.5,"forgetting_all_tasks":0.5,"average_incremental_accuracy":0.5}`},
		{"evaluations in the middle of tasks", [][]*float64{numbers(0.75, -1), numbers(-1, -1)}, false,
			[]Evaluation{{Accuracy: numbers(0.25, -1)}, {Accuracy: numbers(0.75, -1)}, {Accuracy: numbers(0.5, 0.25)},
				{Accuracy: numbers(0.5, 0.75)}},
			`{"average_accuracy":0.75,"learning_accuracy":0.75,"average_incremental_accuracy":0.75,"average_anytime_accuracy":0.5}`},
		{"nothing evaluated", [][]*float64{numbers(-1, -1), nil}, false, nil, `{}`},
	} {
		text, err := json.Marshal(MetricsOf(c.accuracy, c.common, c.between))
		if d := cmp.Diff(c.want, string(text)); err != nil || d != "" {
			t.Errorf("%s: %v %s", c.name, err, d)
		}
	}
}
