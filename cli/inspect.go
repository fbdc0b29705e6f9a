package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ocl/data/npz"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/nn"
	"ocl/nn/backbone"
	"ocl/nn/safetensors"
	"ocl/run/experiment"
	"ocl/run/identity"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/run/train"
	"ocl/run/trained"
	"ocl/run/tune"
)

// inspected is the JSON that `ocl inspect --json` prints: what there is at a path.
type inspected struct {
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	Content any    `json:"content"`

	text string
}

func newInspect() *cobra.Command {
	var asJSON jsonFlag
	cmd := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Say what a file or a folder of ocl is and what it holds, and check it.",
		Example: `  ocl inspect runs/er5k
  ocl inspect er.safetensors
  ocl inspect runs/er5k --json kind,content`,
		Long: "PATH is the folder of a study, an experiment, a run or a tuning, or a file: a result, a checkpoint, a record of tuning, events, weights " +
			"(safetensors), a pretrained network, arrays (npz) or a config. For a run, its result and its newest checkpoint are shown, with the size and the checksum of each section. " +
			"Everything that is read is checked; the exit code is 1 if something is damaged. Nothing is changed.",
		Args: exactly("PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := inspect(cmd.Context(), args[0])
			if found == nil {
				return fmt.Errorf("%s: %w", pathOf(cmd), err)
			}
			return errors.Join(asJSON.printOr(cmd.OutOrStdout(), found,
				fmt.Sprintf("%s: %s\n%s", escape.Line(found.Path), found.Kind, found.text)), err)
		},
	}
	addJSON(cmd, &asJSON, inspected{})
	return cmd
}

// inspect says what there is at a path. With an error, what is found may be nil, or have a fault.
func inspect(ctx context.Context, path string) (*inspected, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w. Give a file or a folder of ocl", path, cause.Of(err))
	}
	if !info.IsDir() {
		return inspectFile(path)
	}
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(path, name))
		return err == nil
	}
	switch {
	case has("study.yaml"):
		entries, store, err := studyFolder(ctx, path)
		if err != nil {
			return nil, err
		}
		s := statusOf(path, store, entries)
		for _, j := range s.List {
			if j.Phase == progress.Begun && j.Error != "" {
				err = errors.Join(err, fmt.Errorf("%s cannot be used: %s", filepath.Join(path, j.Folder),
					escape.Line(cause.Line(j.Error))))
			}
		}
		return &inspected{"study", path, s, s.text()}, err
	case has(tune.RecordFile):
		return inspectFile(filepath.Join(path, tune.RecordFile))
	case filepath.Base(path) == experiment.CheckpointDir && runAround(path):
		return inspectRun(filepath.Dir(filepath.Clean(path)))
	case has(experiment.RunConfigFile), has(experiment.ResultFile):
		return inspectRun(path)
	case has(experiment.ConfigFile):
		return inspectExperiment(path)
	}
	records, err := below(path, tune.RecordFile)
	if err != nil {
		return nil, err
	}
	if len(records) > 0 {
		return inspectTunings(path, records)
	}
	found, _, err := result.Find(path)
	if err != nil {
		return nil, err
	}
	t := table{head: []string{"result", "method", ">seed", "outcome", ">accuracy"}}
	return listed("folder of results", path, found, t, func(f result.Source) (string, []string, error) {
		r, err := identity.Usable(experiment.Schema(), f.Path, identity.Want{Foreign: true})
		if r == nil {
			return "", nil, err
		}
		return f.Path, []string{filepath.Base(f.Path), methodOf(r), strconv.FormatUint(r.Config.Seed, 10), r.Outcome.State,
			accuracyOf(r)}, err
	})
}

// listed is a folder with several things of one kind: look says what each is and its row in the table, nil if it cannot
// be read, and what is wrong with it.
func listed[F, C any](kind, path string, files []F, t table, look func(F) (C, []string, error)) (*inspected, error) {
	all := []C{}
	var faults []error
	for _, f := range files {
		content, row, err := look(f)
		faults = append(faults, err)
		if row != nil {
			all, t.rows = append(all, content), append(t.rows, row)
		}
	}
	return &inspected{kind, path, all, t.String()}, errors.Join(faults...)
}

// below are the files of this name in the folders of a folder.
func below(path, name string) (files []string, err error) {
	folders, err := input.ReadDir(path)
	for _, f := range folders {
		file := filepath.Join(path, f.Name(), name)
		if _, err := os.Lstat(file); err == nil {
			files = append(files, file)
		}
	}
	return files, err
}

