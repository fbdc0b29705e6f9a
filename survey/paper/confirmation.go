package paper

import (
	_ "embed"
	"encoding/csv"
	"strings"
	"sync"

	"ocl/config"
	"ocl/run/result"
	"ocl/survey"
)

// The confirmation is a study of table:nc and of ER's tricks on CIFAR-100. Its settings, seeds, kernels and rules were
// fixed before its first run, in survey/studies/confirmation.yaml. A test holds that file and what stands here
// together.
const (
	confirmingSeed = 4 // the first seed
	confirmingRuns = 5 // of each cell: no more, no fewer
)

// confirmed says whether a cell is of the confirmation.
func confirmed(s Spec) bool {
	switch {
	case s.Benchmark != survey.CIFAR100 || s.Protocol != config.ProtocolSurvey:
		return false
	case s.Tricks != "":
		return s.Method == "er"
	}
	return s.Method != "cndpm" && s.Method != "offline"
}

// confirmingKeys are the keys of the runs of the confirmation, with their settings.
var confirmingKeys = sync.OnceValue(func() map[string]string {
	keys := map[string]string{}
	for _, label := range []string{survey.ClassIncremental, survey.TricksCIFAR100} {
		for _, v := range survey.Read(label) {
			if s, ok := specOf(label, v); ok && confirmed(s) {
				key, settings := keysOf(s)
				keys[key] = settings
			}
		}
	}
	return keys
})

// Confirms says whether a result is of a run of the confirmation.
func Confirms(r *result.Result) bool {
	seed := r.Config.Seed
	return seed >= confirmingSeed && seed < confirmingSeed+confirmingRuns && registered(r)
}

// Confirmation returns the study with only the runs of the confirmation. A cell has a verdict only if all its runs are
// there, diverged ones included; otherwise it counts as not run. The cells of a table are anchored if all their runs
// and all anchors are there.
func (s *Study) Confirmation() *Study {
	c := s.only(func(r *Run) bool { return Confirms(r.Result) })
	c.confirms, c.anchors = true, s.anchorsOf()
	return c
}

// WithoutConfirmation is the study of all other runs but the anchors and those that shift.yaml tunes.
func (s *Study) WithoutConfirmation() *Study {
	return s.only(func(r *Run) bool { return !Confirms(r.Result) && !Anchors(r.Result) && !Shifts(r.Result) })
}

// only is the study of some of the runs.
func (s *Study) only(keep func(*Run) bool) *Study {
	some := &Study{LeftOut: s.LeftOut, Notes: s.Notes, byKey: map[string][]*Run{}}
	for _, r := range s.Runs {
		if keep(r) {
			some.Runs = append(some.Runs, r)
			some.byKey[r.key] = append(some.byKey[r.key], r)
		}
	}
	return some
}

//go:embed nearness.csv
var nearnessFile string

// nearness says why the setting of a cell is one that was chosen because it came nearer to the published values, "" for
// others. All those choices were made by runs with the first three seeds on CIFAR-100, before the confirmation.
func nearness(s Spec) string {
	if s.Benchmark != survey.CIFAR100 || s.Protocol != config.ProtocolSurvey {
		return ""
	}
	return nearnesses()[[2]string{s.Method, s.Tricks}]
}

var nearnesses = sync.OnceValue(func() map[[2]string]string {
	records, err := csv.NewReader(strings.NewReader(nearnessFile)).ReadAll()
	if err != nil {
		panic("paper: nearness.csv: " + err.Error())
	}
	why := map[[2]string]string{}
	for _, r := range records[1:] {
		why[[2]string{r[0], r[1]}] = r[2]
	}
	return why
})
