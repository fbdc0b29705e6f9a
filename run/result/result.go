// Package result is the schema of the files of a run (docs/format/result.md). It reads and writes result files, and
// does not know how they are made. Start at [Result].
package result

import (
	"fmt"

	"ocl/config"
	"ocl/internal/count"
)

// Format and Version are the first two fields of every result.json.
const (
	Format  = "ocl-result"
	Version = 1
)

// Numbers is the numbers version: it rises with every change that moves a benchmark figure (CHANGELOG: [NUMBERS]).
const Numbers = 2

// States of Outcome.
const (
	Finished    = "finished"
	Interrupted = "interrupted"
	Diverged    = "diverged"
	// Running is in no file: it is that of a result made of the events of a run that is at work.
	Running = "running"
)

// Result is one run: one method, one seed.
type Result struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// hash of all that the numbers are a function of; "" of what ocl has not run
	Key     string   `json:"key,omitempty"`
	Foreign *Foreign `json:"foreign,omitempty"` // nil for what ocl has run
	// the resolved config of this one run; zero for what ocl has not run
	Config     config.Config `json:"config,omitzero"`
	Method     Method        `json:"method"`
	Provenance Provenance    `json:"provenance"`
	Tuning     *Tuning       `json:"tuning,omitempty"` // nil for a run whose settings were not tuned before it
	Parent     *Parent       `json:"parent,omitempty"` // nil for a run that began with a new learner
	Stream     Stream        `json:"stream"`
	Accuracy   [][]*float64  `json:"accuracy"`                     // [after task i][test set j], nil where not evaluated
	PerClass   [][]*float64  `json:"accuracy_per_class,omitempty"` // [after task i][class], nil where not evaluated
	// Seen is the accuracy of the first classifier on the test images of the classes that have come so far, each predicted
	// as one of these, after each task. It is nil where tasks have test sets of their own, or all classes come in the
	// first task.
	Seen []*float64 `json:"seen,omitempty"`
	// Cumulative is the accuracy of the first classifier [after task t][k ≤ t] on the test images of the tasks up to k
	// together, each predicted as one of their classes. It is nil where tasks share a test set, where not every task was
	// evaluated, and where the classifier has no score for each class.
	Cumulative [][]*float64 `json:"cumulative,omitempty"`
	// Retained is the accuracy of the first classifier after the last task, on held-out images of the classes that came in
	// each task. It is nil where tasks have test sets of their own, which say that, and where tasks differ in more than
	// how often each class comes.
	Retained []*float64 `json:"retained,omitempty"`
	// Incoming counts images of the stream that were predicted before they were learned (eval_online, eval_ahead).
	Incoming []Incoming `json:"incoming,omitempty"`
	Probe    *Probe     `json:"probe,omitempty"` // after the last task, with eval_probe
	Metrics  Metrics    `json:"metrics"`
	// Calibration says what the probabilities of the first classifier are worth after the last task; nil in older files,
	// and where too little was tested.
	Calibration *Calibration `json:"calibration,omitempty"`
	// Classifiers are what the same run measured of further classifiers, by name; nil without.
	Classifiers map[string]Classifier `json:"classifiers,omitempty"`
	// ErrorAnalysis is that of class-incremental streams, nil elsewhere.
	ErrorAnalysis *ErrorAnalysis `json:"error_analysis,omitempty"`
	// those in the middle of tasks, in the order of their steps
	Evaluations []Evaluation `json:"evaluations,omitempty"`
	Seconds     Seconds      `json:"seconds"`
	Resources   Resources    `json:"resources"`
	Memory      *Memory      `json:"memory,omitempty"`
	Experts     *Experts     `json:"experts,omitempty"` // of a method that makes networks as it learns, nil for others
	Outcome     Outcome      `json:"outcome"`
}

// Foreign says of accuracies that another program has measured where they are from. Such a result has stream, method,
// accuracy and metrics, and says nothing else: ocl has not run it and cannot check it.
type Foreign struct {
	Program string `json:"program"`
	File    string `json:"file"`   // name of the file with the accuracies
	Digest  string `json:"digest"` // "sha256:…" of that file
	Seed    uint64 `json:"seed"`
	Memory  *int   `json:"memory,omitempty"` // samples; nil if unknown or none
}

// Method is the method of a run.
type Method struct {
	Name     string         `json:"name"`
	Title    string         `json:"title"`
	Tricks   []string       `json:"tricks"`
	Options  map[string]any `json:"options"`
	Signals  []string       `json:"signals"` // supervisory signals used (survey tab: summary): "task boundaries", …
	Citation string         `json:"citation"`
}

