package predict_test

import (
	"context"
	"fmt"
	"os"

	"ocl/predict"
)

// The three best guesses for an image file, by what a run has learned.
func Example() {
	ctx := context.Background()
	p, err := predict.Open(ctx, "runs/mine", predict.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	file, err := os.ReadFile("photo.jpg")
	if err != nil {
		fmt.Println(err)
		return
	}
	best := make([]predict.Guess, 3)
	if err := p.PredictFile(ctx, best, file); err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range best {
		fmt.Printf("%s: %s %.3f\n", g.Name, p.Info().Measure, g.Value)
	}
}
