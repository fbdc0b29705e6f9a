package metric

import "math"

// Confusion counts test samples: c[y][k] are those of class y that were predicted as class k. It is what the error
// analysis of the survey (§error_ana) is made of. The worked example of the docstrings is a stream of three tasks of
// two classes each, after its second task; classes 0 and 1 are old, 2 and 3 are new, 4 and 5 were not seen yet:
//
//	          predicted  0  1  2  3  4  5
//	class 0              1  1  2  0  0  0
//	class 1              0  1  1  1  0  1
//	class 2              1  0  3  0  0  0
//	class 3              0  0  1  3  0  0
type Confusion [][]int

// NewConfusion is the empty confusion of so many classes.
func NewConfusion(classes int) Confusion {
	c := make(Confusion, classes)
	all := make([]int, classes*classes)
	for y := range c {
		c[y] = all[y*classes : (y+1)*classes : (y+1)*classes]
	}
	return c
}

// Add counts one sample.
func (c Confusion) Add(class, predicted int) { c[class][predicted]++ }

// Group says how a class stands to the tasks of a class-incremental stream that were learned.
type Group int

// The groups of the classes after a task.
const (
	Unseen Group = iota // of a later task, or of none
	Old                 // of an earlier task
	New                 // of the task just learned
)

// Groups returns the group of each of the classes after task i, given the classes of each task. Example: old, old, new,
// new, unseen, unseen.
func Groups(tasks [][]int, i, classes int) []Group {
	g := make([]Group, classes)
	for j := range i + 1 {
		for _, k := range tasks[j] {
			g[k] = Old
			if j == i {
				g[k] = New
			}
		}
	}
	return g
}

// Errors counts test samples that were misclassified (survey §error_ana): e(n,o) is NewAsOld, and so on. Predictions
// of classes that were not seen yet are counted separately; the survey's authors count them into e(n,n) or e(o,o).
type Errors struct {
	NewAsOld, NewAsNew, NewAsUnseen int // e(n,o), e(n,n)
	OldAsOld, OldAsNew, OldAsUnseen int // e(o,o), e(o,n)
	New, Old                        int // samples, right ones too
}

// Errors counts the errors on the samples of old and of new classes. Example: of 8 samples each, e(n,o) = 1, e(n,n) =
// 1, e(o,o) = 1, e(o,n) = 4, and one old sample is predicted as a class that was not seen yet.
func (c Confusion) Errors(g []Group) Errors {
	var e Errors
	for y, row := range c {
		for k, n := range row {
			switch g[y] {
			case New:
				e.New += n
			case Old:
				e.Old += n
			}
			if k == y {
				continue
			}
			switch [2]Group{g[y], g[k]} {
			case [2]Group{New, Old}:
				e.NewAsOld += n
			case [2]Group{New, New}:
				e.NewAsNew += n
			case [2]Group{New, Unseen}:
				e.NewAsUnseen += n
			case [2]Group{Old, Old}:
				e.OldAsOld += n
			case [2]Group{Old, New}:
				e.OldAsNew += n
			case [2]Group{Old, Unseen}:
				e.OldAsUnseen += n
			}
		}
	}
	return e
}

// NewAsOldOfSamples is er(n,o) as the survey's text defines it, the share of all samples of new classes; NaN without.
// Example: 1/8.
func (e Errors) NewAsOldOfSamples() float64 { return share(e.NewAsOld, e.New) }

// OldAsNewOfSamples is er(o,n) as the survey's text defines it. Example: 4/8.
func (e Errors) OldAsNewOfSamples() float64 { return share(e.OldAsNew, e.Old) }

// NewAsOldOfErrors is er(n,o) as the survey's table has it (table:trick_motivation), the share of the errors on samples
// of new classes; NaN without. Example: 1/2.
func (e Errors) NewAsOldOfErrors() float64 {
	return share(e.NewAsOld, e.NewAsOld+e.NewAsNew+e.NewAsUnseen)
}

// OldAsNewOfErrors is er(o,n) as the survey's table has it. Example: 4/6.
func (e Errors) OldAsNewOfErrors() float64 {
	return share(e.OldAsNew, e.OldAsOld+e.OldAsNew+e.OldAsUnseen)
}

func share(part, all int) float64 {
	if all == 0 {
		return math.NaN()
	}
	return float64(part) / float64(all)
}

// ByTask counts by task instead of by class after task i: row a ≤ i is the task of the samples, column b ≤ i that of
// the predicted class, and the last column the classes of no task so far. Example: (3 4 1), (1 7 0).
func (c Confusion) ByTask(tasks [][]int, i int) [][]int {
	taskOf := make([]int, len(c))
	for k := range taskOf {
		taskOf[k] = i + 1
	}
	for j, classes := range tasks[:i+1] {
		for _, k := range classes {
			taskOf[k] = j
		}
	}
	by := make([][]int, i+1)
	for a := range by {
		by[a] = make([]int, i+2)
		for _, y := range tasks[a] {
			for k, n := range c[y] {
				by[a][taskOf[k]] += n
			}
		}
	}
	return by
}

// Predictions sums the columns of what ByTask returns: how many samples were predicted as each task. Example: 4, 11,
// 1.
func Predictions(byTask [][]int) []int {
	sums := make([]int, len(byTask)+1)
	for _, row := range byTask {
		for b, n := range row {
			sums[b] += n
		}
	}
	return sums
}

// Logits are sums of logits over test samples, by the groups of the samples and of the classes that the logits are of
// (survey fig:trick_motivation). Samples of classes not yet seen are left out.
type Logits struct {
	groups  []Group
	classes [New + 1]int
	samples [New + 1]int
	sums    [New + 1][New + 1]float64 // [of the sample][of the class]
}

// NewLogits are empty sums for classes in the given groups.
func NewLogits(g []Group) *Logits {
	l := &Logits{groups: g}
	for _, group := range g {
		l.classes[group]++
	}
	return l
}

// Add adds the logits [K] of a sample.
func (l *Logits) Add(class int, logits []float32) {
	of := l.groups[class]
	l.samples[of]++
	for k, v := range logits {
		l.sums[of][l.groups[k]] += float64(v)
	}
}

// Own is the mean logit of the classes of a group on the samples of that group, as in the code of the survey's
// authors; NaN without samples. The samples of a class raise its logit: compare All.
func (l *Logits) Own(g Group) float64 {
	return l.sums[g][g] / float64(l.samples[g]*l.classes[g])
}

// All is the mean logit of the classes of a group on the samples of old and of new classes; NaN without.
func (l *Logits) All(g Group) float64 {
	return (l.sums[Old][g] + l.sums[New][g]) / float64((l.samples[Old]+l.samples[New])*l.classes[g])
}

// GroupMean is the mean of the values [K] of the classes of a group; NaN without.
func GroupMean(values []float64, groups []Group, g Group) float64 {
	var v []float64
	for k, x := range values {
		if groups[k] == g {
			v = append(v, x)
		}
	}
	return mean(v)
}
