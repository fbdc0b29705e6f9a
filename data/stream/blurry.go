package stream

import (
	"fmt"
	"math"
	"slices"

	"ocl"
	"ocl/data"
	"ocl/rng"
)

// The kinds of this file blur the boundaries of tasks by classes: some classes belong to one task, others come in all.
// All tasks share one test set. Random choices come from sources of the seed: the order of the classes from
// "stream/class-order", and the rest from a source that each kind names.

// Mixture are the percentages N and M of i-Blurry-N-M and of Si-Blurry, in [0,100]: N % of the classes belong to one
// task, and M % of the images of the others come in any task.
type Mixture struct{ Disjoint, Blurry float64 }

// iblurry is i-Blurry-N-M (Koh et al. 2022, Online Continual Learning on Class Incremental Blurry Task Configuration
// with Anytime Inference): N % of the classes are dealt to the tasks, equally many to each, with all their images. So
// are the others, but M % of the images of each go into one pool, which is dealt over all tasks in equal parts. Where
// classes or images are not shared equally, the first tasks have one more. The source is "stream/iblurry".
var iblurry = Kind{
	Name: "iblurry", Scenario: ocl.DomainIncremental, Summary: "some classes belong to one task, and a share of the images of all others comes in any task (i-Blurry)",
	CheckTasks: manyTasks,
	check:      checkMixed,
	common:     func(*data.Set) bool { return true },
	mixes:      true,
	divide: func(d input) []taskImages {
		src, order := rng.New(d.o.Seed, "stream/iblurry"), classOrder(d.set, d.o)
		lists, t := byClass(d.set.Classes, d.set.Train.Y, d.train), d.o.Tasks
		disjoint := portion(d.o.Mixture.Disjoint, len(order))
		shares := make([]taskImages, t)
		var pool []int32
		for at, class := range order {
			task := &shares[at%t] // of the disjoint ones
			list := lists[class]
			if at >= disjoint {
				task = &shares[(at-disjoint)%t]
				shuffle(src, list)
				n := portion(d.o.Mixture.Blurry, len(list))
				pool, list = append(pool, list[:n]...), list[n:]
			}
			task.train = append(task.train, list...)
		}
		shuffle(src, pool)
		for at, image := range pool {
			s := &shares[at%t]
			s.train = append(s.train, image)
		}
		return settled(shares, d)
	},
}

// siblurry is Si-Blurry (Moon et al. 2023, Online Class Incremental Learning on Stochastic Blurry Task Boundary via
// Mask and Visual Prompt Tuning): as i-Blurry, but how many classes and how many images a task has is drawn too, by
// T − 1 uniform cuts of the list of disjoint classes, of that of the others, and of the images that come in any task. A
// draw in which a task has no image is drawn again. The source is "stream/siblurry".
var siblurry = Kind{
	Name: "siblurry", Scenario: ocl.DomainIncremental, Summary: "as iblurry, with random numbers of classes and images in each task (Si-Blurry)",
	CheckTasks: manyTasks,
	check:      checkMixed,
	common:     func(*data.Set) bool { return true },
	mixes:      true,
	divide: func(d input) []taskImages {
		src, order := rng.New(d.o.Seed, "stream/siblurry"), classOrder(d.set, d.o)
		lists := byClass(d.set.Classes, d.set.Train.Y, d.train)
		disjoint := order[:portion(d.o.Mixture.Disjoint, len(order))]
		least := min(d.o.Batch, len(d.train)/(2*d.o.Tasks)+1)
		for {
			shares := d.drawn(src, lists, disjoint, order[len(disjoint):])
			if !slices.ContainsFunc(shares, func(s taskImages) bool { return len(s.train) < least }) {
				return settled(shares, d)
			}
		}
	},
}

// drawn is one draw of Si-Blurry.
func (d input) drawn(src *rng.Source, lists [][]int32, disjoint, others []int) []taskImages {
	t := d.o.Tasks
	shares, blurry := make([]taskImages, t), make([][]int32, t)
	for task, of := range cuts(src, disjoint, t) {
		for _, class := range of {
			shares[task].train = append(shares[task].train, lists[class]...)
		}
	}
	all := 0
	for task, of := range cuts(src, others, t) {
		for _, class := range of {
			blurry[task] = append(blurry[task], lists[class]...)
		}
		all += len(blurry[task])
	}
	var pool []int32
	takes := make([]int, t)
	for task, of := range cuts(src, make([]int, portion(d.o.Mixture.Blurry, all)), t) {
		takes[task] = min(len(of), len(blurry[task]))
		shuffle(src, blurry[task])
		pool = append(pool, blurry[task][:takes[task]]...)
		blurry[task] = blurry[task][takes[task]:]
	}
	shuffle(src, pool)
	for task := range shares {
		shares[task].train = slices.Concat(shares[task].train, blurry[task], pool[:takes[task]])
		pool = pool[takes[task]:]
	}
	return shares
}

