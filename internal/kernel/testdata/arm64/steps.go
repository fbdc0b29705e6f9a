// Command steps makes so many training steps as the survey has them, with one worker. count.sh counts its instructions.
package main

import (
	"log"
	"os"
	"strconv"

	"ocl"
	"ocl/learn/loss"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: steps STEPS PIXELS")
	}
	steps, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	size, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	net, err := arch.ResNet18(arch.Config{Channels: 3, Height: size, Width: size, Classes: 100, NF: 20}, rng.New(1, "net"))
	if err != nil {
		log.Fatal(err)
	}
	src, batches := rng.New(1, "images"), []*tensor.Tensor{tensor.New(10, 3, size, size), tensor.New(10, 3, size, size)}
	for _, b := range batches {
		for i := range b.Data {
			b.Data[i] = src.Float32()
		}
	}
	labels := make([]ocl.Label, 10)
	for i := range labels {
		labels[i] = ocl.Label(src.IntN(100))
	}
	ws, opt := net.NewWorkspace(1), optim.SGD{LR: 0.01}.New()
	defer ws.Close()
	for range steps {
		net.ZeroGrads()
		err := net.Accumulate(ws, nn.Accumulation{Batches: batches, Loss: func(_ int, logits, d *tensor.Tensor) error {
			_, err := loss.CrossEntropy{}.Eval(d, loss.Input{Logits: logits, Y: labels})
			return err
		}})
		if err != nil {
			log.Fatal(err)
		}
		opt.Step(net, ws)
	}
}
