package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ocl/internal/listen"
)

// cookie is the name of the one in which the page keeps its token: EventSource sends no Authorization.
const cookie = "ocl_session"

// whoKey is the key of the author of a request in its context.
type whoKey struct{}

// who is the author of what a request changes.
func who(r *http.Request) string {
	name, _ := r.Context().Value(whoKey{}).(string)
	return name
}

// anybody is the author where there are no tokens.
const anybody = "anybody"

// guarded is the handler behind all checks that do not depend on the path.
func (s *server) guarded(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		s.refuse(to, r, problem(http.StatusForbidden,
			"A page of another origin sent this request. Use the daemon's own page, or a program that is no browser."))
	}))
	next = cross.Handler(next)
	return http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		listen.Harden(to.Header())
		if parent := r.Header.Get("Traceparent"); parent != "" {
			s.log.DebugContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path, "traceparent", parent)
		}
		// with tokens, a page that lends its name to this machine has none
		if s.o.Tokens == nil && !listen.Knows(r.Host, s.o.Hosts...) {
			s.refuse(to, r, problem(http.StatusForbidden,
				"%.80q is no name of this machine that the daemon knows. Use its address, or start it with --host and this name.",
				r.Host))
			return
		}
		// else what cannot be read would be left out, and something else be meant
		if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
			s.refuse(to, r, bad("The query of the path cannot be read: %v. Write %% as %%25, ; as %%3B and & in a value as %%26.",
				err))
			return
		}
		next.ServeHTTP(to, r)
	})
}

// allowed lets a request through if its token has a role, and sets its author.
func (s *server) allowed(role Role, next http.HandlerFunc) http.HandlerFunc {
	return func(to http.ResponseWriter, r *http.Request) {
		author := anybody
		if s.o.Tokens != nil {
			author = ""
		}
		if name, ok := insider(r); ok {
			author = name
		} else if s.o.Tokens != nil && role != RoleNone {
			h, err := s.holder(r)
			if err == nil && h.Role < role {
				err = problem(http.StatusForbidden, "The token %s may do what %s may, and this needs %s. Use another token.",
					h.Name, h.Role, role)
			}
			if err == nil && h.limit != nil && !h.limit.Allow() {
				err = problem(http.StatusTooManyRequests, "The token %s may send %v requests a second. Send this one again after the time of Retry-After.",
					h.Name, h.Rate).later(time.Second)
			}
			if err != nil {
				s.refuse(to, r, err)
				return
			}
			author = h.Name
		}
		if role != RoleNone && r.Pattern != "GET /metrics" { // by which it is seen that the daemon is busy
			if _, ok := s.requests.try(author, 1); !ok {
				s.refuse(to, r, problem(http.StatusServiceUnavailable,
					"So many requests are being answered that there is no place for this one. Send it again after the time of Retry-After.").
					later(time.Second))
				return
			}
			defer s.requests.back(author, 1)
		}
		if role != RoleNone {
			defer listen.Admit(r.Context())()
		}
		next(to, r.WithContext(context.WithValue(r.Context(), whoKey{}, author)))
	}
}

// errToken is the problem of a token that is none.
var errToken = problem(http.StatusUnauthorized, "The token is not valid. Ask who runs the daemon for another one.")

// holder returns the holder of the token of a request, and a problem for the client if there is no valid token.
func (s *server) holder(r *http.Request) (holder, error) {
	secret := ""
	if kind, rest, is := strings.Cut(r.Header.Get("Authorization"), " "); is && strings.EqualFold(kind, "Bearer") {
		secret = strings.TrimSpace(rest)
	} else if _, password, is := r.BasicAuth(); is { // of a client that knows no other way, with any name
		secret = password
	} else if c, err := r.Cookie(cookie); err == nil {
		secret = c.Value
	}
	if secret == "" {
		return holder{}, problem(http.StatusUnauthorized,
			"This daemon wants a token. Send it as `Authorization: Bearer TOKEN`.")
	}
	h, ok := s.o.Tokens.find(secret)
	if !ok {
		return holder{}, errToken
	}
	return h, nil
}

// may says whether who sent a request has a role now.
func (s *server) may(r *http.Request, role Role) bool {
	if _, ok := insider(r); ok || s.o.Tokens == nil {
		return true
	}
	h, err := s.holder(r)
	return err == nil && h.Role >= role
}

// self says who sent a request, and what they may do.
func (s *server) self(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	role := RolePredict
	for role < RoleAdmin && s.may(r, role+1) {
		role++
	}
	return http.StatusOK, map[string]string{"name": who(r), "role": role.String()}, nil
}

// session gives the page a cookie with its token, which no script can read, or takes it back. It is for the paths
// beside this one, with the prefix that a proxy has given the daemon, so that several daemons on one host have each
// their own.
func (s *server) session(to http.ResponseWriter, r *http.Request) (int, any, error) {
	set := &http.Cookie{Name: cookie, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil, MaxAge: -1}
	if r.Method == http.MethodPost {
		var in struct {
			Token string `json:"token"`
		}
		if err := s.readJSON(to, r, &in); err != nil {
			return 0, nil, err
		}
		if s.o.Tokens != nil {
			if _, ok := s.o.Tokens.find(in.Token); !ok {
				return 0, nil, errToken
			}
			set.Value, set.MaxAge = in.Token, 12*60*60
		}
	}
	http.SetCookie(to, set)
	to.WriteHeader(http.StatusNoContent)
	return 0, nil, nil
}
