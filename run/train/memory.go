package train

import (
	"fmt"
	"slices"
	"strings"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/memory"
)

// countMemory counts what is in a memory, nil for none, at the end of the last of the tasks, by class and by task. A
// learner does not know of tasks: its samples say where in the stream they were, and the sizes of the tasks say whose
// they are. The count by task leaves out the samples that the learner had before the run.
func (r *record) countMemory(m *memory.Store, tasks []ocl.TaskInfo) error {
	byClass, origins := map[int]int{}, []int64(nil)
	if m != nil {
		for label, n := range m.Counts() {
			byClass[int(label)] = n
		}
		origins = m.Origins()
	}
	r.Counts = append(r.Counts, byClass)
	byTask, err := countByTask(origins, r.Inherited, tasks)
	if err != nil {
		return err
	}
	r.TaskCounts = append(r.TaskCounts, byTask)
	return nil
}

// countByTask counts samples by the task that brought them, given how many samples were offered before theirs. The
// first of them came before the stream.
func countByTask(places []int64, before int64, tasks []ocl.TaskInfo) (map[int]int, error) {
	counts, ends, delivered := map[int]int{}, make([]int64, len(tasks)), int64(0)
	for i, t := range tasks {
		delivered += int64(t.Train)
		ends[i] = delivered
	}
	for _, place := range places {
		if 0 <= place && place < before {
			continue
		}
		place -= before
		if place < 0 || place >= delivered {
			return nil, fmt.Errorf("the memory holds sample %d of the stream, but samples 0 to %d were delivered. The learner must offer each sample to its memory once",
				place, delivered-1)
		}
		task, found := slices.BinarySearch(ends, place)
		if found { // the first sample behind that task
			task++
		}
		counts[task]++
	}
	return counts, nil
}

// sectionHead is the bytes of a section of a checkpoint beside its name and its data.
const sectionHead = 16

// stateBytes is the size of a learner's state without that on which no prediction depends: the origins of stored
// samples, and what calibrates scores.
func stateBytes(state *checkpoint.Container) int64 {
	size := state.Size()
	for _, name := range state.Names() {
		if strings.HasSuffix(name, "memory/"+memory.OriginsSection) {
			size -= int64(state.Decoder().Len(name))
		}
		if name == "ridge" || strings.HasPrefix(name, "kept/") || strings.HasPrefix(name, "calibration/") {
			size -= sectionHead + int64(len(name)+state.Decoder().Len(name))
		}
	}
	return size
}