// gaussian has no boundaries: an image of the i-th of C classes comes at a time drawn from a normal distribution with
// the mean i/C and the deviation 0.1, and images come in the order of their times (Seo et al. 2023, Online
// Boundary-Free Continual Learning by Scheduled Data Prior). Tasks are equal parts of that order, for evaluations; no
// learner is told of them. The source is "stream/gaussian".
var gaussian = Kind{
	Name: "gaussian", Scenario: ocl.DomainIncremental, Summary: "classes come and go, each around a time of its own, without boundaries",
	NoBoundaries: true,
	CheckTasks:   manyTasks,
	check:        checkMixed,
	common:       func(*data.Set) bool { return true },
	mixes:        true,
	divide: func(d input) []taskImages {
		src := rng.New(d.o.Seed, "stream/gaussian")
		place := make([]float64, d.set.Classes)
		for at, class := range classOrder(d.set, d.o) {
			place[class] = float64(at) / float64(d.set.Classes)
		}
		times := make(map[int32]float64, len(d.train))
		for _, i := range d.train {
			times[i] = place[d.set.Train.Y[i]] + float64(deviation*src.NormFloat64())
		}
		images := slices.Clone(d.train)
		slices.SortStableFunc(images, func(a, b int32) int {
			switch {
			case times[a] < times[b]:
				return -1
			case times[a] > times[b]:
				return 1
			}
			return 0
		})
		shares := make([]taskImages, d.o.Tasks)
		for t := range shares {
			from, to := t*len(images)/len(shares), (t+1)*len(images)/len(shares)
			shares[t] = taskImages{train: images[from:to], ordered: true}
		}
		nameClasses(shares, d.set)
		return shares
	},
}

// deviation is that of the times of a class, where the stream has the length 1.
const deviation = 0.1

// manyTasks says whether so many tasks can be made of classes that come in any of them.
func manyTasks(tasks, classes int) error {
	if tasks < 1 || tasks > classes {
		return fmt.Errorf("stream.tasks (--tasks): %d is out of range. Use 1 to %d, the number of classes", tasks, classes)
	}
	return nil
}

// checkMixed refuses what would make no difference in these kinds, or break the order in which their classes come.
func checkMixed(set *data.Set, o Options) error {
	switch {
	case len(o.TaskClasses) > 0:
		return fmt.Errorf("stream.task_classes: in a stream of the kind %s classes come in several tasks. Remove stream.task_classes, or use --stream classes",
			o.Kind)
	case o.Blurry > 0:
		return fmt.Errorf("stream.blurry: the kind %s says itself which images come in which task. Remove stream.blurry",
			o.Kind)
	}
	return manyTasks(o.Tasks, set.Classes)
}

// portion is a percentage of n, rounded.
func portion(percent float64, n int) int { return int(math.Round(percent * float64(n) / 100)) }

// shuffle brings a list into a random order.
func shuffle(src *rng.Source, list []int32) {
	src.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// cuts are the parts of a list between n − 1 cuts, each of which may be anywhere.
func cuts(src *rng.Source, list []int, n int) [][]int {
	at := make([]int, n-1, n)
	for i := range at {
		at[i] = src.IntN(len(list) + 1)
	}
	slices.Sort(at)
	parts, from := make([][]int, n), 0
	for i, to := range append(at, len(list)) {
		parts[i], from = list[from:to], to
	}
	return parts
}

// settled has the images of each task in the order of the data set, and its classes.
func settled(shares []taskImages, d input) []taskImages {
	for t := range shares {
		slices.Sort(shares[t].train)
	}
	nameClasses(shares, d.set)
	return shares
}

// Observed says which classes have come in earlier tasks and in so many batches of a task, by label. It is nil where
// tasks have test sets of their own, and where all classes come in the first task.
func (s *Tasks) Observed(task, batches int) []bool {
	if !s.info.CommonTest || len(s.info.Tasks[0].Classes) == s.info.Classes {
		return nil
	}
	seen := make([]bool, s.info.Classes)
	for t, list := range s.train.lists[:task+1] {
		if t == task {
			list = list[:min(batches*s.opts.Batch, len(list))]
		}
		for _, i := range list {
			seen[s.train.from.Y[i]] = true
		}
	}
	return seen
}

// Came says how many training images of each class come in a task, by label. It is nil unless tasks share one test set
// and differ in nothing but that.
func (s *Tasks) Came(task int) []int {
	kind, err := LookupKind(s.opts.Kind)
	if err != nil || !kind.mixes || !s.info.CommonTest {
		return nil
	}
	came := make([]int, s.info.Classes)
	for _, i := range s.train.lists[task] {
		came[s.train.from.Y[i]]++
	}
	return came
}
