package live_test

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"log"

	"ocl/live"
)

// drawing is an image of 40×30 pixels in one colour, with a spot.
func drawing(c color.RGBA, spot int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, 40, 30))
	for i := range 40 * 30 {
		img.SetRGBA(i%40, i/40, c)
	}
	img.SetRGBA(spot%40, spot%30, color.RGBA{A: 255})
	return img
}

// A learner gets images one at a time, and predicts. The small network makes the example fast; without Set it is a
// ResNet-18.
func Example() {
	l, err := live.New(live.Options{Method: "er", Memory: 100, Size: 8,
		Set: []string{"network.name=mlp", "network.hidden=16", "optimizer.lr=0.05"}})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	ctx := context.Background()
	colours := map[string]color.RGBA{"blue": {20, 40, 220, 255}, "red": {220, 30, 20, 255}}
	for i := range 100 {
		for _, name := range []string{"blue", "red"} {
			if err := l.Learn(ctx, drawing(colours[name], i), name); err != nil {
				log.Fatal(err)
			}
		}
	}
	if err := l.Flush(ctx); err != nil { // waits until all of them are learned
		log.Fatal(err)
	}
	guesses, err := l.Predict(drawing(colours["red"], 7), 2)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("best guess:", guesses[0].Name)
	fmt.Println("images learned:", l.Stats().Images)
	// Output:
	// best guess: red
	// images learned: 200
}