// inspectExperiment lists the runs of an experiment; where there is one, it is inspected.
func inspectExperiment(path string) (*inspected, error) {
	folders, err := below(path, experiment.RunConfigFile)
	if err != nil || len(folders) == 1 {
		return inspectRun(filepath.Dir(slices.Concat(folders, []string{path})[0]))
	}
	type run struct {
		Folder string `json:"folder"`
		State  string `json:"state"`
		Step   int    `json:"step"`
	}
	t := table{head: []string{"run", "state", ">step"}}
	return listed("experiment", path, folders, t, func(file string) (run, []string, error) {
		folder := filepath.Dir(file)
		found, err := train.Find(folder)
		if err != nil {
			found.State = "damaged"
		}
		name := filepath.Base(folder)
		return run{name, found.State, found.Step}, []string{name, found.State, count.Number(found.Step)}, err
	})
}

// inspectTunings lists the records of tuning in a folder; where there is one, it is inspected.
func inspectTunings(path string, records []string) (*inspected, error) {
	if len(records) == 1 {
		return inspectFile(records[0])
	}
	t := table{head: []string{"tuning", ">points", ">steps"}}
	return listed("folder of tunings", path, records, t, func(file string) (*tune.Record, []string, error) {
		r, err := tune.Read(file)
		if err != nil {
			return nil, nil, err
		}
		return r, []string{filepath.Base(filepath.Dir(file)), count.Number(len(r.Points)), count.Number(r.Steps)}, nil
	})
}

// inspectRun shows the result of a run and its newest checkpoint, where they are there.
func inspectRun(folder string) (*inspected, error) {
	var content struct {
		Result     *result.Result          `json:"result"`
		Checkpoint *trained.CheckpointInfo `json:"checkpoint"`
	}
	var faults []error
	path := filepath.Join(folder, experiment.ResultFile)
	if _, err := os.Lstat(path); err == nil {
		content.Result, err = identity.Usable(experiment.Schema(), path, identity.Want{})
		faults = append(faults, err)
	}
	kept, _ := input.ReadDir(filepath.Join(folder, experiment.CheckpointDir)) // a folder that is not there has none
	if len(kept) > 0 {
		var err error
		content.Checkpoint, err = trained.Inspect(folder)
		faults = append(faults, err)
	}
	text := ""
	if content.Result != nil {
		text = resultFacts(content.Result)
	}
	if content.Checkpoint != nil {
		text += "\nnewest checkpoint\n" + checkpointFacts(content.Checkpoint)
	}
	return &inspected{"run", folder, content, text}, errors.Join(faults...)
}

// inspectFile finds out what a file is by its first bytes.
func inspectFile(path string) (*inspected, error) {
	f, size, err := input.Open(path, input.Want{Most: limit.DataFile})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unpacked, err := result.Unpack(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	head := make([]byte, 4096)
	n, _ := io.ReadFull(unpacked, head) // a shorter file is complete
	head = head[:n]
	if n == 0 {
		return nil, fmt.Errorf("%s: the file is empty. Get it again from where it was made, or make the run again", path)
	}
	format := func(name string) bool { return bytes.Contains(head, []byte(`"`+name+`"`)) }
	switch {
	case bytes.HasPrefix(head, []byte("OCLCKPT")):
		info, err := trained.Inspect(path)
		if info == nil {
			return nil, err
		}
		return &inspected{"checkpoint", path, info, checkpointFacts(info)}, err
	case format(result.Format):
		r, err := identity.Usable(experiment.Schema(), path, identity.Want{Foreign: true})
		if r == nil {
			return nil, err
		}
		return &inspected{"result", path, r, resultFacts(r)}, err
	case format(tune.Format):
		r, err := tune.Read(path)
		if err != nil {
			return nil, err
		}
		return &inspected{"record of tuning", path, r, pointTable(r).String()}, nil
	case format(result.EventsFormat):
		return inspectEvents(path)
	case len(head) > 8 && head[8] == '{':
		return inspectWeights(path, f, size)
	case bytes.HasPrefix(head, []byte("PK")) && safetensors.Foreign(f, size) == safetensors.Torch:
		return nil, fmt.Errorf("%s: this is %s, which is not read. `python3 examples/pytorch/convert.py ARCHITECTURE FILE -o OUT.safetensors` makes a pretrained network of it",
			path, safetensors.Torch)
	case bytes.HasPrefix(head, []byte("PK")):
		return inspectNPZ(path, f, size)
	}
	c, from, _, err := experiment.Load(path)
	if err = errors.Join(err, experiment.Schema().ValidateAt(c, from)); err != nil {
		return nil, fmt.Errorf("%s is not a file that ocl wrote, and not a valid config:\n%w", path, err)
	}
	text, err := experiment.Schema().Resolved(c).YAML()
	return &inspected{"config", path, c, string(text)}, err
}

// inspectEvents counts the events of a run.
func inspectEvents(path string) (*inspected, error) {
	f, _, err := input.Open(path, input.Want{Most: limit.Events})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	counts, t := map[string]int{}, table{head: []string{"event", ">number"}}
	for e, err := range result.Events(f) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		counts[e.Event]++
	}
	for _, name := range []string{result.EventRun, result.EventTask, result.EventStep, result.EventEvaluation} {
		t.rows = append(t.rows, []string{name, count.Number(counts[name])})
	}
	return &inspected{"events", path, counts, t.String()}, nil
}

