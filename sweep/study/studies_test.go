package study_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ocl/config"
	"ocl/learn/method"
	"ocl/nn/arch"
	"ocl/nn/safetensors"
	"ocl/nn/weights"
	"ocl/rng"
	"ocl/run/experiment"
	"ocl/run/result"
	"ocl/sweep/study"
)

// read are the studies that shipped has read.
var read = map[string]*study.Study{}

// shipped reads a study of the folder studies, with data that are said to lie somewhere.
func shipped(t *testing.T, name string) *study.Study {
	t.Helper()
	if s := read[name]; s != nil {
		return s
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "survey", "studies", name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := study.Parse(t.Context(), name, text, "data", false)
	if err != nil {
		t.Fatal(err)
	}
	read[name] = s
	return s
}

// TestShippedStudies expands every study of the folder and counts its runs. A study has the runs of one data set.
func TestShippedStudies(t *testing.T) {
	want := map[string]int{ // runs
		"quick.yaml": 34, "oci_cifar100.yaml": 345, "oci_mini.yaml": 345, "oci_core50.yaml": 230, "tricks_cifar.yaml": 975,
		"tricks_mini.yaml": 975,
		"odi_mini.yaml":    600, "odi_core50.yaml": 200, "trick_time.yaml": 72, "method_time.yaml": 30,
		"error_analysis.yaml": 45, "examined.yaml": 40,
		"metrics.yaml": 31, "lambda.yaml": 27, "first.yaml": 24, "core50_short.yaml": 2, "tune.yaml": 150,
		"claims_mini.yaml":   114,
		"claims_core50.yaml": 3, "cndpm.yaml": 9,
		"confirmation.yaml": 195, "pretrained.yaml": 30, "latent.yaml": 30, "backbones.yaml": 90, "since.yaml": 54,
		"siblurry.yaml": 12, "addendum.yaml": 30, "shift.yaml": 5,
	}
	files, err := filepath.Glob("../../survey/studies/*.yaml")
	machine := []string{"quick.yaml", "cndpm.yaml", "pretrained.yaml", "backbones.yaml", "siblurry.yaml"} // by its kernels
	if err != nil || len(files) != len(want) {
		t.Fatalf("%q, %v; want %d studies", files, err, len(want))
	}
	for _, file := range files {
		name := filepath.Base(file)
		s := shipped(t, name)
		if s.Len() != want[name] {
			t.Errorf("%s: %d runs, want %d", name, s.Len(), want[name])
		}
		sets := map[string]bool{}
		for c, timing := range s.Runs() {
			sets[c.Data.Name] = true
			if !slices.Contains(machine, name) &&
				(c.Engine.Kernel != "avx2" || c.Engine.Convolution != "winograd") {
				t.Errorf("%s: %s has the engine %v", name, c.Methods, c.Engine)
			}
			if timing != strings.HasSuffix(name, "_time.yaml") {
				t.Errorf("%s: timing is %v", name, timing)
			}
		}
		if len(sets) != 1 && name != "examined.yaml" { // who lacks one data set can do the studies of the others
			t.Errorf("%s has the data sets %v, want one", name, slices.Sorted(maps.Keys(sets)))
		}
	}
}

// TestShippedStudiesHaveTheSettings: the runs of the tables have the settings of survey/paper/settings.csv, on every
// data set. The other studies change them.
func TestShippedStudiesHaveTheSettings(t *testing.T) {
	file, err := os.Open("../../survey/paper/settings.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string][]string{} // by method: rate, weight decay, option, its value
	for _, r := range records[1:] {
		settings[r[0]] = r[1:]
	}
	for _, name := range []string{
		"oci_cifar100.yaml", "oci_mini.yaml", "oci_core50.yaml", "odi_mini.yaml", "odi_core50.yaml", "tricks_cifar.yaml",
		"tricks_mini.yaml",
		"trick_time.yaml", "error_analysis.yaml", "metrics.yaml", "claims_mini.yaml", "claims_core50.yaml",
		"confirmation.yaml",
	} {
		for c := range shipped(t, name).Runs() {
			want := settings[c.Methods[0]]
			if want == nil {
				t.Fatalf("settings.csv has no %s", c.Methods[0])
			}
			got := []string{strconv.FormatFloat(c.Optimizer.LR, 'f', -1, 64),
				strconv.FormatFloat(c.Optimizer.WeightDecay, 'f', -1, 64)}
			if !slices.Equal(got, want[:2]) {
				t.Fatalf("%s: %s has the rate and the weight decay %v, want %v", name, c.Methods[0], got, want[:2])
			}
			if want[2] == "" {
				continue
			}
			info, err := method.Lookup(c.Methods[0])
			if err != nil {
				t.Fatal(err)
			}
			v, ok := c.Method[c.Methods[0]][want[2]]
			if !ok {
				v = info.Defaults()[want[2]]
			}
			if fmt.Sprint(v) != want[3] {
				t.Fatalf("%s: %s has %s %v, want %s", name, c.Methods[0], want[2], v, want[3])
			}
		}
	}
}

// TestShippedStudiesOpen opens every study of the folder on the real data where OCL_DATA has them, as `ocl sweep
// --dry-run` does. A sample of CORe50's frames may be too small for the batches of a study on CORe50; then its error is
// about those.
func TestShippedStudiesOpen(t *testing.T) {
	dir := os.Getenv("OCL_DATA")
	if dir == "" {
		t.Skip("OCL_DATA is unset; set it to the folder that holds the real data to open the studies of the folder studies")
	}
	if os.Getenv("OCL_LONG") == "" {
		t.Skip("OCL_LONG is not set; with it, the studies are opened")
	}
	files, err := filepath.Glob("../../survey/studies/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	made := drawn(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s := shipped(t, filepath.Base(file))
			text, err := os.ReadFile(file)
			for _, given := range []string{"lite0.safetensors", "mini32.safetensors"} { // which a person makes
				text = bytes.ReplaceAll(text, []byte(given), []byte(made))
			}
			if err == nil {
				s, err = study.Parse(t.Context(), file, text, dir, false)
			}
			if err != nil {
				t.Fatal(err)
			}
			jobs, _, err := s.Open(t.Context(), experiment.Options{ReadOnly: true})
			switch {
			case err == nil:
			case s.Combinations[0].Config.Data.Name == "core50" &&
				!slices.ContainsFunc(strings.Split(err.Error(), "\n"), func(line string) bool {
					return !strings.Contains(line, "fewer training images than stream.batch") &&
						!strings.Contains(line, "70 epochs in batches of 128")
				}): // each error is about that, and no other one hides behind it
				t.Skip("the sample of CORe50's frames is too small for the batches of this study")
			default:
				t.Fatal(err)
			}
			if len(jobs) != s.Len() {
				t.Errorf("%d jobs of %d runs", len(jobs), s.Len())
			}
			for _, j := range jobs {
				if j.Steps <= 0 || j.FLOPs <= 0 {
					t.Errorf("%s has %d steps of %g operations in all", j, j.Steps, j.FLOPs)
				}
			}
		})
	}
}

