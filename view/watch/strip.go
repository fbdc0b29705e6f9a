package watch

import (
	"bytes"
	"fmt"
	"html/template"
	"path/filepath"
	"strings"
	"sync"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/progress"
)

// mostListed bounds the jobs that the strip names. The strip counts the others.
const mostListed = 12

// title heads the tab of the browser.
func (s *State) title(dir string) string {
	return fmt.Sprintf("%s %s", s.share(), filepath.Base(dir))
}

// share is the part of the work of all jobs that is done, in whole per cent.
func (s *State) share() string { return fmt.Sprintf("%d %%", int(100*progress.ShareOf(s.Jobs))) }

// head says how far all jobs are: "2 of 6 runs done, 2 running, 1m20s left".
func (s *State) head(over bool) string {
	if len(s.Jobs) == 0 {
		return "Nothing is at work yet"
	}
	noun := "run"
	if s.Kind == "study" {
		noun = "job"
	}
	text := progress.Count(s.Jobs).Line(noun)
	if left := leftText(s.Jobs...); left != "" && !over && !s.Idle() {
		text += ", " + left
	}
	return text
}

// leftText is the time until runs have ended: "1m20s left"; "" where it is not known.
func leftText(runs ...*progress.Run) string {
	left := progress.Left(runs...)
	if left == 0 {
		return ""
	}
	return count.Duration(left.Seconds()) + " left"
}

// line is a job as the strip shows it.
type line struct {
	Name, Phase, Where, Seen, Left, Note string
	Percent                              int
}

// lines are the jobs that are not over and not only waiting, so many at most, and how many more there are.
func (s *State) lines() (lines []line, more int) {
	for _, j := range s.Jobs {
		if j.Phase == progress.Waiting || j.Phase == progress.Done && j.Error == "" {
			continue
		}
		if len(lines) == mostListed {
			more++
			continue
		}
		l := line{Name: escape.Line(j.Name), Percent: int(100 * j.Share()), Note: escape.Line(j.Note()),
			Seen: seenText(j.Progress.Seen)}
		var where []string
		if j.Progress.Task > 0 {
			where = append(where, j.Place())
		}
		if j.Steps > 0 && j.Phase != progress.Done {
			where = append(where, j.StepText())
		}
		l.Where = strings.Join(where, ", ")
		switch j.Phase {
		case progress.Running:
			l.Left = leftText(j)
		case progress.Begun:
			l.Phase = "stopped"
		default:
			l.Phase = j.Phase
		}
		lines = append(lines, l)
	}
	return lines, more
}

// seenText is an accuracy in per cent; "" where there is none.
func seenText(v *float64) string {
	if v == nil {
		return ""
	}
	return count.Percent(*v) + "\u00a0%"
}

var strips = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("strip").Parse(`<p class="sum"><b>{{if .Over}}Ended{{else if .Working}}Live{{else}}Waiting{{end}}</b> <span>{{.Head}}</span>{{if .Folder}} <code>{{.Folder}}</code>{{end}}</p>
{{with .Problem}}<p class="problem">{{.}}</p>
{{end}}{{if .Over}}<p>Nothing more comes. The report lies in the folder.</p>
{{end}}{{if .Lines}}<ul>{{range .Lines}}<li{{if .Phase}} class="quiet"{{end}}><span class="name">{{.Name}}</span><progress max="100" value="{{.Percent}}" aria-label="{{.Name}}">{{.Percent}} %</progress><span class="pc">{{.Percent}}&nbsp;%</span><span class="seen">{{with .Seen}}<span class="word">seen </span>{{.}}{{end}}</span><span class="rest">{{with .Phase}}{{.}} {{end}}{{.Where}}{{with .Left}}, {{.}}{{end}}{{with .Note}} ({{.}}){{end}}</span></li>
{{end}}</ul>{{end}}{{with .More}}<p>and {{.}} more</p>{{end}}`))
})

// stripOf is the strip in HTML.
func stripOf(dir string, s *State, over bool) string {
	lines, more := s.lines()
	moreText := ""
	if more > 0 {
		moreText = count.Number(more)
	}
	var b bytes.Buffer
	err := strips().Execute(&b, struct {
		Head, Folder, Problem, More string
		Over, Working               bool
		Lines                       []line
	}{s.head(over), escape.Line(dir), escape.Line(s.Problem), moreText, over, !s.Idle(), lines})
	if err != nil {
		panic("watch: the strip: " + err.Error()) // the template is part of the program
	}
	return b.String()
}