// UnknownRevision is the revision of a program whose build does not say one.
const UnknownRevision = "unknown"

// Provenance says on what the numbers depend besides the config, and where and when they were made.
type Provenance struct {
	// version of ocl; like the times, processor and command "" in older files
	Program     string `json:"program,omitempty"`
	Revision    string `json:"revision"`
	Numbers     int    `json:"numbers"`
	Kernel      string `json:"kernel"`
	Convolution string `json:"convolution,omitempty"` // "" in files of numbers version 1, which do not say
	Workers     int    `json:"workers"`
	Concurrency int    `json:"concurrency"`
	// Timed says that the run was a job whose run time was wanted: no other job of its study was at work on the machine.
	Timed     bool   `json:"timed,omitempty"`
	Go        string `json:"go"`
	Processor string `json:"processor,omitempty"`
	// Architecture is what the program was built for (GOARCH). The generic kernels may round differently on another one.
	Architecture string   `json:"architecture,omitempty"`
	Started      string   `json:"started,omitempty"` // RFC 3339, UTC
	Ended        string   `json:"ended,omitempty"`
	Command      []string `json:"command,omitempty"` // the words of the command line
	DataDigest   string   `json:"data_digest"`
	// Registered are the method, data set, kind of stream and network of the run as far as another module has registered
	// them, with its version.
	Registered []config.Registered `json:"registered,omitempty"`
}

// Tuning says how settings of a run were chosen on the first two tasks (docs/tuning.md). The config has the chosen
// values, so no number depends on it.
type Tuning struct {
	Key        string        `json:"key"` // of the run before tuning, and of the tuning
	Grid       string        `json:"grid"`
	GridDigest string        `json:"grid_digest"`
	Search     string        `json:"search"`
	By         string        `json:"by,omitempty"` // the metric that scored points; "" is the average accuracy
	Repeats    int           `json:"repeats"`
	Steps      int           `json:"steps"` // learner steps of all trials
	Keys       []string      `json:"keys"`  // of the config
	Chosen     []string      `json:"chosen"`
	Points     []TuningPoint `json:"points"`
}

// TuningPoint is a combination of values that was tried, in the order of Tuning.Keys.
type TuningPoint struct {
	Values  []string `json:"values"`
	Outcome string   `json:"outcome"`         // Finished, Diverged, or stopped by the search
	Score   *float64 `json:"score,omitempty"` // mean of the metric after the two tasks; nil where a trial diverged
}

// Parent is the run whose learner a run has continued. Tasks, steps and classes are those of the learner then, with
// those of the parent's own parent.
type Parent struct {
	Run        string `json:"run"` // name of its folder
	Key        string `json:"key"`
	Checkpoint string `json:"checkpoint"`                 // "sha256:…" of the file
	Older      bool   `json:"older_checkpoint,omitempty"` // it had newer ones, which could not be read
	Tasks      int    `json:"tasks"`                      // learned to their end
	Steps      int    `json:"steps"`
	Classes    int    `json:"classes"` // outputs of its network
}

// Stream is the stream of a run.
type Stream struct {
	Name     string `json:"name"`
	Scenario string `json:"scenario"`
	Protocol string `json:"protocol"`
	Shape    [3]int `json:"shape"` // C, H, W
	Classes  int    `json:"classes"`
	// Embeddings says that samples are no images but C numbers, which the network By has made of images of the shape Of. A
	// result of the same data without them says nothing of this one. By and Of are absent where they are not known.
	Embeddings bool   `json:"embeddings,omitempty"`
	By         string `json:"by,omitempty"`
	Of         [3]int `json:"of,omitzero"`
	// ClassNames may be empty.
	ClassNames []string `json:"class_names,omitempty"`
	// CommonTest says that all tasks share one test set: accuracy has one column.
	CommonTest bool `json:"common_test,omitempty"`
	// Notes say in what the data differ from the published ones, a sentence each: a part of the images, images that are
	// absent or cannot be read, tasks that are left out.
	Notes []string `json:"notes,omitempty"`
	Tasks []Task   `json:"tasks"`
}

// What a calibration was fitted to.
const (
	LeftOut = "samples left out" // of the learner's own, one by one
	Tested  = "test images"      // of which each half was judged by the fit to the other one
)

