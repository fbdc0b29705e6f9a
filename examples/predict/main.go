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
	"strings"

	"ocl/data"
	"ocl/predict"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("a run and a folder of JPEG files are needed. Write `go run ./examples/predict RUN DIR`")
	}
	files, err := images(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	p, err := predict.Open(context.Background(), os.Args[1], predict.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	best := make([]predict.Guess, min(3, p.Info().Guesses)) // the three best guesses
	for _, name := range files {
		text, err := data.ReadPictureFile(name)
		if err == nil {
			err = p.PredictFile(context.Background(), best, text)
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

// images are the JPEG files of a folder.
func images(folder string) (files []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("%w. Give a folder of JPEG files", err)
	}
	for _, e := range entries {
		if ext := strings.ToLower(filepath.Ext(e.Name())); ext == ".jpg" || ext == ".jpeg" {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: there is no JPEG file here. Give a folder of them; `ocl predict` also reads other formats and folders within",
			folder)
	}
	return files, nil
}
