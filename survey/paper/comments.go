package paper

import "ocl/survey"

// Groups of benchmarks.
var (
	newClasses = []string{survey.CIFAR100, survey.MiniImageNet, survey.CORe50NC}
	newDomains = []string{survey.Noise, survey.Occlusion, survey.Blur, survey.CORe50NI}
	everywhere = append(append([]string{}, newClasses...), newDomains...)
	cifar      = []string{survey.CIFAR100}
)

// Comment names a comment of the survey on a method or a trick: its table, its row, and its number there.
type Comment struct{ Table, Row, Number string }

// comments builds tab: comment_method and tab:comment_trick: each comment beside what was measured that bears on it.
func (p *paper) comments(label string) *table {
	kind := "method"
	if label == survey.TrickComments {
		kind = "trick"
	}
	t := &table{Label: label, Title: "What the survey says of each " + kind + ", and what was measured",
		Text: "Comments in short, in words of our own. Beside each are the claims of the survey that it stands for, on each data set, and what the results show of their parts: " +
			"differences of accuracies in points, ratios of run times, or shares of tasks, as mean ± 95 % interval over the seeds. docs/findings.md says what decides a part.",
		Head: heads([]string{kind, "the survey", "measured"})}
	last := ""
	for _, r := range survey.Words(label) {
		measured := missing(notRun)
		if lines := p.checked[Comment{label, r[0], r[1]}]; len(lines) > 0 {
			measured = cell{Text: lines[0], Small: lines[1:]}
		}
		t.Rows = append(t.Rows, row{Cells: []cell{words(r[0]), words(r[2]), measured}, Rule: last != "" && last != r[0]})
		last = r[0]
	}
	return t
}
