package result

import "slices"

// ErrorNumber describes one number of an error analysis.
type ErrorNumber struct {
	Key   string                     // names it in exports
	Group string                     // of its chart in exports; "" means none, as of counts
	Title string                     // of its chart
	Help  string                     // what it is, for people
	Of    func(*TaskErrors) *float64 // nil where it is undefined
}

// ErrorNumbers describes all numbers of an error analysis, counts first. The caller owns the list.
func ErrorNumbers() []ErrorNumber { return slices.Clone(errorNumbers) }

// ErrorOf is the number of a key, nil where it is undefined. A key that [ErrorNumbers] does not have panics.
func ErrorOf(key string) func(*TaskErrors) *float64 {
	i := slices.IndexFunc(errorNumbers, func(n ErrorNumber) bool { return n.Key == key })
	if i < 0 {
		panic("result: an error analysis has no number " + key)
	}
	return errorNumbers[i].Of
}

// Last is the analysis after the last task that was evaluated, nil where there is none.
func (a *ErrorAnalysis) Last() *TaskErrors {
	if a == nil || len(a.Tasks) == 0 {
		return nil
	}
	return &a.Tasks[len(a.Tasks)-1]
}

// After is the analysis after a task (0-based), nil where there is none.
func (a *ErrorAnalysis) After(task int) *TaskErrors {
	if a == nil {
		return nil
	}
	for k := range a.Tasks {
		if a.Tasks[k].Task == task {
			return &a.Tasks[k]
		}
	}
	return nil
}

// Shares are the counts of the given rows and columns of a confusion matrix by the sum of each whole row, NaN where a
// row has no counts.
func Shares(counts [][]int, rows, cols []int) [][]float64 {
	out := make([][]float64, len(rows))
	for i, y := range rows {
		var row []int
		if y < len(counts) {
			row = counts[y]
		}
		sum := 0.0
		for _, n := range row {
			sum += float64(n)
		}
		for _, k := range cols {
			n := 0
			if k < len(row) {
				n = row[k]
			}
			out[i] = append(out[i], float64(n)/sum) // NaN for none
		}
	}
	return out
}

var errorNumbers = []ErrorNumber{
	counted("errors_new", "test samples of the classes of the task just learned, which are new",
		func(t *TaskErrors) int { return t.New }),
	counted("errors_old", "test samples of the classes of earlier tasks, which are old",
		func(t *TaskErrors) int { return t.Old }),
	counted("errors_new_as_old", "number e(n,o) of samples of new classes classified as an old class",
		func(t *TaskErrors) int { return t.NewAsOld }),
	counted("errors_new_as_new", "number e(n,n) of samples of new classes classified as another new class",
		func(t *TaskErrors) int { return t.NewAsNew }),
	counted("errors_new_as_unseen", "samples of new classes classified as a class not seen yet",
		func(t *TaskErrors) int { return t.NewAsUnseen }),
	counted("errors_old_as_old", "number e(o,o) of samples of old classes classified as another old class",
		func(t *TaskErrors) int { return t.OldAsOld }),
	counted("errors_old_as_new", "number e(o,n) of samples of old classes classified as a new class",
		func(t *TaskErrors) int { return t.OldAsNew }),
	counted("errors_old_as_unseen", "samples of old classes classified as a class not seen yet",
		func(t *TaskErrors) int { return t.OldAsUnseen }),
	{"errors_new_as_old_of_samples", "errors", "er(n,o) of the samples",
		"share er(n,o) of all samples of new classes that are classified as an old class",
		func(t *TaskErrors) *float64 { return t.NewAsOldOfSamples }},
	{"errors_old_as_new_of_samples", "errors", "er(o,n) of the samples",
		"share er(o,n) of all samples of old classes that are classified as a new class",
		func(t *TaskErrors) *float64 { return t.OldAsNewOfSamples }},
	{"errors_new_as_old_of_errors", "errors", "er(n,o) of the errors",
		"share er(n,o) of the misclassified samples of new classes that are classified as an old class",
		func(t *TaskErrors) *float64 { return t.NewAsOldOfErrors }},
	{"errors_old_as_new_of_errors", "errors", "er(o,n) of the errors",
		"share er(o,n) of the misclassified samples of old classes that are classified as a new class",
		func(t *TaskErrors) *float64 { return t.OldAsNewOfErrors }},
	ofLogits("logits_new_own", "new classes on own samples", "mean logit of the new classes on samples of new classes",
		func(l *Logits) *float64 { return l.NewOwn }),
	ofLogits("logits_old_own", "old classes on own samples", "mean logit of the old classes on samples of old classes",
		func(l *Logits) *float64 { return l.OldOwn }),
	ofLogits("logits_new_all", "new classes on all samples", "mean logit of the new classes on all samples",
		func(l *Logits) *float64 { return l.NewAll }),
	ofLogits("logits_old_all", "old classes on all samples", "mean logit of the old classes on all samples",
		func(l *Logits) *float64 { return l.OldAll }),
	ofHead("head_new_weight", "weight of new classes", "mean weight of the rows of new classes in the last layer",
		func(h *Head) *float64 { return h.NewWeight }),
	ofHead("head_old_weight", "weight of old classes", "mean weight of the rows of old classes in the last layer",
		func(h *Head) *float64 { return h.OldWeight }),
	ofHead("head_new_bias", "bias of new classes", "mean bias of the rows of new classes in the last layer",
		func(h *Head) *float64 { return h.NewBias }),
	ofHead("head_old_bias", "bias of old classes", "mean bias of the rows of old classes in the last layer",
		func(h *Head) *float64 { return h.OldBias }),
}

func counted(key, help string, of func(*TaskErrors) int) ErrorNumber {
	return ErrorNumber{Key: key, Help: help, Of: func(t *TaskErrors) *float64 {
		v := float64(of(t))
		return &v
	}}
}

func ofLogits(key, title, help string, of func(*Logits) *float64) ErrorNumber {
	return ErrorNumber{key, "logits", title, help, func(t *TaskErrors) *float64 {
		if t.Logits == nil {
			return nil
		}
		return of(t.Logits)
	}}
}

func ofHead(key, title, help string, of func(*Head) *float64) ErrorNumber {
	return ErrorNumber{key, "head", title, help, func(t *TaskErrors) *float64 {
		if t.Head == nil {
			return nil
		}
		return of(t.Head)
	}}
}
