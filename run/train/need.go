package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"ocl"
	"ocl/config"
	"ocl/internal/budget"
	"ocl/internal/count"
	"ocl/learn/method"
	"ocl/nn"
	"ocl/run/build"
)

// Need is memory that a run holds at its peak, at least.
type Need struct {
	What  string
	Bytes float64
	Key   string // of the config that makes it large, with its value
	Fault error  // why no memory would do; nil is none
}

// needs lists what a run needs at least, with so many bytes of images, and so many of them stored in its memory.
func needs(c config.Config, net Network, experts bool, of ocl.StreamInfo, images int64, stored int) []Need {
	const number = 4 // bytes
	info, s := build.Method(c.Methods[0]), build.Setup(c)
	s.Shape, s.Classes = [3]int{of.Channels, of.Height, of.Width}, of.Classes
	image := float64(of.Channels) * float64(of.Height) * float64(of.Width)
	bytes := float64(of.Encoding().Bytes(of.Channels * of.Height * of.Width))
	key := func(name string) string {
		text, _ := c.Text(name)
		return name + " (" + text + ")"
	}
	list := []Need{
		{What: "the images", Bytes: float64(images), Key: "data.train_per_class"},
		{What: "the memory", Bytes: float64(stored) * (float64(net.Stored) + storedBytes + float64(info.SlotBytes(s))),
			Key: key("memory")},
		{What: "an incoming batch", Bytes: float64(of.Batch) * (image*number + bytes), Key: key("stream.batch")},
	}
	if experts { // the first two: there may be no more
		return append(list, Need{What: "the first experts", Bytes: 2 * 2 * number * float64(info.Begins(s)),
			Key: "method." + c.Methods[0]})
	}
	if info.Solves != nil {
		list = append(list, Need{What: "sums over the samples", Bytes: 8 * float64(info.Solves(s).Numbers),
			Key: "method." + c.Methods[0]})
	}
	if c.EvalProbe > 0 {
		list = append(list, Need{What: "the features of a probe",
			Bytes: number * float64(probedImages(c, of)) * float64(net.Features), Key: key("eval_probe")})
	}
	params := number * float64(net.Params)
	wide := build.WideKey(c)
	list = append(list, Need{What: "the parameters and their gradients", Bytes: 2*params + net.Memory.Weights(),
		Key: wide})
	copies := float64(info.Vectors + build.OptimizerVectors(c.Optimizer))
	learned, largest := map[method.Work]int{}, map[method.Work]int{}
	for _, p := range info.StepPasses(s, of.Batch) {
		most := min(slices.Max(p.Images), max(of.Batch, stored)) // no more are replayed than there are
		learned[p.Work], largest[p.Work] = max(learned[p.Work], len(p.Images)), max(largest[p.Work], most)
	}
	if learned[method.Learn] > 1 { // the gradient of a second batch
		copies++
	}
	if learned[method.Predict]+learned[method.Score] > 0 && !s.Followed() { // another network, with its gradients
		copies += 2
	}
	copies += 2 * float64(s.Networks())
	list = append(list, Need{What: "copies of the parameters", Bytes: copies * params, Key: wide})
	if learned[method.Gradients] > 0 {
		list = append(list, Need{What: gradients, Bytes: 2 * params, Key: wide})
	}
	if n := largest[method.Predict]; n > 0 {
		pass, err := net.Memory.Pass(n)
		list = append(list, Need{What: teacherMaps, Bytes: pass, Key: key("stream.batch"), Fault: err})
	}
	rows := max(largest[method.Learn], 1)
	batch := key("stream.batch")
	if rows > of.Batch {
		batch = key("replay.batch")
	}
	if n := largest[method.Score]; n > rows { // its rows go through the network at once, too
		rows, batch = n, "method."+c.Methods[0]
	}
	pass, err := net.Memory.Pass(rows)
	if pass1, _ := net.Memory.Pass(1); pass1 > pass/2 { // whatever the batch
		return append(list, Need{What: "the maps of an image", Bytes: pass, Key: wide, Fault: err})
	}
	return append(list, Need{What: "the maps of a batch", Bytes: pass, Key: batch, Fault: err})
}

const (
	baseBytes       = 30 << 20 // the program and the Go runtime
	storedBytes     = 36       // of a stored image beside its pixels: label, origin and where it lies
	parameterCopies = 10       // parameters, gradients, packed weights, a checkpoint in the making and one being written
	evaluated       = 20       // rows of a pass that takes as much as an evaluation of 200
	passBytes       = 1.3      // what a pass takes, divided by what it takes at least
	teacherMaps     = "the maps of a teacher"
	teacherPasses   = 2 // what a teacher takes for its maps, divided by what it takes at least
	gradients       = "gradients of stored images"
	manyGradients   = 10 // as many as gradients, at most, by how many there are at least
	// peakOfNeed is the peak of a run, in which a checkpoint is made and another one written, and freed memory was not
	// given back yet, divided by what it needs at least.
	peakOfNeed = 1.5
)

