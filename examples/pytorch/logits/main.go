// Logits loads weights from a safetensors file with the metadata of `ocl export`, and writes what the network of ocl
// computes of images:
//
//	go run ./examples/pytorch/logits weights.safetensors images.safetensors logits.safetensors
//
// The images are a tensor "images" [N,C,H,W] as the network takes them, already normalised. The outputs are "logits"
// [N,K] and "features" [N,D]. check.py compares them with those of PyTorch.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"strconv"

	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/safetensors"
	"ocl/nn/tensor"
	"ocl/nn/weights"
	"ocl/rng"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("Write: go run ./examples/pytorch/logits WEIGHTS IMAGES LOGITS")
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func run(from, images, to string) error {
	var net *nn.Network
	if err := read(from, func(f *safetensors.Reader) (err error) {
		net, err = load(f)
		return err
	}); err != nil {
		return err
	}
	x := &tensor.Tensor{}
	if err := read(images, func(f *safetensors.Reader) (err error) {
		info, _ := f.Find("images")
		if in := net.Info().Input; len(info.Shape) != 4 || [3]int(info.Shape[1:]) != in {
			return fmt.Errorf("images are %v instead of [N,%d,%d,%d]", info.Shape, in[0], in[1], in[2])
		}
		x.Shape = info.Shape
		x.Data, err = f.Floats(info)
		return err
	}); err != nil {
		return err
	}
	ws := net.NewWorkspace(runtime.GOMAXPROCS(0))
	defer ws.Close()
	out := net.Predict(ws, x)
	return atomicfile.Write(to, func(w io.Writer) error {
		return safetensors.Write(w, []safetensors.Tensor{
			{Name: "logits", Shape: out.Logits.Shape, Floats: out.Logits.Data},
			{Name: "features", Shape: out.Features.Shape, Floats: out.Features.Data},
		}, nil)
	})
}

// read opens a file for f.
func read(path string, f func(*safetensors.Reader) error) error {
	file, size, err := input.Open(path, input.Want{Most: limit.Weights})
	if err != nil {
		return err
	}
	defer file.Close()
	r, err := safetensors.NewReader(file, size)
	if err == nil {
		err = f(r)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// load makes the network that the metadata describe, with the weights of the file.
func load(f *safetensors.Reader) (*nn.Network, error) {
	var shape [3]int
	if err := json.Unmarshal([]byte(f.Metadata["shape"]), &shape); err != nil {
		return nil, fmt.Errorf("metadata shape: %w", err)
	}
	classes, err := strconv.Atoi(f.Metadata["classes"])
	if err != nil {
		return nil, fmt.Errorf("metadata classes: %w", err)
	}
	c := arch.Config{Channels: shape[0], Height: shape[1], Width: shape[2], Classes: classes,
		Head: nn.Head{Kind: f.Metadata["head"]}, Waves: f.Metadata["activation"] == "cos"}
	info, err := arch.Lookup(f.Metadata["architecture"])
	if err != nil {
		return nil, fmt.Errorf("metadata architecture: %w", err)
	}
	if info.Name == arch.NameMLP {
		err = json.Unmarshal([]byte(f.Metadata["hidden"]), &c.Hidden)
	} else {
		c.NF, err = strconv.Atoi(f.Metadata["width"])
	}
	if err != nil {
		return nil, fmt.Errorf("metadata of the layers: %w", err)
	}
	net, err := info.New(c, rng.New(1, "network/init"))
	if err != nil {
		return nil, err
	}
	start, err := weights.Match(net, f)
	if err != nil {
		return nil, err
	}
	start.Into(net, true)
	return net, nil
}
