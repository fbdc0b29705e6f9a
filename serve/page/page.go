// Package page is the page of `ocl serve`: what the daemon learns and forgets, as it happens, and the pictures of which
// it is least sure, with buttons that label them. It asks the daemon for everything by its API, and nothing comes from
// outside.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"sync"

	"ocl/view/report"
)

//go:embed page.html.tmpl
var text string

//go:embed page.mjs
var code string

//go:embed page.css
var style string

// made is the page with the policy that lets its own script and style run and nothing else. It is made when it is first
// asked for.
var made = sync.OnceValues(func() (page []byte, policy string) {
	css := report.PageStyle() + style
	var b bytes.Buffer
	if err := template.Must(template.New("page").Parse(text)).Execute(&b,
		map[string]any{"Style": template.CSS(css), "Code": template.JS(code)}); err != nil {
		panic("page: " + err.Error()) // the template is part of the program
	}
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return b.Bytes(), "default-src 'none'; connect-src 'self'; img-src 'self' data:; script-src " + digest(code) +
		"; style-src " + digest(css) +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
})

// Handler answers GET / with the page.
func Handler() http.Handler {
	return http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) {
		page, policy := made()
		h := to.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		_, _ = to.Write(page) // the client may have gone
	})
}