// estimated is the peak of a run that needs so much at least. The shares of the maps were measured with the survey's
// network.
func estimated(list []Need, net Network, experts int, image float64) int64 {
	sum, most := 0.0, 0.0
	for _, n := range list {
		sum += n.Bytes
		switch n.What {
		case gradients:
			most += (manyGradients - 1) * n.Bytes
		case teacherMaps:
			most += teacherPasses * n.Bytes
		}
	}
	if experts > 0 { // the maps of the images that go through all of them together
		const copies, images, floatsOfPixel, decoded, bytesOfPixel = 5, 20, 20, 800, 64
		most += list[0].Bytes + float64(net.Params)*4*copies + float64(experts)*images*image*floatsOfPixel +
			decoded*image*bytesOfPixel
	} else {
		evaluation, _ := net.Memory.Pass(evaluated)
		most += list[0].Bytes + float64(net.Params)*4*parameterCopies + passBytes*list[len(list)-1].Bytes + evaluation
	}
	return int64(min(baseBytes+max(most, peakOfNeed*sum), math.MaxInt64/2))
}

// estimatedSolved is the peak of a run of a learner without gradient that needs so much at least: a checkpoint is made
// and another one written, or the head is computed, and an evaluation has its images and the head. None has the vectors
// of training.
func estimatedSolved(list []Need, solved method.Solution, head, image int64) int64 {
	const number, sum, images = 4, 8, 200
	total := float64(head + images*number*image + sum*int64(solved.Numbers+max(solved.Numbers, solved.Solving)))
	for _, n := range list {
		total += n.Bytes
	}
	return int64(min(baseBytes+total+list[0].Bytes, math.MaxInt64/2))
}

// ErrMemory is wrapped by errors about runs that need more memory than this process may use.
var ErrMemory = nn.ErrMemory

// CheckMemory is an error if a run that needs so much cannot fit the memory that this process may use. It says what is
// large and which key makes it so.
func (p Plan) CheckMemory() error { return Fits(p.Needs, 1) }

// Fits is [Plan.CheckMemory] for so many runs at once; they share the images.
func Fits(list []Need, runs int) error {
	sum := 0.0
	for i, n := range list {
		if n.Fault != nil {
			return fmt.Errorf("%s is too large: %w", n.Key, errors.Join(n.Fault))
		}
		if i > 0 {
			n.Bytes *= float64(runs)
		}
		sum += n.Bytes
	}
	have := budget.Bytes()
	if sum <= float64(have) {
		return nil
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Need) int { return int(math.Copysign(1, b.Bytes-a.Bytes)) })
	var words []string
	for _, n := range list[:min(3, len(list))] {
		if n.Bytes >= sum/float64(runs)/50 {
			words = append(words, fmt.Sprintf("%s %s", n.What, sized(n.Bytes)))
		}
	}
	of, remedy := "a run", list[0].Key
	if runs > 1 {
		of, remedy = count.Of(runs, "run")+" at once", fmt.Sprintf("--concurrency (%d), or %s", runs, remedy)
	}
	return fmt.Errorf("%s needs at least %s of memory (%s%s), but this process may use %s: %w. Use less of %s",
		of, sized(sum), strings.Join(words, ", "), map[bool]string{true: " each"}[runs > 1], count.Bytes(have), ErrMemory,
		remedy)
}

// AtOnce is the largest number n ≤ most such that any n of the runs fit into the memory together. It is at least 1: a
// run that does not fit alone reports that itself.
func AtOnce(plans []Plan, most int) int {
	for n := min(most, len(plans)); n > 1; n-- {
		if !slices.ContainsFunc(plans, func(p Plan) bool { return Fits(p.Needs, n) != nil }) {
			return n
		}
	}
	return 1
}

// FitAtOnce returns an error if even the n smallest runs do not fit into memory together.
func FitAtOnce(plans []Plan, n int) error {
	if n = min(n, len(plans)); n < 2 {
		return nil
	}
	var err error
	for _, p := range plans {
		if err = Fits(p.Needs, n); err == nil {
			return nil
		}
	}
	return err
}

func sized(bytes float64) string { return count.Bytes(int64(min(bytes, math.MaxInt64/2))) }
