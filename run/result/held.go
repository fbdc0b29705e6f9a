package result

// Held counts the stored samples after each task by the task of the run that they came with, [task][task]. It is nil
// without a memory, and where the file counts by class alone and classes return in later tasks. Samples from before the
// run are in no count.
func (r *Result) Held() [][]int {
	if r.Memory == nil {
		return nil
	}
	var rows [][]int
	for i, counts := range r.Memory.ClassCounts {
		row := make([]int, len(r.Stream.Tasks))
		switch {
		case i < len(r.Memory.TaskCounts):
			for t, n := range r.Memory.TaskCounts[i] {
				row[t] += n
			}
		case r.Stream.Scenario == "class-incremental":
			for t, task := range r.Stream.Tasks {
				for _, k := range task.Classes {
					row[t] += counts[k]
				}
			}
		default:
			return nil
		}
		rows = append(rows, row)
	}
	return rows
}
