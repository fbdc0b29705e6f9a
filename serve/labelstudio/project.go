// Package labelstudio is a project of Label Studio, a program in which people annotate pictures: it asks its API for
// tasks, annotations and pictures, and a daemon learns what is annotated.
//
// Nobody has to believe a webhook, which has no authentication and is not sent again: it only says at which tasks to
// look, and what the API answers is learned. So one that was lost is made up for when all tasks are looked at, as at
// the start. A task is one sample of the daemon, whose label is that of its last annotation. Everything is fetched from
// the address of the project, and from nowhere else.
//
// Package api answers the requests of Label Studio by it. Start at [New].
package labelstudio

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"ocl/internal/limit"
)

// Options of a project.
type Options struct {
	// URL is the address of the project as a browser shows it, such as http://localhost:8080/projects/1.
	URL string
	// Token is what Label Studio calls an access token: a personal one, or one of the older kind (legacy token).
	Token     string
	Transport http.RoundTripper // nil is that of package http
	Log       *slog.Logger      // nil is none
	Wait      time.Duration     // before what failed is tried again; it doubles up to a minute. 0 is 1 s
}

// Project is a project of Label Studio. Any number of goroutines may call its methods, but one alone Learn.
type Project struct {
	o    Options
	id   int64
	base *url.URL // of Label Studio, with a slash at its end
	http *http.Client
	wake chan struct{} // something was heard

	granting sync.Mutex // guards access
	access   string     // for which Label Studio has exchanged a personal token; "" is none

	mu     sync.Mutex
	all    bool            // all tasks are to be looked at
	heard  map[int64]bool  // tasks that are to be looked at
	fault  error           // of the last look; nil is none
	faults map[int64]error // of tasks that are not learned as they are annotated

	// Learn uses these alone.
	config  *Config         // of the project; nil before it was asked for
	classes map[string]bool // that the daemon has
}

// projectPath is the path of a project's page.
var projectPath = regexp.MustCompile(`^(.*/)projects/([1-9][0-9]{0,17})(/.*)?$`)

// New is the project at an address. Nothing is asked yet.
func New(o Options) (*Project, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		!projectPath.MatchString(u.Path) {
		return nil, fmt.Errorf("labelstudio: %.200q is no address of a project. Use the one that a browser shows, such as http://localhost:8080/projects/1",
			o.URL)
	}
	if o.Token = strings.TrimSpace(o.Token); o.Token == "" || strings.ContainsFunc(o.Token,
		func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("labelstudio: there is no access token, or it has characters that no token has. Copy it from the account page of Label Studio")
	}
	o.Log, o.Wait = cmp.Or(o.Log, slog.New(slog.DiscardHandler)), cmp.Or(o.Wait, time.Second)
	parts := projectPath.FindStringSubmatch(u.Path)
	p := &Project{o: o, base: &url.URL{Scheme: u.Scheme, Host: u.Host, Path: parts[1]}, wake: make(chan struct{}, 1),
		all: true, heard: map[int64]bool{}, faults: map[int64]error{}, classes: map[string]bool{}}
	if p.id, err = strconv.ParseInt(parts[2], 10, 64); err != nil {
		return nil, fmt.Errorf("labelstudio: %w", err)
	}
	p.http = &http.Client{Transport: o.Transport, CheckRedirect: p.redirected}
	return p, nil
}

// ID is the number of the project.
func (p *Project) ID() int64 { return p.id }

// Heard says that something has happened in the project, which Learn then looks at: to these tasks, or, where there are
// none, to any. It returns at once.
func (p *Project) Heard(tasks []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range tasks {
		p.heard[id] = true
	}
	if len(tasks) == 0 || len(p.heard) > limit.LabelStudioHeard {
		p.all, p.heard = true, map[int64]bool{}
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Problem says, for people, what of the project is not learned; "" is nothing, also of a nil project.
func (p *Project) Problem() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch n := len(p.faults); {
	case p.fault != nil:
		return fmt.Sprintf("Project %d of Label Studio at %s is not learned from: %s.", p.id, p.base, bare(p.fault))
	case n > 0:
		first := int64(0)
		for id := range p.faults {
			if first == 0 || id < first {
				first = id
			}
		}
		return fmt.Sprintf("Of project %d of Label Studio, %d of the tasks could not be learned, such as task %d: %s.", p.id,
			n, first, bare(p.faults[first]))
	}
	return ""
}

// bare is the text of an error without the names of packages and without a full stop.
func bare(err error) string {
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	for _, name := range []string{"labelstudio: ", "client: "} {
		text = strings.TrimPrefix(text, name)
	}
	return strings.TrimSuffix(text, ".")
}
