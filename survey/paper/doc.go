// Package paper fills the tables and figures of the survey from result files: which runs each cell is made of, what
// they measured, and how that compares with the published value. It stands above package report, whose page, charts and
// looks it uses, and above package survey, which has the published values.
//
// [Read] reads result files, and the cells of a table come from [Study.Cells], by the table's label:
//
//	study, err := paper.Read(ctx, []string{"results"}) // report.ErrLeftOut: what was left out; study is the rest
//	cells := study.Cells(survey.ClassIncremental)
//	for _, c := range cells {
//		fmt.Println(c.Row, c.Column, c.Memory, c.Ours, c.Published, c.Verdict, c.Files(), c.Command())
//	}
//	counts := paper.CountVerdicts(cells)
//
// [Study.Confirmation] are the runs of a study that was planned before its first run, and [Study.WithoutConfirmation]
// all others. The rule of the verdicts stands with [Judgement].
//
// A cell that several tables have counts once: [Cell.Repeat] names the table that has it first. What no table has is
// found by what it is: [Study.Find] takes a [Spec], such as ER with the trick rv by the classifier ncm, and says which
// runs to prefer, for example those that were tested on all tasks ([Need]).
package paper
