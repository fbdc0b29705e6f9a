package report

import (
	"fmt"
	"strings"

	"ocl/config"
	"ocl/internal/count"
)

// streamText says what makes a stream special besides data, tasks and protocol: how its images are disturbed, what the
// learner has learned before, whose boundaries are hidden or blurred, and which classes are rare. It is "" for a plain
// stream.
func streamText(r *run) string {
	if r.Foreign != nil {
		return "" // unknown
	}
	s := r.Config.Stream
	var parts []string
	if k := s.Shift.Kind; k != "" {
		text := "images disturbed by " + strings.ReplaceAll(k, "+", " and ")
		for _, kind := range strings.Split(k, "+") {
			if list := s.Shift.Strengths(kind); len(list) > 0 {
				text += fmt.Sprintf(" (%s of strength %s)", kind, config.FormatValue(list))
			}
		}
		if s.Shift.Occlusion == config.OcclusionPerImage && strings.Contains(k, "occlusion") {
			text += ", the square in its own place on each image"
		}
		if s.Shift.Blur == config.BlurCrossImage && strings.Contains(k, "blur") {
			text += ", blurred across neighbouring images"
		}
		parts = append(parts, text)
	}
	if p := r.Parent; p != nil {
		parts = append(parts, fmt.Sprintf("learned after %s", count.Of(p.Tasks, "earlier task")))
	}
	if !s.TaskSignals {
		parts = append(parts, "no task signals")
	}
	if s.Blurry > 0 {
		parts = append(parts, fmt.Sprintf("%s of each task's images come in a neighbouring task",
			count.Percent(s.Blurry)+" %"))
	}
	if s.LongTail > 0 {
		parts = append(parts, fmt.Sprintf("long-tailed classes, the rarest with %s of the images of the most frequent",
			count.Percent(s.LongTail)+" %"))
	}
	if len(s.ClassCounts) > 0 {
		parts = append(parts, "images of each class as stream.class_counts says")
	}
	return strings.Join(parts, "; ")
}
