package paper

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/result"
	"ocl/survey"
)

// TestCommittedCells: the cells of the committed results have the accuracies that a script found by the names of the
// files, before the cells were. Seed 1 of ER with KDC* was run with other kernels then.
func TestCommittedCells(t *testing.T) {
	s := committed(t)
	for _, w := range []struct {
		label, row, column string
		memory             int
		seeds              []float64 // 1, 2, …
	}{
		{survey.ClassIncremental, "Finetune", survey.CIFAR100, 0, []float64{3.9, 4.1, 4.0}},
		{survey.ClassIncremental, "EWC++", survey.CIFAR100, 0, []float64{3.1, 3.6, 4.1}},
		{survey.ClassIncremental, "LwF", survey.CIFAR100, 0, []float64{7.8, 9.8, 8.4}},
		{survey.ClassIncremental, "Offline", survey.CIFAR100, 0, []float64{48.0}},
		{survey.ClassIncremental, "ER", survey.CIFAR100, 5000, []float64{17.0, 20.8, 17.2}},
		{survey.ClassIncremental, "MIR", survey.CIFAR100, 5000, []float64{18.0, 18.3, 18.8}},
		{survey.ClassIncremental, "GSS", survey.CIFAR100, 5000, []float64{12.9, 12.2, 13.9}},
		{survey.ClassIncremental, "iCaRL", survey.CIFAR100, 1000, []float64{17.3, 18.2, 17.5}},
		{survey.ClassIncremental, "A-GEM", survey.CIFAR100, 5000, []float64{3.7, 4.3, 4.0}},
		{survey.ClassIncremental, "GDumb", survey.CIFAR100, 1000, []float64{11.8, 11.4, 12.1}},
		{survey.TricksCIFAR100, "NCM", "ER", 10000, []float64{27.6, 31.7, 30.3}},
		{survey.TricksCIFAR100, "KDC*", "ER", 5000, []float64{22.3, 23.8, 22.9}},
		{survey.TricksCIFAR100, "RV", "MIR", 5000, []float64{26.4, 29.1, 28.6}},
		{survey.TricksCIFAR100, "KDC", "MIR", 5000, []float64{10.9, 13.8}},
		{survey.ClassIncremental, "ER", survey.MiniImageNet, 5000, []float64{16.0, 18.7}},
		{survey.DomainIncremental, "ER", survey.Blur, 5000, []float64{6.0}},
		{survey.ErrorAnalysis, "ER", "e(o,n)", 5000, []float64{6405}},
		{survey.ErrorAnalysis, "MIR", "e(o,o)", 5000, []float64{2457}},
	} {
		all := s.Cells(w.label)
		i := slices.IndexFunc(all, func(c *Cell) bool {
			return c.Row == w.row && c.Column == w.column &&
				c.Memory == w.memory
		})
		if i < 0 {
			t.Errorf("%s has no %s %s %d", w.label, w.row, w.column, w.memory)
			continue
		}
		c := all[i]
		for k, want := range w.seeds {
			at := slices.IndexFunc(c.Runs, func(r *Run) bool { return r.Seed == uint64(k+1) })
			if at < 0 || math.Abs(c.Values[at]-want) > 0.051 {
				t.Errorf("%s: %s %s %d, seed %d: values %v, want %g", w.label, w.row, w.column, w.memory, k+1, c.Values, want)
			}
		}
	}
	if counts := CountVerdicts(s.Cells(survey.TricksCIFAR100)); counts.Sum() != 63 {
		t.Errorf("%s counts %d cells, want 63", survey.TricksCIFAR100, counts.Sum())
	}
}