// drawn is a file of the survey's network for CIFAR-100, as `ocl export` writes it.
func drawn(t *testing.T) string {
	t.Helper()
	net, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 100, NF: 20},
		rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	file := filepath.Join(t.TempDir(), "weights.safetensors")
	if err := errors.Join(safetensors.Write(&text, weights.Of(net),
		map[string]string{"ocl_version": "1", "architecture": "resnet18", "shape": "[3,32,32]",
			"classes": "100", "width": "20", "mean": "[0,0,0]", "std": "[1,1,1]", "data": "cifar100"}),
		os.WriteFile(file, text.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
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
		return schema.Canonical(c)
	}
	for _, tt := range []struct{ folder, name string }{
		{"cifar100/methods", "oci_cifar100.yaml"}, {"cifar100/tricks", "tricks_cifar.yaml"},
		{"cifar100/errors", "error_analysis.yaml"},
		{"cifar100/examined", "examined.yaml"}, {"cifar100/metrics", "metrics.yaml"}, {"cifar100/cndpm", "cndpm.yaml"},
		{"cifar100/survey-*", "first.yaml"}, {"cifar100/standard-*", "first.yaml"},
		{"mini-imagenet/methods", "oci_mini.yaml"}, {"ns-mini-noise/methods", "odi_mini.yaml"},
		{"ns-mini-occlusion/methods", "odi_mini.yaml"},
		{"ns-mini-blur/methods", "odi_mini.yaml"}, {"ns-mini-blur-per-image/methods", "examined.yaml"},
	} {
		runs := map[string]bool{}
		for c := range shipped(t, tt.name).Runs() {
			runs[text(c)] = true
		}
		pattern := tt.folder + "/*.json.gz"
		if strings.HasSuffix(tt.folder, "*") {
			pattern = tt.folder + ".json.gz"
		}
		files, err := filepath.Glob("../../survey/results/" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			r, err := result.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := text(r.Config); !runs[got] {
				t.Errorf("%s has no run of %s:\n%s", tt.name, file, got)
			}
		}
	}
}
