package serve

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"ocl/serve/api"
	"ocl/serve/client"
	"ocl/serve/labelstudio"
)

// Studio says from which project of Label Studio the daemon learns.
type Studio struct {
	URL       string // of the project; "" is none
	TokenFile string // file of the access token; "" is Token
	Token     string
	CA        string // file of certificates to trust, PEM; "" is those of the system
}

// studioAuthor is the author of what is learned from Label Studio.
const studioAuthor = "label-studio"

// project is the project; nil where there is none. Nothing is asked of it yet.
func (s Studio) project(insecure bool, log *slog.Logger) (*labelstudio.Project, error) {
	if s.URL == "" {
		return nil, nil
	}
	if s.TokenFile != "" {
		text, err := secretFile(s.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("--label-studio-token: %w", err)
		}
		s.Token = string(text)
	}
	transport, err := trusting(s.CA)
	if err != nil {
		return nil, err
	}
	p, err := labelstudio.New(labelstudio.Options{URL: s.URL, Token: s.Token, Transport: transport, Log: log})
	if err != nil {
		return nil, fmt.Errorf("--label-studio: %w", err)
	}
	if u, err := url.Parse(s.URL); err == nil && u.Scheme == "http" && !loopback(u.Hostname()) && !insecure {
		return nil, fmt.Errorf("--label-studio: the access token would be sent to %s where others can read it. Use an https address, or give --insecure",
			cmp.Or(u.Host, s.URL))
	}
	return p, nil
}

// annotations lets the daemon behind a handler learn what is annotated in a project, which may be nil, until ctx ends.
// The channel is closed when it has ended.
func annotations(ctx context.Context, p *labelstudio.Project, h http.Handler) <-chan struct{} {
	ended := make(chan struct{})
	c, err := client.New("http://localhost", client.Options{HTTP: &http.Client{Transport: api.Inside(h, studioAuthor)}})
	if p == nil || err != nil {
		close(ended)
		return ended
	}
	go func() {
		defer close(ended)
		p.Learn(ctx, c)
	}()
	return ended
}
