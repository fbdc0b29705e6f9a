package learnertest

import (
	"ocl/checkpoint"
	"ocl/internal/fuzztest"
)

// maxChanged is how many sections one input changes at most.
const maxChanged = 8

// Changed returns a copy of a state in which sections are missing or hold something else, as the bytes of a fuzzer
// choose.
func Changed(state *checkpoint.Container, fuzzed []byte) *checkpoint.Container {
	choices := fuzztest.Of(fuzzed)
	names := state.Names()
	changed := map[string][]byte{}
	for n := 0; n < maxChanged && choices.More(); n++ {
		name := names[choices.Below(len(names))]
		b, again := changed[name]
		if !again {
			b, _ = state.Decoder().Bytes(name) // a name that it has
		}
		switch op := choices.Byte(); {
		case op == 0:
			changed[name] = nil
		case len(b) > 0 && b[0] == '{':
			changed[name] = fuzztest.JSON(b, choices)
		default:
			changed[name] = fuzztest.Bytes(b, choices)
		}
	}
	out := checkpoint.NewContainer()
	for _, name := range names {
		b, is := changed[name]
		if !is {
			b, _ = state.Decoder().Bytes(name)
		}
		if !is || b != nil {
			out.Encoder().Bytes(name, b)
		}
	}
	return out
}
