package experiment_test

import (
	"context"
	"fmt"

	"ocl/config"
	"ocl/run/experiment"
)

// A whole experiment in memory: two methods learn the same stream of glyphs in five tasks, one batch at a time, and are
// tested on all classes seen so far. Replay from a memory of 200 samples keeps what fine-tuning forgets.
func ExampleRun() {
	c := config.Default() // Finetune and ER on the built-in glyphs
	c.Data.Size, c.Data.TrainPerClass = 12, 60
	c.Stream.Tasks = 5
	c.Memory = 200
	c.Network.Name = "mlp" // small and fast; the default is the survey's reduced ResNet-18
	c.Optimizer.LR = 0.05

	results, err := experiment.Run(context.Background(), c, experiment.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	forgetting := map[string]float64{}
	for _, r := range results {
		forgetting[r.Method.Name] = *r.Metrics.AverageForgetting
		fmt.Printf("%s: %s after %d steps, %d tasks\n", r.Method.Title, r.Outcome.State, r.Outcome.Step, len(r.Stream.Tasks))
	}
	fmt.Println("ER forgets less:", forgetting["er"] < forgetting["finetune"])
	// Output:
	// Finetune: finished after 600 steps, 5 tasks
	// ER: finished after 600 steps, 5 tasks
	// ER forgets less: true
}

// A schema sets keys by their names, as the command line does; Validate reports everything that is wrong at once.
func ExampleSchema() {
	c, schema := config.Default(), experiment.Schema()
	if err := schema.Set(&c, "optimizer.lrate", "0.05"); err != nil {
		fmt.Println(err)
	}
	if err := schema.Set(&c, "stream.batch", "0"); err != nil {
		fmt.Println(err)
	}
	c.Protocol = "surveys"
	fmt.Println(schema.Validate(c))
	// Output:
	// config: unknown key optimizer.lrate. Did you mean optimizer.lr? `ocl config keys` lists all keys
	// config: stream.batch (--batch): 0 is out of range. Use a whole number from 1 to 100000
	// config: protocol (--protocol): unknown value "surveys". Did you mean survey?
}
