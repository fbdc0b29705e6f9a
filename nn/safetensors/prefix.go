package safetensors

import (
	"slices"
	"strings"
)

// LeaveOutPrefix leaves out what stands before the names of wanted tensors, such as module. or _orig_mod.model., which
// PyTorch puts there where the network is a part of another one, and returns it. It leaves names as they are and
// returns "" where half of the wanted tensors are there by their own names, where less than half are found behind any
// prefix, or as many behind two.
func (f *Reader) LeaveOutPrefix(wanted []string) string {
	names := map[string]bool{}
	for _, t := range f.Tensors {
		names[t.Name] = true
	}
	found := map[string]int{} // behind each prefix
	for _, w := range wanted {
		if names[w] {
			found[""]++
			continue
		}
		for name := range names {
			if before, is := strings.CutSuffix(name, w); is && strings.HasSuffix(before, ".") {
				found[before]++
			}
		}
	}
	best, times := "", 0
	for prefix, n := range found {
		switch {
		case n > found[best] || best == "" && prefix != "" && n == found[best]:
			best, times = prefix, 1
		case n == found[best] && prefix != "":
			times++
		}
	}
	if times > 1 || 2*found[best] < len(wanted) || 2*found[""] >= len(wanted) {
		return ""
	}
	f.Tensors = slices.Clone(f.Tensors)
	for i := range f.Tensors {
		if short := strings.TrimPrefix(f.Tensors[i].Name, best); !names[short] {
			f.Tensors[i].Name = short
		}
	}
	return best
}