// UnknownShare is the share of pictures of known classes that may be called unknown, unless another one is asked for.
const UnknownShare = 0.05

// Calibration says what probabilities are worth (see package calibrate).
type Calibration struct {
	By          string           `json:"by"`      // LeftOut or Tested
	Samples     int              `json:"samples"` // that it was fitted to
	Temperature float64          `json:"temperature"`
	Slope       float64          `json:"slope"`
	ECE         float64          `json:"ece"`                  // expected calibration error on test images, in [0,1]
	Before      *float64         `json:"ece_before,omitempty"` // that of the softmax of the logits as they are
	Bins        []CalibrationBin `json:"bins"`
}

// CalibrationBin has the test images whose best class had a probability in (Bin/15, (Bin+1)/15].
type CalibrationBin struct {
	Bin        int     `json:"bin"`
	N          int     `json:"n"`
	Confidence float64 `json:"confidence"` // mean
	Accuracy   float64 `json:"accuracy"`
}

// Sample says in words what a sample is.
func (s Stream) Sample() string {
	if !s.Embeddings {
		return fmt.Sprintf("%d × %d pixels in %s", s.Shape[1], s.Shape[2], count.Of(s.Shape[0], "channel"))
	}
	text := "embeddings of " + count.Of(s.Shape[0], "number")
	if s.By != "" {
		text += " by " + s.By
	}
	return text
}

// Order are the classes, counted from 0, in the order in which the tasks bring them.
func (s Stream) Order() []int {
	var order []int
	for _, t := range s.Tasks {
		order = append(order, t.Classes...)
	}
	return order
}

// Task is one task of the stream; Index is its 0-based place in the whole stream, before a protocol cut tasks away.
// Name is that of the data set, if it has names for its tasks.
type Task struct {
	Index   int    `json:"index"`
	Name    string `json:"name,omitempty"`
	Classes []int  `json:"classes"`
	Train   int    `json:"train"`
	Test    int    `json:"test"`
}

// Incoming counts images of the stream that the first classifier predicted, some steps before they were learned, by the
// task that brought them.
type Incoming struct {
	Ahead   int   `json:"ahead"` // steps between the prediction and the step that learned them; 0 is just before it
	Right   []int `json:"right"`
	Samples []int `json:"samples"`
}

// Probe is what a logistic regression on the features of the network predicts (learn/probe).
type Probe struct {
	Trained    int  `json:"trained"` // images of the stream that it was fitted to
	Iterations int  `json:"iterations"`
	Converged  bool `json:"converged"`
	Right      int  `json:"right"` // of the test images of all tasks
	Samples    int  `json:"samples"`
}

// Evaluation is one in the middle of a task.
type Evaluation struct {
	Step     int        `json:"step"`     // learner steps taken before it
	Task     int        `json:"task"`     // 0-based, under way
	Accuracy []*float64 `json:"accuracy"` // by test set, nil where not evaluated
	// Seen is as in [Result]; nil where no class is still to come, or tasks have test sets of their own.
	Seen *float64 `json:"seen,omitempty"`
}

// Classifier has the measurements of one classifier of a run, other than the first of its config.
type Classifier struct {
	Accuracy      [][]*float64   `json:"accuracy"`
	Cumulative    [][]*float64   `json:"cumulative,omitempty"` // as in Result
	Metrics       Metrics        `json:"metrics"`
	ErrorAnalysis *ErrorAnalysis `json:"error_analysis,omitempty"`
}

// ErrorAnalysis says what kind of errors a classifier makes (docs/error-analysis.md).
type ErrorAnalysis struct {
	Tasks     []TaskErrors `json:"tasks"`     // after each task that was evaluated
	Confusion [][]int      `json:"confusion"` // after the last of them: [class][predicted class], samples
}

