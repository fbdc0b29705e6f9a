package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ocl/internal/exiftest"
	"ocl/live"
	"ocl/nn/safetensors"
)

// dinoFile is a file of DINOv2's smallest network with the names that Facebook's source has, and some numbers.
func dinoFile(t *testing.T) string {
	t.Helper()
	golden, err := os.ReadFile("../nn/backbone/testdata/vits.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.NewReader(bytes.NewReader(golden), int64(len(golden)))
	if err != nil {
		t.Fatal(err)
	}
	var said struct{ Tensors map[string][]int }
	if err := json.Unmarshal([]byte(f.Metadata["hub-s14"]), &said); err != nil {
		t.Fatal(err)
	}
	var tensors []safetensors.Tensor
	add := func(name string, shape []int) {
		x := safetensors.Tensor{Name: "module." + name, Shape: shape}
		x.Floats = make([]float32, x.Len())
		for i := range x.Floats {
			x.Floats[i] = float32(i*7919%1009)/5045 - 0.1
		}
		tensors = append(tensors, x)
	}
	for name, shape := range said.Tensors {
		if rest, of := strings.CutPrefix(name, "blocks.0."); of {
			for i := range 12 {
				add(fmt.Sprintf("blocks.%d.%s", i, rest), shape)
			}
		} else {
			add(name, shape)
		}
	}
	path := filepath.Join(t.TempDir(), "dino.safetensors")
	var text bytes.Buffer
	if err := safetensors.Write(&text, tensors, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTransformerFile: a file of a vision transformer goes through all commands as it is. What is taken for granted is
// said once. The test has a process for itself: a child's memory, which other tests measure, begins as its parent's.
func TestTransformerFile(t *testing.T) {
	const alone = "OCL_TEST_ALONE"
	if testing.Short() {
		t.Skip("NOT RUN: a vision transformer is computed; run without -short")
	}
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTransformerFile$", "-test.count=1")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	t.Setenv("OCL_CACHE", t.TempDir())
	root, file := t.TempDir(), dinoFile(t)
	for i := range 3 {
		for _, class := range []string{"cat", "dog"} {
			photo(t, root, fmt.Sprintf("photos/%s/%d.jpg", class, i), exiftest.Photo(t))
		}
	}
	for _, part := range []string{"network  dinov2-vits14, trained on LVD-142M, licence Apache-2.0", "384 of an embedding: class",
		"88 MB, 22.1 million parameters", "multiply-adds a picture", `"module." before the names`, "mask_token"} {
		if text := done(t, "inspect", file); !bytes.Contains(text, []byte(part)) {
			t.Errorf("inspect says %s; want %q in it", text, part)
		}
	}
	out := filepath.Join(root, "run")
	var stdout, stderr bytes.Buffer
	args := []string{"run", "--data", "folder", "--data-dir", filepath.Join(root, "photos"), "--backbone", file, "--method",
		"slda", "--tasks", "1", "--out", out, "--no-report"}
	if code := execute(context.Background(), args, &stdout, &stderr); code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	const note = "the file has the names of Facebook's DINOv2 and says nothing else"
	if n := strings.Count(strings.Join(strings.Fields(stdout.String()+stderr.String()), " "), note); n != 1 {
		t.Errorf("%d times %q in:\n%s%s", n, note, stdout.String(), stderr.String())
	}
	done(t, "predict", out, filepath.Join(root, "photos/cat/0.jpg"), "--json", "all")
	done(t, "verify", out)
	runs, err := filepath.Glob(filepath.Join(out, "slda-*"))
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	l, err := live.OpenTrainer(runs[0], func(p *live.Process) { p.Backbone = file })
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(l.Notes(), "\n"); !strings.Contains(notes, note) {
		t.Errorf("the learner of the run notes %q", notes)
	}
	l.Close()
	model := filepath.Join(root, "model.onnx")
	done(t, "export", out, "--to", "onnx", "-o", model)
	if text, err := os.ReadFile(model); err != nil || !bytes.Contains(text, []byte("LayerNormalization")) {
		t.Errorf("%d bytes without a transformer, %v", len(text), err)
	}
	torch := filepath.Join(root, "dino.pth")
	if err := os.WriteFile(torch, []byte("PK\x03\x04\x00\x00dino/data.pkl"), 0o600); err != nil {
		t.Fatal(err)
	}
	args[6] = torch
	for _, args := range [][]string{args, {"inspect", torch}} {
		stderr.Reset()
		if code := execute(context.Background(), args, &stdout, &stderr); code == exitDone ||
			!strings.Contains(strings.Join(strings.Fields(stderr.String()), " "),
				"python3 examples/pytorch/convert.py ARCHITECTURE FILE") {
			t.Errorf("%s of a file of torch.save: %d, %s", args[0], code, stderr.String())
		}
	}
}