// TestChosenSettings: settings.csv has the best settings of survey/results/cifar100/tuning.csv with a memory of 5,000.
func TestChosenSettings(t *testing.T) {
	text, err := os.ReadFile("../results/cifar100/tuning.csv")
	if err != nil {
		t.Fatal(err)
	}
	best, score := map[string]string{}, map[string]float64{}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Split(line, ",")
		if i == 0 {
			if !slices.Equal(f[:6], []string{"method", "memory", "lr", "weight_decay", "option", "average_accuracy"}) {
				t.Fatalf("tuning.csv begins with %s", line)
			}
			continue
		}
		v, err := strconv.ParseFloat(f[5], 64)
		if err != nil || math.IsNaN(v) || f[1] != "5000" && f[1] != "0" {
			continue
		}
		if old, ok := score[f[0]]; !ok || v > old {
			lr, _ := strconv.ParseFloat(f[2], 64)
			decay, _ := strconv.ParseFloat(f[3], 64)
			best[f[0]], score[f[0]] = fmt.Sprintf("%g %g %s", lr, decay, f[4]), v
		}
	}
	best["finetune"] = best["er"]
	best["cndpm"] = bestTry(t)
	for name, want := range best {
		s := chosen()[name]
		got := fmt.Sprintf("%g %g ", s.lr, s.weightDecay)
		if s.option != "" {
			got += fmt.Sprintf("method.%s.%s=%g", name, s.option, s.value)
		}
		if got != want {
			t.Errorf("%s has the settings %q, but tuning.csv chooses %q", name, got, want)
		}
	}
	if s := chosen()["offline"]; s.lr != 0.1 || s.weightDecay != 0.0001 { // which nothing chose
		t.Errorf("Offline has the rate %g and the weight decay %g", s.lr, s.weightDecay)
	}
	if len(best) < 9 {
		t.Errorf("tuning.csv has %d methods", len(best))
	}
}

// bestTry is the settings of the try of CN-DPM with the best score.
func bestTry(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../results/cifar100/cndpm/*" + result.Packed)
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	best, score := "", -1.0
	for _, file := range files {
		r, err := result.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		if r.Config.Protocol != config.ProtocolTuning {
			continue
		}
		tries++
		if v := *r.Metrics.AverageAccuracy; v > score {
			best, score = fmt.Sprintf("%g %g ", r.Config.Optimizer.LR, r.Config.Optimizer.WeightDecay), v
			if chill := r.Config.Method["cndpm"]["classifier_chill"]; chill != 0.01 { // the default
				best += fmt.Sprintf("method.cndpm.classifier_chill=%v", chill)
			}
		}
	}
	if tries != 6 {
		t.Fatalf("%d tries of CN-DPM among %q, want six", tries, files)
	}
	return best
}

// TestCommands: every cell of a method that ocl has says how to run it.
func TestCommands(t *testing.T) {
	s := committed(t)
	form := regexp.MustCompile(`^ocl run --data \S+ --data-dir DIR .*--runs 1[05]$`)
	for _, label := range tables {
		for _, c := range s.Cells(label) {
			if label == survey.TrickTimes {
				if command := c.Command(); command != "ocl sweep survey/studies/trick_time.yaml --data-dir DIR" {
					t.Errorf("%s with %s: command %q, which times nothing", label, c.Row, command)
				}
				continue
			}
			if command := c.Command(); c.Known && c.Row != bestRow && !form.MatchString(command) {
				t.Errorf("%s: %s %s %d: command %q", label, c.Row, c.Column, c.Memory, command)
			}
		}
	}
	for benchmark, want := range map[string]string{
		survey.CIFAR100: "--method cndpm --memory 1000 --lr 0.1 optimizer.weight_decay=0 method.cndpm.classifier_chill=0.01",
		// nothing was chosen for larger images
		survey.MiniImageNet: "--method cndpm --memory 1000 optimizer.weight_decay=0 --tune paper --runs 15",
	} {
		c := Cell{Spec: Spec{Benchmark: benchmark, Protocol: "survey", Method: "cndpm", Classifier: "head", Memory: 1000},
			Known: true}
		if got := c.Command(); !strings.Contains(got, want) {
			t.Errorf("CN-DPM on %s has the command\n%s, want %s", benchmark, got, want)
		}
	}
	for _, c := range s.Cells(survey.TricksCIFAR100) {
		if c.Row == "KDC*" && c.Column == "MIR" && c.Memory == 5000 {
			const want = "ocl run --data cifar100 --data-dir DIR --tasks 20 --protocol survey --eval final --method mir --memory 5000 --trick 'kdc*' " +
				"--lr 0.01 optimizer.weight_decay=0.0001 method.mir.candidates=50 --runs 15"
			if got := c.Command(); got != want {
				t.Errorf("the command is\n%s, want\n%s", got, want)
			}
		}
	}
}