// inspectWeights lists the tensors of a safetensors file.
func inspectWeights(path string, f *os.File, size int64) (*inspected, error) {
	r, err := safetensors.NewReader(f, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	type tensor struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		Shape []int  `json:"shape"`
	}
	var content struct {
		Metadata map[string]string `json:"metadata"`
		Tensors  []tensor          `json:"tensors"`
	}
	content.Metadata = r.Metadata
	t := table{head: []string{"tensor", "type", "shape"}}
	for _, x := range r.Tensors {
		content.Tensors = append(content.Tensors, tensor{x.Name, x.Type, x.Shape})
		t.rows = append(t.rows, []string{x.Name, x.Type, strings.Trim(fmt.Sprint(x.Shape), "[]")})
	}
	found := &inspected{"weights", path, content, metadataText(r.Metadata) + t.String()}
	if !backbone.Is(r) {
		return found, nil
	}
	switch b, err := backbone.Open(path, nn.DefaultEngine()); {
	case err == nil:
		return inspectBackbone(b, path, size), nil
	case r.Metadata["ocl_backbone"] != "":
		return found, err
	default:
		found.text += fmt.Sprintf("It is no pretrained network for --backbone: %v\n", err)
		return found, nil
	}
}

// inspectedBackbone is a pretrained network.
type inspectedBackbone struct {
	Architecture string     `json:"architecture"`
	TrainedOn    string     `json:"trained_on"`
	Licence      string     `json:"licence"`
	Side         int        `json:"side"`   // of pictures, in pixels
	Resize       int        `json:"resize"` // their shorter side before the middle is cut out
	Bicubic      bool       `json:"bicubic"`
	Mean         [3]float32 `json:"mean"`
	Std          [3]float32 `json:"std"`
	Numbers      int        `json:"numbers"`           // of an embedding
	Feature      string     `json:"feature,omitempty"` // which numbers they are
	Bytes        int64      `json:"bytes"`
	Parameters   int64      `json:"parameters"`
	MultiplyAdds int64      `json:"multiply_adds"` // of a picture
	Digest       string     `json:"digest"`
	Remarks      string     `json:"remarks,omitempty"`
}

// inspectBackbone says what a pretrained network is.
func inspectBackbone(b *backbone.Backbone, path string, size int64) *inspected {
	i := b.Info()
	parameters, work := b.Work()
	c := inspectedBackbone{i.Architecture, i.TrainedOn, i.Licence, i.Side, i.Resize, i.Bicubic, i.Mean, i.Std, i.Features,
		i.Feature, size, parameters, work, b.Digest(), i.Remarks}
	filter := "bilinear"
	if c.Bicubic {
		filter = "bicubic"
	}
	facts := [][2]string{
		{"network", fmt.Sprintf("%s, trained on %s, licence %s", c.Architecture, c.TrainedOn, c.Licence)},
		{"pictures", fmt.Sprintf("%d×%d pixels, mean %v, deviation %v", c.Side, c.Side, c.Mean, c.Std)},
		{"scaling", fmt.Sprintf("the shorter side to %d pixels, %s; the middle is cut out", c.Resize, filter)},
		{"numbers", fmt.Sprintf("%d of an embedding", c.Numbers)},
		{"size", fmt.Sprintf("%s, %.1f million parameters", count.Bytes(c.Bytes), float64(c.Parameters)/1e6)},
		{"work", fmt.Sprintf("%.0f million multiply-adds a picture", float64(c.MultiplyAdds)/1e6)},
		{"digest", c.Digest},
	}
	if c.Feature != "" {
		facts[3][1] += ": " + c.Feature
	}
	if c.Remarks != "" {
		facts = append(facts, [2]string{"remarks", c.Remarks})
	}
	return &inspected{"pretrained network", path, c, factLines(facts)}
}

