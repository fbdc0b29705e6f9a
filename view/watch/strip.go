package watch

import (
	"bytes"
	"fmt"
	"html/template"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ocl/internal/count"
	"ocl/internal/escape"
)

// mostListed bounds the jobs that the strip names. The strip counts the others.
const mostListed = 12

// title heads the tab of the browser.
func (s *State) title(dir string) string {
	return fmt.Sprintf("%s %s", s.share(), filepath.Base(dir))
}

// share is the part of the work of all jobs that is done, in whole per cent.
func (s *State) share() string {
	all, done := 0.0, 0.0
	for _, j := range s.Jobs {
		w := j.work
		if w <= 0 {
			w = 1
		}
		all += w
		switch j.Phase {
		case Ended, Failed:
			done += w
		default:
			done += w * j.Share
		}
	}
	if all == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%d %%", int(100*done/all))
}

// head says how far all jobs are: "2 of 6 runs have ended, 2 at work, 1m20s left".
func (s *State) head(over bool) string {
	if len(s.Jobs) == 0 {
		return "Nothing is at work yet"
	}
	noun := "run"
	if s.Kind == "study" {
		noun = "job"
	}
	n := len(s.Jobs)
	have := "have"
	if n == 1 {
		have = "has"
	}
	parts := []string{fmt.Sprintf("%s of %s %s ended", count.Number(s.Count(Ended)), count.Of(n, noun), have)}
	for _, p := range []string{Working, Stopped, Failed, Waiting} {
		if k := s.Count(p); k > 0 {
			parts = append(parts, count.Number(k)+" "+p)
		}
	}
	if left := s.Left(); left > 0 && !over {
		parts = append(parts, duration(left)+" left")
	}
	return strings.Join(parts, ", ")
}

func duration(d time.Duration) string { return count.Duration(d.Seconds()) }

// line is a job as the strip shows it.
type line struct {
	Name, Phase, Where, Seen, Left, Note string
	Percent                              int
	Quiet                                bool // nobody is at work on it
}

// lines are the jobs that are not over and not only waiting, so many at most, and how many more there are.
func (s *State) lines() (lines []line, more int) {
	for _, j := range s.Jobs {
		if j.Phase == Waiting || j.Phase == Ended && (j.Note == "" || j.Note == "diverged") {
			continue
		}
		if len(lines) == mostListed {
			more++
			continue
		}
		l := line{Name: escape.Line(j.Name), Phase: j.Phase, Percent: int(100 * j.Share), Note: escape.Line(j.Note),
			Quiet: j.Phase != Working}
		var where []string
		if j.Task > 0 {
			where = append(where, fmt.Sprintf("task %d of %d", min(j.Task, j.Tasks), j.Tasks))
		}
		if j.Steps > 0 && j.Phase != Ended {
			where = append(where, fmt.Sprintf("step %s of %s", count.Number(j.Step), count.Number(j.Steps)))
		}
		l.Where = strings.Join(where, ", ")
		if j.Seen != nil {
			l.Seen = count.Percent(*j.Seen) + "\u00a0%"
		}
		if j.Left > 0 && j.Phase == Working {
			l.Left = duration(j.Left) + " left"
		}
		lines = append(lines, l)
	}
	return lines, more
}

var strips = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("strip").Parse(`<p class="sum"><b>{{if .Over}}Ended{{else if .Working}}Live{{else}}Waiting{{end}}</b> <span>{{.Head}}</span>{{if .Folder}} <code>{{.Folder}}</code>{{end}}</p>
{{with .Problem}}<p class="problem">{{.}}</p>
{{end}}{{if .Over}}<p>Nothing more comes. The report lies in the folder.</p>
{{end}}{{if .Lines}}<ul>{{range .Lines}}<li{{if .Quiet}} class="quiet"{{end}}><span class="name">{{.Name}}</span><progress max="100" value="{{.Percent}}" aria-label="{{.Name}}">{{.Percent}} %</progress><span class="pc">{{.Percent}}&nbsp;%</span><span class="seen">{{with .Seen}}<span class="word">seen </span>{{.}}{{end}}</span><span class="rest">{{if .Quiet}}{{.Phase}} {{end}}{{.Where}}{{with .Left}}, {{.}}{{end}}{{with .Note}} ({{.}}){{end}}</span></li>
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
