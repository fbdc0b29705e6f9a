// Calibrate prints how hard the glyphs are: the test accuracy of the survey's network trained offline on all of them, and
// of Finetune and ER learning them online in 10 tasks. It is the instrument by which the constants in glyphs_paint.go were
// chosen, and it needs nothing but the engine: run it with
//
//	go run ./data/_calibrate
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"time"

	"ocl"
	"ocl/data"
	"ocl/internal/rng"
	"ocl/loss"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/optim"
	"ocl/stream"
	"ocl/tensor"
)

var (
	epochs   = flag.Int("epochs", 15, "passes of the offline training; 0 leaves it out")
	capacity = flag.Int("memory", 1000, "capacity M of ER; 0 leaves the online learners out")
	finetune = flag.Bool("finetune", true, "learn with Finetune too")
	tasks    = flag.Int("tasks", 10, "tasks of the stream")
	lr       = flag.Float64("lr", 0.1, "learning rate")
	perClass = flag.Int("train-per-class", 0, "training images per class")
	seed     = flag.Uint64("seed", 1, "seed")
	workers  = flag.Int("workers", 2, "goroutines")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	set, err := data.Open(context.Background(), data.Spec{Name: "glyphs", TrainPerClass: *perClass})
	if err != nil {
		log.Fatal(err)
	}
	if *capacity > 0 {
		if *finetune {
			online(set, "finetune", 0)
		}
		online(set, "er", *capacity)
	}
	if *epochs > 0 {
		offline(set)
	}
}

// model is a network with what a training step needs.
type model struct {
	net *nn.Network
	ws  *nn.Workspace
	opt optim.Optimizer
	d   *tensor.Tensor
}

func newModel(set *data.Set, opt optim.Optimizer) *model {
	net, err := arch.ResNet18(arch.Config{Channels: set.C, Height: set.H, Width: set.W, Classes: set.Classes, NF: 20},
		rng.New(*seed, "network/init"))
	if err != nil {
		log.Fatal(err)
	}
	return &model{net: net, ws: net.NewWorkspace(*workers), opt: opt}
}

// add runs one pass and adds its gradients.
func (m *model) add(b ocl.Batch) {
	logits := m.net.Forward(m.ws, b.X, nn.Train)
	d := tensor.New(logits.Shape...)
	if _, err := (loss.CrossEntropy{}).Eval(d, loss.Input{Logits: logits, Y: b.Y}); err != nil {
		log.Fatal(err)
	}
	m.net.Backward(m.ws, d)
}

func (m *model) step() {
	m.opt.Step(m.net, m.ws)
	m.net.ZeroGrads()
}

// accuracy on the test images of some tasks.
func (m *model) accuracy(s *stream.Tasks, which ...int) float64 {
	right, all := 0, 0
	for _, t := range which {
		for b, err := range s.Test(t) {
			if err != nil {
				log.Fatal(err)
			}
			logits := m.net.Predict(m.ws, b.X)
			for i, y := range b.Y {
				row := logits.Row(i)
				if row[y] == slices.Max(row) {
					right++
				}
			}
			all += b.Len()
		}
	}
	return float64(right) / float64(all)
}

// online learns the stream once; memory 0 is Finetune.
func online(set *data.Set, name string, memory int) {
	begin := time.Now()
	s, err := stream.Split(set, stream.Options{Tasks: *tasks, Batch: 10, Seed: *seed})
	if err != nil {
		log.Fatal(err)
	}
	m := newModel(set, optim.NewSGD(optim.SGD{LR: *lr}))
	draw := rng.New(*seed, "memory")
	var x [][]float32
	var y []ocl.Label
	seen, learned := 0, 0.0
	replay := ocl.Batch{X: tensor.New(10, set.C, set.H, set.W), Y: make([]ocl.Label, 10)}
	for t := range *tasks {
		for b, err := range s.Train(t) {
			if err != nil {
				log.Fatal(err)
			}
			m.add(b)
			if len(x) >= 10 {
				for i, slot := range draw.Perm(len(x))[:10] {
					copy(replay.X.Row(i), x[slot])
					replay.Y[i] = y[slot]
				}
				m.add(replay)
			}
			m.step()
			for i, label := range b.Y {
				if slot := draw.IntN(seen + 1); len(x) < memory {
					x, y = append(x, slices.Clone(b.X.Row(i))), append(y, label)
				} else if slot < memory {
					copy(x[slot], b.X.Row(i))
					y[slot] = label
				}
				seen++
			}
		}
		learned += m.accuracy(s, t) / float64(*tasks)
	}
	all := make([]int, *tasks)
	for t := range all {
		all[t] = t
	}
	fmt.Printf("%-9s average accuracy %5.1f %%, learning accuracy %5.1f %%, %.0f s\n",
		name, 100*m.accuracy(s, all...), 100*learned, time.Since(begin).Seconds())
}

// offline trains on all images in many passes, with momentum and a falling learning rate.
func offline(set *data.Set) {
	begin := time.Now()
	s, err := stream.Split(set, stream.Options{Tasks: 1, Batch: 10, Seed: *seed})
	if err != nil {
		log.Fatal(err)
	}
	const batch = 32
	var m *model
	n := set.Train.Len() / batch * *epochs
	b := ocl.Batch{X: tensor.New(batch, set.C, set.H, set.W), Y: make([]ocl.Label, batch)}
	draw := rng.New(*seed, "offline")
	var order []int
	for k := range n {
		if k%(n/10) == 0 { // ten steps down from the learning rate to a tenth of it; the momentum starts anew
			opt := optim.NewSGD(optim.SGD{LR: *lr / 2 * float64(10-k*10/n) / 10, Momentum: 0.9, WeightDecay: 5e-4})
			if m == nil {
				m = newModel(set, opt)
			}
			m.opt = opt
		}
		if len(order) < batch {
			order = rand.New(draw).Perm(set.Train.Len())
		}
		for i, at := range order[:batch] {
			for p, v := range set.Train.Images.(data.Block).Pixels[at*set.ImageLen() : (at+1)*set.ImageLen()] {
				b.X.Row(i)[p] = float32(v) / 255
			}
			b.Y[i] = ocl.Label(set.Train.Y[at])
		}
		order = order[batch:]
		m.add(b)
		m.step()
		if (k+1)%(n/5) == 0 {
			fmt.Printf("offline   pass %4.1f, accuracy %5.1f %%, %.0f s\n", float64(k+1)/float64(set.Train.Len()/batch),
				100*m.accuracy(s, 0), time.Since(begin).Seconds())
		}
	}
}