// inspectNPZ lists the arrays of a NumPy file.
func inspectNPZ(path string, f *os.File, size int64) (*inspected, error) {
	var content struct {
		Metadata map[string]string `json:"metadata"`
		Arrays   []npz.Array       `json:"arrays"`
	}
	file, err := npz.Open(f, size)
	if err == nil {
		content.Arrays, err = file.Arrays()
	}
	if err == nil {
		content.Metadata, err = file.Metadata()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t := table{head: []string{"array", "type", "shape"}}
	for _, a := range content.Arrays {
		t.rows = append(t.rows, []string{cause.Shown(a.Name), cause.Shown(a.Type), strings.Trim(fmt.Sprint(a.Shape), "[]")})
	}
	return &inspected{"arrays of NumPy", path, content, metadataText(content.Metadata) + t.String()}, nil
}

// metadataText is the table of the metadata of a file; "" where there are none.
func metadataText(of map[string]string) string {
	if len(of) == 0 {
		return ""
	}
	t := table{head: []string{"metadata", "value"}}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		t.rows = append(t.rows, []string{cause.Shown(key), cause.Shown(of[key])})
	}
	return t.String() + "\n"
}

// methodOf is the method of a result with its tricks.
func methodOf(r *result.Result) string {
	return escape.Line(strings.Join(append([]string{r.Method.Name}, r.Method.Tricks...), "+"))
}

// accuracyOf is the average accuracy of a result.
func accuracyOf(r *result.Result) string {
	if r.Metrics.AverageAccuracy == nil {
		return "–"
	}
	return percent(*r.Metrics.AverageAccuracy)
}

// resultFacts returns the first lines about a result. Names come from a file.
func resultFacts(r *result.Result) string {
	p := r.Provenance
	made := fmt.Sprintf("numbers version %d, kernels %s, convolutions %s", p.Numbers, p.Kernel, p.Convolution)
	if p.Program != "" { // committed results do not say it
		made = fmt.Sprintf("ocl %s, revision %s, %s", p.Program, p.Revision, made)
	}
	lines := [][2]string{{"method", methodOf(r)}, {"accuracy", accuracyOf(r)}, {"made by", made}}
	if r.Foreign != nil {
		lines[2][1] = "another program, " + r.Foreign.Program
	} else {
		c := r.Config
		lines = append(lines, [2]string{"run", fmt.Sprintf("%s, %s, memory %d, seed %d, key %s", c.Data.Name,
			count.Of(len(r.Accuracy), "task"), c.Memory, c.Seed, r.Key)},
			[2]string{"images", r.Stream.Sample()},
			[2]string{"outcome", fmt.Sprintf("%s after %s", r.Outcome.State, count.Of(r.Outcome.Step, "step"))})
	}
	return factLines(lines)
}

// factLines prints a name and what there is to say of it on each line.
func factLines(facts [][2]string) string {
	var b strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&b, "%-8s %s\n", f[0], escape.Line(f[1]))
	}
	return b.String()
}

// checkpointFacts returns the lines about a checkpoint. Names come from a file.
func checkpointFacts(c *trained.CheckpointInfo) string {
	place := fmt.Sprintf("task %d, %s, next batch %d", c.Task+1, c.Phase, c.Batch+1)
	if c.Batch == 0 && c.Phase == train.Phase(0).String() {
		place = count.Of(c.Task, "task") + " learned"
	}
	lines := [][2]string{
		{"file", fmt.Sprintf("%s, format version %d, %s", c.File, c.Version, count.Bytes(c.Bytes))},
		{"run", fmt.Sprintf("%s, trick %s, on %s, seed %d, key %.12s", c.Method, c.Trick, c.Data, c.Seed, c.Key)},
		{"place", fmt.Sprintf("step %d, %s", c.Step, place)},
		{"engine", fmt.Sprintf("numbers version %d, kernels %s, convolutions %s", c.Numbers, c.Kernel, c.Convolution)},
		{"data", c.Digest},
	}
	if m := c.Memory; m != nil {
		lines = append(lines, [2]string{"memory", fmt.Sprintf("%s stored, in %s, of %s", count.Of(int(m.Stored), "image"),
			count.Of(int(m.Capacity), "slot"),
			count.Of(int(m.Seen), "sample"))})
	}
	t := table{head: []string{"section", ">size", "CRC-32C"}}
	for _, s := range c.Sections {
		t.rows = append(t.rows, []string{s.Name, count.Bytes(s.Bytes), s.CRC})
	}
	return factLines(lines) + "\n" + t.String()
}

// runAround tells whether a folder lies in that of a run.
func runAround(path string) bool {
	run := filepath.Dir(filepath.Clean(path))
	for _, name := range []string{experiment.RunConfigFile, experiment.ResultFile} {
		if _, err := os.Stat(filepath.Join(run, name)); err == nil {
			return true
		}
	}
	return false
}
