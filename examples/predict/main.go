// Predict labels the images of a folder by a trained learner:
//
//	go run ./cmd/ocl run --method er --out runs/mine
//	go run ./examples/predict runs/mine photos
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"ocl/predict"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("a run and a folder of JPEG files are needed. Write `go run ./examples/predict RUN DIR`")
	}
	p, err := predict.Open(context.Background(), os.Args[1], predict.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	files, err := filepath.Glob(filepath.Join(os.Args[2], "*.jpg"))
	if err != nil {
		log.Print(err)
		return
	}
	best := make([]predict.Guess, min(3, p.Info().Guesses)) // the three best guesses
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err == nil {
			err = p.PredictFile(best, text)
		}
		if err != nil {
			log.Printf("%s: %v", name, err)
			continue
		}
		fmt.Printf("%s: %s (%s %.3f)\n", name, best[0].Name, p.Info().Measure, best[0].Value)
		for _, g := range best[1:] {
			fmt.Printf("  or %s (%.3f)\n", g.Name, g.Value)
		}
	}
}