// TaskErrors is the error analysis after a task. Shares are fractions in [0,1]; what is undefined is nil.
type TaskErrors struct {
	Task        int `json:"task"`
	New         int `json:"new"` // test samples
	Old         int `json:"old"`
	NewAsOld    int `json:"new_as_old"` // e(n,o)
	NewAsNew    int `json:"new_as_new"` // e(n,n)
	NewAsUnseen int `json:"new_as_unseen"`
	OldAsOld    int `json:"old_as_old"` // e(o,o)
	OldAsNew    int `json:"old_as_new"` // e(o,n)
	OldAsUnseen int `json:"old_as_unseen"`

	NewAsOldOfSamples *float64 `json:"new_as_old_of_samples,omitempty"` // er(n,o)
	OldAsNewOfSamples *float64 `json:"old_as_new_of_samples,omitempty"` // er(o,n)
	NewAsOldOfErrors  *float64 `json:"new_as_old_of_errors,omitempty"`
	OldAsNewOfErrors  *float64 `json:"old_as_new_of_errors,omitempty"`

	// Logits and Head are nil where the classifier does not predict by logits.
	Logits *Logits `json:"logits,omitempty"`
	Head   *Head   `json:"head,omitempty"`

	// [task of the samples][task of the predicted class], last column: classes not yet seen
	Confusion   [][]int `json:"confusion"`
	Predictions []int   `json:"predictions"` // sums of its columns
}

// Logits are mean logits of the classes in a group, on the samples of that group and on all.
type Logits struct {
	NewOwn *float64 `json:"new_own,omitempty"`
	OldOwn *float64 `json:"old_own,omitempty"`
	NewAll *float64 `json:"new_all,omitempty"`
	OldAll *float64 `json:"old_all,omitempty"`
}

// Head are means over the rows of the network's head that belong to the classes in a group.
type Head struct {
	NewWeight *float64 `json:"new_weight,omitempty"`
	OldWeight *float64 `json:"old_weight,omitempty"`
	NewBias   *float64 `json:"new_bias,omitempty"`
	OldBias   *float64 `json:"old_bias,omitempty"`
}

// Seconds splits the run time; time before an interruption counts.
type Seconds struct {
	Train   float64 `json:"train"`
	Prepare float64 `json:"prepare"`
	Test    float64 `json:"test"`
}

// All is the whole run time.
func (s Seconds) All() float64 { return s.Train + s.Prepare + s.Test }

// Resources says how much time, memory and work the run took.
type Resources struct {
	PeakResidentBytes int64 `json:"peak_resident_bytes"` // of the process; runs at once share it
	Parameters        int   `json:"parameters"`
	MemoryBytes       int64 `json:"memory_bytes"` // stored samples
	// what a checkpoint holds of the learner, without the origins of stored samples
	StateBytes   int64 `json:"state_bytes"`
	FLOPsPerStep int64 `json:"flops_per_step"`
	// Rows that go forward and backward through networks for each incoming sample; 0 where a method does not learn step by
	// step, and in older files.
	RowsForward  float64 `json:"rows_forward,omitempty"`
	RowsBackward float64 `json:"rows_backward,omitempty"`
	// NetworkBytes are those of the network with every copy that the method keeps beside it; 0 in older files.
	NetworkBytes int64 `json:"network_bytes,omitempty"`
}

// Memory is the content of the memory after each task that ended.
type Memory struct {
	Capacity    int           `json:"capacity"`
	ClassCounts []map[int]int `json:"class_counts"` // class index (as text) to stored samples
	// TaskCounts have the place in Stream.Tasks of the task that samples came with instead of their class; nil in older
	// files.
	TaskCounts []map[int]int `json:"task_counts,omitempty"`
}

// Experts are the networks that a learner has made by the end of a run, in their order. One whose training has not
// ended is not among them.
type Experts struct {
	List     []Expert  `json:"list"`
	Pictures *Pictures `json:"pictures,omitempty"` // nil where there are no experts
}

// Expert is an autoencoder and a classifier.
type Expert struct {
	Step   int `json:"step"`   // of the learner, those before its run too: the batch with which its training began
	Task   int `json:"task"`   // place in Stream.Tasks of the task under way then; -1 before the run
	Stored int `json:"stored"` // samples of the short-term memory that it was made of
	// 1, those, and the responsibilities that it has had since: what its prior is in proportion to
	Count      float64 `json:"count"`
	Parameters int     `json:"parameters"`
}

// Pictures has some images of which experts were made. Each is followed by its reconstruction by the expert's
// autoencoder.
type Pictures struct {
	Experts []int  `json:"experts"` // places in the list of experts, rising
	Images  int    `json:"images"`  // of each expert
	Height  int    `json:"height"`  // in pixels; large images are made smaller
	Width   int    `json:"width"`
	Pixels  string `json:"pixels"` // base64 of 8-bit RGB values [expert][image][original, decoded][H][W][3]
}

// Outcome says how the run ended. Step is the number of learner steps taken.
type Outcome struct {
	State  string `json:"state"`
	Step   int    `json:"step"`
	Reason string `json:"reason,omitempty"`
}
