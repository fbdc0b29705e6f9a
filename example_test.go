package ocl_test

import (
	"context"
	"fmt"

	"ocl"
	"ocl/data"
	_ "ocl/data/gofonts" // glyphs are drawn of them
	"ocl/data/stream"
	"ocl/learn/learner"
	"ocl/learn/optim"
	"ocl/nn/arch"
	"ocl/rng"
)

// A learner goes once through the tasks of a stream, and is tested on each of them.
func Example() {
	ctx := context.Background()
	set, err := data.Open(ctx, data.Spec{Name: "glyphs", Size: 8, TrainPerClass: 2, TestPerClass: 1, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := stream.Split(set, stream.Options{Tasks: 10, Batch: 10, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	info := s.Info()
	net, err := arch.MLP(arch.Config{Channels: info.Channels, Height: info.Height, Width: info.Width,
		Classes: info.Classes, Hidden: []int{20}}, rng.New(1, "network/init"))
	if err != nil {
		fmt.Println(err)
		return
	}
	ws := net.NewWorkspace(1)
	defer ws.Close()
	var l ocl.Learner = &learner.Replay{Net: net, WS: ws, Opt: optim.SGD{LR: 0.1}.New(), Seed: 1}

	learned, tested := 0, 0
	for task := range info.Tasks {
		for batch, err := range s.Train(task) {
			if err != nil {
				fmt.Println(err)
				return
			}
			stats, err := l.Observe(ctx, batch)
			if err != nil {
				fmt.Println(err)
				return
			}
			learned += stats.Samples
		}
	}
	for task := range info.Tasks {
		for batch, err := range s.Test(task) {
			if err != nil {
				fmt.Println(err)
				return
			}
			labels := make([]ocl.Label, batch.Len())
			if err := l.Predict(labels, batch.X); err != nil {
				fmt.Println(err)
				return
			}
			tested += len(labels) // compare them with batch.Y
		}
	}
	fmt.Println(learned, "images learned,", tested, "predicted")
	// Output: 200 images learned, 100 predicted
}
