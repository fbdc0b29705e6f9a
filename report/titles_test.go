package report

import (
	"strings"
	"testing"

	"ocl/experiment/result"
)

// measured is a run over two tasks: the first after itself and at the end, the second at the end, what was forgotten,
// and seconds.
func measured(method string, start, end, newest, forgetting, seconds float64) *run {
	r := fake{method: method, title: strings.ToUpper(method), memory: -1, seed: 1, tasks: 2, perTask: 2, level: 0.5, decay: 0.5}.make()
	null := (*float64)(nil)
	average := (end + newest) / 2
	r.Accuracy = [][]*float64{{&start, null}, {&end, &newest}}
	r.Metrics.AverageAccuracy, r.Metrics.AverageForgetting = &average, &forgetting
	r.Seconds = result.Seconds{Train: seconds}
	return newRun(r, method)
}

// TestTitlesKnowTheDirection: what rises does not fall, and what is printed as the same has not changed.
func TestTitlesKnowTheDirection(t *testing.T) {
	one := func(r *run) *setting { return studyOf([]*run{r}, nil).settings[0] }
	matrix := func(start, end float64) string {
		return one(measured("a", start, end, 0.5, 0, 1)).rows[0].matrixFigure().Title
	}
	// The average is that of both tasks, so that it goes from start to end.
	accuracy := func(start, end float64) string { return one(measured("a", start, end, end, 0, 1)).accuracyTitle() }
	answer := func(forgetting float64) string { return one(measured("a", 0.5, 0.5, 0.5, forgetting, 1)).answer() }
	two := func(a, b *run) *setting { return studyOf([]*run{a, b}, nil).settings[0] }
	forgetting := func(a, b float64) string {
		return two(measured("a", 0.5, 0.5, 0.5, a, 1), measured("b", 0.5, 0.5, 0.5, b, 1)).forgettingTitle()
	}
	times := func(a, b float64) string {
		return two(measured("a", 0.5, 0.5, 0.5, 0, a), measured("b", 0.5, 0.5, 0.5, 0, b)).timeTitle()
	}
	answers := func(a, b float64) string {
		return two(measured("a", a, a, a, 0, 1), measured("finetune", b, b, b, 0, 1)).answer()
	}
	for _, c := range [][2]string{
		{matrix(0.46, 0.196), "A: task 1 falls from 46.0 to 19.6 %; the newest task has 50.0 %"},
		{matrix(0.196, 0.46), "A: task 1 rises from 19.6 to 46.0 %; the newest task has 50.0 %"},
		{matrix(0.1961, 0.1959), "A: task 1 stays at 19.6 %; the newest task has 50.0 %"},
		{matrix(0.19649, 0.19651), "A: task 1 rises from 19.6 to 19.7 %; the newest task has 50.0 %"},
		{accuracy(0.6, 0.4), "A falls from 60.0 % after one task to 40.0 % after 2 tasks"},
		{accuracy(0.4, 0.6), "A rises from 40.0 % after one task to 60.0 % after 2 tasks"},
		{accuracy(0.4, 0.4001), "A stays at 40.0 % after 2 tasks"},
		{one(measured("a", 0.5, 0.5, 0.5, 0.31, 1)).forgettingTitle(), "A forgets 31 points on earlier tasks"},
		{one(measured("a", 0.5, 0.5, 0.5, -0.05, 1)).forgettingTitle(), "A gains 5 points on earlier tasks"},
		{one(measured("a", 0.5, 0.5, 0.5, -0.004, 1)).forgettingTitle(), "A forgets 0 points on earlier tasks"},
		{forgetting(0.3, 0.1), "A forgets 30 points on earlier tasks, B 10 points"},
		{forgetting(0.3, -0.01), "A forgets 30 points on earlier tasks, B gains 1 point on earlier tasks"},
		{forgetting(-0.02, -0.03), "A gains 2 points on earlier tasks, B 3 points"},
		{times(20, 10), "One run of A takes 20s, 2.0 times as long as one of B"},
		{times(20, 20.1), "One run of B takes 20s, about as long as one of A"},
	} {
		if c[0] != c[1] {
			t.Errorf("got  %s\nwant %s", c[0], c[1])
		}
	}
	for _, c := range [][2]string{
		{answer(0.31), "has forgotten 31 points on earlier tasks."},
		{answer(-0.05), "has gained 5 points on earlier tasks."},
		{answers(0.5, 0.2), "2.5 times as many as FINETUNE (20.0 %)"},
		{answers(0.2, 0.5), "fewer than FINETUNE (50.0 %)"},
		{answers(0.2, 0.20001), ", as many as FINETUNE (20.0 %)"},
		{answers(0.22, 0.2), "; FINETUNE reaches 20.0 %"},
	} {
		if !strings.HasSuffix(c[0], c[1]) && !strings.HasSuffix(c[0], c[1]+".") {
			t.Errorf("got  %s\nwant … %s", c[0], c[1])
		}
	}
}

// TestGapTitles: a gap is above, below or none.
func TestGapTitles(t *testing.T) {
	for _, c := range []struct {
		newer, older [2]float64
		want         string
	}{
		{[2]float64{3, 1}, [2]float64{1, 2}, "ER's mean logit of new classes ends 2.00 above that of old ones, iCaRL's 1.00 below"},
		{[2]float64{1, 1}, [2]float64{1, 2}, "ER's mean logit of new classes ends level with that of old ones, iCaRL's 1.00 below"},
		{[2]float64{3, 1}, [2]float64{1, 1}, "ER's mean logit of new classes ends 2.00 above that of old ones, iCaRL's level"},
	} {
		var runs []*run
		for k, f := range analysed() {
			r := f.make()
			last := &r.ErrorAnalysis.Tasks[3]
			last.Logits = &result.Logits{NewOwn: &c.newer[k], OldOwn: &c.older[k], NewAll: &c.newer[k], OldAll: &c.older[k]}
			runs = append(runs, newRun(r, f.method))
		}
		s := studyOf(runs, nil).settings[0]
		if got := s.errors()[1].Figure.Title; got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
