package study_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/experiment"
	"ocl/experiment/result"
	"ocl/study"
)

// shipped opens a study of the folder studies, with data that are said to lie somewhere.
func shipped(t *testing.T, name string) *study.Study {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "studies", name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := study.Parse(name, text, t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestShippedStudies expands every study of the folder and counts its runs, and how many of a cell of the survey.
func TestShippedStudies(t *testing.T) {
	want := map[string]int{ // runs
		"quick.yaml": 34, "oci.yaml": 920, "tricks_cifar.yaml": 975, "tricks_mini.yaml": 975, "odi.yaml": 800, "trick_time.yaml": 72, "method_time.yaml": 30,
		"error_analysis.yaml": 45, "examined.yaml": 40, "metrics.yaml": 31, "lambda.yaml": 27, "first.yaml": 24, "core50_short.yaml": 2, "tune.yaml": 150, "claims.yaml": 117, "cndpm.yaml": 9,
		"confirmation.yaml": 195,
	}
	files, err := filepath.Glob("../studies/*.yaml")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%q, %v; want %d studies", files, err, len(want))
	}
	for _, file := range files {
		name := filepath.Base(file)
		s := shipped(t, name)
		if len(s.Runs) != want[name] {
			t.Errorf("%s: %d runs, want %d", name, len(s.Runs), want[name])
		}
		seeds := map[string][]uint64{}
		for _, r := range s.Runs {
			c := r.Config
			cell := fmt.Sprint(c.Data.Name, " ", c.Stream.Kind, c.Stream.Shift.Kind, c.Stream.Shift.Blur, " ", c.Methods, c.Tricks, " ", c.Memory, c.Optimizer, c.Replay, c.Method, c.Protocol)
			seeds[cell] = append(seeds[cell], c.Seed)
			if name != "quick.yaml" && name != "cndpm.yaml" && (c.Engine.Kernel != "avx2" || c.Engine.Convolution != "winograd") {
				t.Errorf("%s: %s has the engine %v", name, cell, c.Engine)
			}
			if r.Timing != strings.HasSuffix(name, "_time.yaml") {
				t.Errorf("%s: timing is %v", name, r.Timing)
			}
		}
		for cell, got := range seeds {
			runs, first := 15, uint64(1)
			switch {
			case name == "confirmation.yaml":
				runs, first = 5, 4
			case name == "quick.yaml":
				runs = 2
			case name == "core50_short.yaml":
				runs = 1
			case name == "first.yaml", name == "claims.yaml", name == "lambda.yaml", strings.HasSuffix(name, "_time.yaml"):
				runs = 3
			case strings.HasPrefix(cell, "core50"), name == "odi.yaml":
				runs = 10
			case name == "examined.yaml", name == "metrics.yaml":
				runs = len(got)
			case name == "cndpm.yaml":
				runs = 1
			}
			slices.Sort(got)
			if len(got) != runs || got[0] != first || got[len(got)-1] != first+uint64(runs)-1 {
				t.Errorf("%s: %s has the seeds %v, want %d from %d on", name, cell, got, runs, first)
			}
		}
	}
}

// TestShippedStudiesOpen opens every study of the folder on the real data where OCL_DATA has them, as `ocl sweep --dry-run` does. The sample of
// CORe50's frames is too small for the batches of two studies. Then their errors are about those, and their other runs open.
func TestShippedStudiesOpen(t *testing.T) {
	dir := os.Getenv("OCL_DATA")
	if dir == "" {
		t.Skip("OCL_DATA is unset; set it to the folder that holds the real data to open the studies of the folder studies")
	}
	if testing.Short() {
		t.Skip("-short is given")
	}
	files, err := filepath.Glob("../studies/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s := shipped(t, filepath.Base(file))
			all := len(s.Runs)
			text, err := os.ReadFile(file)
			if err == nil {
				s, err = study.Parse(file, text, dir, false)
			}
			if err != nil {
				t.Fatal(err)
			}
			jobs, _, err := s.Open(t.Context(), experiment.Options{})
			if err != nil && strings.Contains(err.Error(), "fewer training images than stream.batch") || err != nil && strings.Contains(err.Error(), "70 epochs in batches of 128") {
				s.Runs = slices.DeleteFunc(s.Runs, func(r study.Run) bool { return r.Config.Data.Name == "core50" })
				all = len(s.Runs)
				jobs, _, err = s.Open(t.Context(), experiment.Options{})
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(jobs) != all {
				t.Errorf("%d jobs of %d runs", len(jobs), all)
			}
			for _, j := range jobs {
				if j.Steps <= 0 || j.FLOPs <= 0 {
					t.Errorf("%s has %d steps of %g operations in all", j, j.Steps, j.FLOPs)
				}
			}
		})
	}
}

// TestStudiesHaveTheCommittedRuns: the committed results are runs of the studies, but for what is evaluated and for
// what the data settle.
func TestStudiesHaveTheCommittedRuns(t *testing.T) {
	schema := experiment.Schema()
	text := func(c config.Config) string {
		c.Data.Dir, c.Eval, c.Classifiers, c.Engine = "", config.EvalFinal, []string{config.ClassifierHead}, config.Engine{}
		c.Stream.ClassOrder, c.Stream.HeldOut = config.Order{Name: config.OrderRandom}, nil
		if c.Stream.Kind == "" {
			c.Stream.Kind = config.KindClasses
		}
		if c.Stream.Shift.Kind != "" {
			c.Stream.Kind = config.KindShift
		}
		if c.Replay.Teacher == "" { // of files from before the key
			c.Replay.Teacher = config.TeacherEvaluation
		}
		return schema.Canonical(c)
	}
	for _, tt := range []struct{ folder, name string }{
		{"cifar100/methods", "oci.yaml"}, {"cifar100/tricks", "tricks_cifar.yaml"}, {"cifar100/errors", "error_analysis.yaml"},
		{"cifar100/examined", "examined.yaml"}, {"cifar100/metrics", "metrics.yaml"}, {"cifar100/cndpm", "cndpm.yaml"}, {"cifar100/survey-*", "first.yaml"}, {"cifar100/standard-*", "first.yaml"},
		{"mini-imagenet/methods", "oci.yaml"}, {"ns-mini-noise/methods", "odi.yaml"}, {"ns-mini-occlusion/methods", "odi.yaml"},
		{"ns-mini-blur/methods", "odi.yaml"}, {"ns-mini-blur-per-image/methods", "examined.yaml"},
	} {
		runs := map[string]bool{}
		for _, r := range shipped(t, tt.name).Runs {
			runs[text(r.Config)] = true
		}
		pattern := tt.folder + "/*.json.gz"
		if strings.HasSuffix(tt.folder, "*") {
			pattern = tt.folder + ".json.gz"
		}
		files, err := filepath.Glob("../results/" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			r, err := result.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := text(schema.Recorded(r.Config)); !runs[got] {
				t.Errorf("%s has no run of %s:\n%s", tt.name, file, got)
			}
		}
	}
}
