package origin

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
)

// Panic is the value of a panic that began in another goroutine, with the stack of that one.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) String() string { return fmt.Sprint(p.Value) }

// Frame is a call in a stack: the function, the module that has it, and the line.
type Frame struct{ Module, Function, Place string }

// InStack is the innermost call in a stack, as [debug.Stack] prints it, that is code of one of some modules. The
// function main.main does not count, because all others are below it.
func InStack(stack []byte, modules []string) (f Frame, found bool) {
	return inStack(string(stack), modules, readBuild())
}

func inStack(stack string, modules []string, build *debug.BuildInfo) (f Frame, found bool) {
	lines := strings.Split(stack, "\n")
	for i, line := range lines[:max(0, len(lines)-1)] {
		place, called := strings.CutPrefix(lines[i+1], "\t")
		at := strings.LastIndex(line, "(")
		if !called || at < 0 || strings.HasPrefix(line, "main.main(") { // or the line of who made a goroutine
			continue
		}
		f.Function = line[:at]
		if f.Module, _ = moduleOf(packageOf(f.Function), build); slices.Contains(modules, f.Module) {
			f.Place, _, _ = strings.Cut(place, " +0x")
			return f, true
		}
	}
	return Frame{}, false
}
