package origin

import (
	"runtime/debug"
	"strings"
	"testing"
)

// TestInStack: of a stack, the innermost call that is code of a module counts, and main.main does not.
func TestInStack(t *testing.T) {
	stack := func(lines ...string) string { return "goroutine 1 [running]:\n" + strings.Join(lines, "\n") + "\n" }
	const (
		recovered = "ocl/run/train.caught.func1()\n\t/ocl/experiment/train/run.go:157 +0x85\npanic({0x55, 0x66})\n\t/go/src/runtime/panic.go:783 +0x132"
		tensor    = "ocl/nn/tensor.(*Tensor).Row(...)\n\t/ocl/tensor/tensor.go:40"
		step      = "example.com/a/er.(*step[...]).Gradient(0xc0000a, {0x1, 0x2})\n\t/src/a/er/step.go:12 +0x1d"
		inMain    = "main.init.0.func1({0x1})\n\t/src/program/main.go:20 +0x1d"
		main      = "main.main()\n\t/src/program/main.go:7 +0x1d"
		sorted    = "sort.Slice({0x1})\n\t/go/src/sort/slice.go:20 +0x1d"
		created   = "created by example.com/a/er.start in goroutine 1\n\t/src/a/er/step.go:3 +0x1d"
	)
	build := &debug.BuildInfo{Main: debug.Module{Path: "example.com/program"},
		Deps: []*debug.Module{{Path: "example.com/a", Version: "v1.0.0"}, {Path: "example.com/b", Version: "v1.0.0"}}}
	ofStep := Frame{"example.com/a", "example.com/a/er.(*step[...]).Gradient", "/src/a/er/step.go:12"}
	for name, c := range map[string]struct {
		stack   string
		modules []string
		want    Frame
	}{
		"called by it": {stack(recovered, tensor, step, main), []string{"example.com/a"}, ofStep},
		"calls back": {stack(recovered, sorted, step, inMain, main), []string{"example.com/a", "example.com/program"},
			ofStep},
		"package main": {stack(recovered, tensor, inMain, main), []string{"example.com/program"},
			Frame{"example.com/program", "main.init.0.func1", "/src/program/main.go:20"}},
		"ours":           {stack(recovered, tensor, main), []string{"example.com/program"}, Frame{}},
		"another module": {stack(recovered, step, main), []string{"example.com/b"}, Frame{}},
		"its goroutine":  {stack(recovered, tensor, created), []string{"example.com/a"}, Frame{}},
		"nothing":        {"", []string{"example.com/a"}, Frame{}},
	} {
		if f, found := inStack(c.stack, c.modules, build); f != c.want || found != (c.want != Frame{}) {
			t.Errorf("%s: %+v, %v, want %+v", name, f, found, c.want)
		}
	}
}
