package build_test

import (
	"math"
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/build"
)

// TestBadInput: what methods since the survey cannot take is refused before anything is trained, each with its own
// message, and all at once.
func TestBadInput(t *testing.T) {
	ranges, together := config.Default(), config.Default()
	ranges.Methods = []string{"er"}
	ranges.Method = map[string]map[string]any{
		"scr": {"temperature": 0.0}, "pcr": {"temperature": -0.1}, "las": {"tau": 0.0},
		"mkd":    {"temperature": 0.0, "alpha": 0.0, "weight": math.Inf(1)},
		"ema":    {"momentum": 1.0},
		"er-ace": {"scale": -1.0}, "clib": {"every": 0}, "randumb": {"gamma": 0.0, "features": 0},
	}
	together.Methods, together.Tricks = []string{"scr", "cndpm", "projected"}, []string{"mkd", "ncm"}
	together.Classifiers, together.Memory, together.Network.Head = []string{"ncm"}, 100, "cosine"
	for name, c := range map[string]struct {
		config.Config
		want []string
	}{
		"ranges": {ranges, []string{
			"method.scr.temperature: 0 is out of range. Use a number from 0.001 to 100",
			"method.pcr.temperature: -0.1 is out of range. Use a number from 0.001 to 100",
			"method.las.tau: 0 is out of range. Use a number from 0.001 to 100",
			"method.mkd.temperature: 0 is out of range. Use a number from 0.001 to 1000",
			"method.mkd.alpha: 0 is out of range. Use a number from 1e-06 to 1",
			"method.mkd.weight: +Inf is out of range. Use a number from 0 to 1000000",
			"method.ema.momentum: 1 is out of range. Use a number from 0 to 0.999999",
			"method.er-ace.scale: -1 is out of range. Use a number from 0 to 1000000",
			"method.clib.every: 0 is out of range. Use a whole number from 1 to 1000000",
			"method.randumb.gamma: 0 is out of range. Use a number from 1e-06 to 1000000",
			"method.randumb.features: 0 is out of range. Use a whole number from 1 to 20000",
		}},
		"together": {together, []string{
			"network.head: cosine is given, but scr needs another head (projection). Remove network.head",
			"network.head: cosine is given, but projected needs another head (projection). Remove network.head",
			"cndpm with ncm: it has no features that all classes share. Use another method or another trick",
			"scr with mkd: SCR has no outputs for classes that could be distilled. Use another method or another trick",
			"ncm needs the features of one network, but cndpm has several. Remove ncm from --classifiers, or cndpm from --method",
		}},
	} {
		err := build.Schema().Validate(c.Config)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; nothing says %q", name, err, want)
			}
		}
	}
	for name, m := range map[string]float64{"below": -0.1, "at the end": 1, "no number": math.NaN()} {
		c := config.Default()
		c.Methods, c.Tricks, c.Method = []string{"er"}, []string{"ema"}, map[string]map[string]any{"ema": {"momentum": m}}
		if err := build.Schema().Validate(c); err == nil || strings.Count(err.Error(), "config: ") != 1 ||
			!strings.Contains(err.Error(), "method.ema.momentum") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStepsOfTricks: with replay.iterations mi changes nothing, and rar still changes the images.
func TestStepsOfTricks(t *testing.T) {
	for trick, same := range map[string]bool{"mi": true, "rar": false} {
		c := config.Default()
		c.Methods, c.Tricks, c.Replay.Iterations = []string{"er"}, []string{"none", trick}, 2
		if err := build.Schema().Validate(c); (err != nil) != same ||
			same && !strings.Contains(err.Error(), "none and mi are the same run when replay.iterations 2 is set") {
			t.Errorf("%s: %v", trick, err)
		}
	}
}
