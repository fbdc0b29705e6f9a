package main

import (
	"strings"
	"testing"

	"ocl/data"
)

// A constant channel has a deviation that a config takes.
func TestStatsOfAConstantChannel(t *testing.T) {
	var b strings.Builder
	if err := writeStats(&b, &data.Set{Name: "s", C: 2}, data.Stats{Images: 1, Mean: []float64{0.5, 0.123456}, Std: []float64{0, 1e-7}}); err != nil {
		t.Fatal(err)
	}
	want := "# s: 1 training image, pixels from 0 to 1\n# channel 1 has one value everywhere: its deviation is 0, and 1 stands in its place\n" +
		"stream:\n  mean: [0.5, 0.1235]\n  std: [1, 1e-07]\n"
	if b.String() != want {
		t.Errorf("%s\nwant %s", b.String(), want)
	}
}
