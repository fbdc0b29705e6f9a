// Continue learns two tasks of the built-in glyphs. Then the same learner, with what it knows and stores, learns the
// other eight in a second run:
//
//	go run ./examples/continue
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/trained"
	"ocl/view/report"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) > 1 {
		log.Fatal("this example takes no arguments: it makes both of its runs. Write `go run ./examples/continue`; `ocl learn RUN` continues a run of yours")
	}
	ctx := context.Background()
	c := config.Default() // the built-in glyphs, 100 classes in 10 tasks
	c.Methods = []string{"er"}
	c.Data.TrainPerClass, c.Data.TestPerClass = 50, 10
	c.Protocol = config.ProtocolTuning // the first two tasks alone
	if _, err := experiment.Run(ctx, c, experiment.Options{Out: "runs/continue/first", KeepCheckpoint: true}); err != nil {
		log.Fatal(err)
	}

	next, err := trained.LearnOn("runs/continue/first", false) // the same method, memory and network
	if err != nil {
		log.Fatal(err)
	}
	next.Data = c.Data                     // or a folder of your own images, whose new classes let the network grow
	next.Protocol = config.ProtocolSurvey  // the other eight tasks
	next.Optimizer.LR = c.Optimizer.LR / 2 // one of the few settings that may change
	results, err := experiment.Run(ctx, next, experiment.Options{Out: "runs/continue/second", KeepCheckpoint: true})
	if err != nil {
		log.Fatal(err)
	}
	r := results[0]
	fmt.Printf("average accuracy %.1f %% on the new tasks, after %d tasks of %s\n", 100**r.Metrics.AverageAccuracy,
		r.Parent.Tasks, r.Parent.Run)
	written, err := report.Write(ctx, []string{"runs/continue/second"}, "runs/continue/second", report.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("report:", written.Page)
}
