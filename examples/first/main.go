// First learns a short stream of the built-in glyphs with Experience Replay and writes a report:
//
//	go run ./examples/first
package main

import (
	"context"
	"fmt"
	"log"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/view/report"
)

func main() {
	c := config.Default()      // the built-in glyphs, 100 classes in 10 tasks
	c.Methods = []string{"er"} // Experience Replay
	c.Memory = 500             // stored samples
	c.Data.TrainPerClass, c.Data.TestPerClass = 50, 10
	results, err := experiment.Run(context.Background(), c, experiment.Options{Out: "runs/first"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("average accuracy %.1f %%\n", 100**results[0].Metrics.AverageAccuracy)
	written, err := report.Write(context.Background(), []string{"runs/first"}, "runs/first", report.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("report:", written.Page)
}
