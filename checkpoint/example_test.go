package checkpoint_test

import (
	"bytes"
	"fmt"

	"ocl/checkpoint"
)

// A counter is saved and loaded by one list of its parts.
func ExampleParts() {
	seen, weights := 120, []float32{0.5, 0.25}
	parts := checkpoint.Parts{
		checkpoint.Values("seen", &seen),
		checkpoint.Sub("network", checkpoint.Parts{checkpoint.Numbers("weights", weights)}),
	}
	saved := checkpoint.NewContainer()
	if err := parts.SaveState(saved.Encoder()); err != nil {
		panic(err)
	}

	var file bytes.Buffer
	if _, err := saved.WriteTo(&file); err != nil {
		panic(err)
	}
	loaded, err := checkpoint.Parse(file.Bytes())
	if err != nil {
		panic(err)
	}
	seen, weights[0] = 0, 0
	err = parts.LoadState(loaded.Decoder())
	fmt.Println(seen, weights, err)
	// Output: 120 [0.5 0.25] <nil>
}
