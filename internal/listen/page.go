package listen

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Harden sets the headers of every answer: a browser takes it for what it says it is, tells nobody of it, keeps nothing
// of it, and lets no other site use it.
func Harden(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// SendPage answers with a page of HTML that holds its own scripts and styles. These work, and nothing else. The page
// asks nobody but this server. restyles says that its script changes the styles.
func SendPage(to http.ResponseWriter, page []byte, restyles bool) {
	styles := "'unsafe-inline'"
	if !restyles {
		styles = digests(page, "<style>", "</style>")
	}
	to.Header().Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; img-src 'self' data:; "+
		"script-src "+digests(page, `<script type="module">`, "</script>")+"; style-src "+styles+
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	Send(to, "text/html; charset=utf-8", page)
}

// digests has the sources by which a policy lets what stands between two marks work.
func digests(page []byte, begin, end string) string {
	var all []string
	for {
		_, rest, ok := bytes.Cut(page, []byte(begin))
		if !ok {
			return strings.Join(all, " ")
		}
		text, rest, _ := bytes.Cut(rest, []byte(end))
		sum := sha256.Sum256(text)
		all = append(all, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
		page = rest
	}
}

// Send answers with a text of a media type.
func Send(to http.ResponseWriter, media string, text []byte) {
	to.Header().Set("Content-Type", media)
	to.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = to.Write(text) // the client may have gone
}

// Events is an answer of server-sent events, for one goroutine.
type Events struct {
	to      http.ResponseWriter
	stream  *http.ResponseController
	timeout time.Duration
}

// NewEvents begins an answer of server-sent events. A browser comes again so many milliseconds after the end of one.
// Each event must be taken within the timeout.
func NewEvents(to http.ResponseWriter, timeout time.Duration, again int) (e *Events, ok bool) {
	to.Header().Set("Content-Type", "text/event-stream")
	to.Header().Set("X-Accel-Buffering", "no") // of nginx
	e = &Events{to, http.NewResponseController(to), timeout}
	return e, e.send("retry: " + strconv.Itoa(again) + "\n\n")
}

// Send sends an event of a kind with its JSON, which has no line ends. It says whether the client is still there.
func (e *Events) Send(kind string, json []byte) bool {
	return e.send("event: " + kind + "\ndata: " + string(json) + "\n\n")
}

// Beat sends nothing, so that a stream whose client has gone ends.
func (e *Events) Beat() bool { return e.send(":\n\n") }

func (e *Events) send(text string) bool {
	_ = e.stream.SetWriteDeadline(time.Now().Add(e.timeout)) // a test's recorder has none
	_, err := e.to.Write([]byte(text))
	return err == nil && e.stream.Flush() == nil
}
