package fetch

import (
	"errors"
	"fmt"
	"net/http"
)

// redirectRefusal is a redirect that was not followed.
type redirectRefusal struct{ error }

func (r redirectRefusal) Unwrap() error { return r.error }

// redirecting returns a copy of a client, or of the default one for nil, that does not leave https once it is there:
// else whoever sits on the way could send it anywhere.
func redirecting(given *http.Client) *http.Client {
	c := http.Client{}
	if given != nil {
		c = *given
	}
	asked := c.CheckRedirect
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		var err error
		switch {
		case via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https":
			err = fmt.Errorf("the server leads from https to %s", req.URL.Redacted())
		case asked != nil:
			err = asked(req, via)
		case len(via) >= 10: // as net/http has it
			err = errors.New("the server redirects 10 times")
		}
		if err == nil || errors.Is(err, http.ErrUseLastResponse) {
			return err
		}
		return redirectRefusal{err}
	}
	return &c
}
