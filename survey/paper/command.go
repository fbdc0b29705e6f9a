package paper

import (
	"fmt"
	"strconv"
	"strings"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/identity"
	"ocl/survey"
)

// Command returns the command that runs the cell as often as the survey did. It has the settings of our runs or,
// without runs, the chosen settings. For run times it is that of their study. DIR stands for the folder of the data. It
// is "" for rows such as "Best OCI" and for methods that ocl does not have.
func (c *Cell) Command() string {
	if !c.Known || c.Spec.Method == "" {
		return ""
	}
	if c.Table == survey.TrickTimes {
		return "ocl sweep survey/studies/trick_time.yaml --data-dir DIR"
	}
	b, cfg := benchmark(c.Spec.Benchmark), c.Spec.Config(1)
	if len(c.Runs) > 0 {
		cfg = c.Runs[0].Result.Config
	}
	words := []string{"ocl run --data", b.Data, "--data-dir DIR"}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag+" "+value)
		}
	}
	if b.Kind == config.KindDomains {
		add("--stream", b.Kind)
	}
	if b.Order != config.OrderOfficial {
		add("--tasks", strconv.Itoa(b.Tasks))
	}
	set := func(key, value string) {
		if value != "" {
			words = append(words, key+"="+value)
		}
	}
	set("stream.shift.kind", b.Shift)
	set("stream.shift.blur", b.Blur)
	if c.Spec.Protocol != config.ProtocolStandard {
		add("--protocol", c.Spec.Protocol)
	}
	eval := config.EvalFinal
	if len(c.Runs) > 0 {
		eval = c.Runs[0].Result.Config.Eval
	}
	add("--eval", eval)
	add("--method", c.Spec.Method)
	if c.Spec.Memory > 0 {
		add("--memory", strconv.Itoa(c.Spec.Memory))
	}
	if c.Spec.Tricks != "" {
		add("--trick", "'"+c.Spec.Tricks+"'")
	}
	if c.Spec.Classifier != config.ClassifierHead {
		add("--classifiers", config.ClassifierHead+","+c.Spec.Classifier)
	}
	words = append(words, settingFlags(cfg, c.Settings)...)
	add("--runs", strconv.Itoa(b.Runs))
	return strings.Join(words, " ")
}

// settingFlags are the words of a command line about what the survey tuned. A method of which neither runs nor chosen
// settings are there is tuned.
func settingFlags(cfg config.Config, settings string) []string {
	const tune = "--tune paper"
	decay := "optimizer.weight_decay=" + strconv.FormatFloat(cfg.Optimizer.WeightDecay, 'f', -1, 64)
	if strings.HasPrefix(settings, tunedText) {
		return []string{tune}
	}
	if _, known := settingOf(cfg.Methods[0], cfg.Data.Name); settings == "" && !known {
		return []string{decay, tune}
	}
	flags := []string{fmt.Sprintf("--lr %g", cfg.Optimizer.LR), decay}
	_, texts := cellOf(identity.New(experiment.Schema(), cfg))
	for _, word := range strings.Fields(texts) {
		if strings.HasPrefix(word, "method.") {
			flags = append(flags, word)
		}
	}
	return flags
}
