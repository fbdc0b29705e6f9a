// Package page is the page of `ocl serve`: what the daemon learns and forgets, as it happens, and the pictures of which
// it is least sure, with buttons that label them. It asks the daemon for everything by its API, and nothing comes from
// outside.
package page

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"sync"

	"ocl/internal/listen"
	"ocl/view/report"
)

//go:embed page.html.tmpl
var text string

//go:embed page.mjs
var code string

//go:embed page.css
var style string

// made is the page. It is made when it is first asked for.
var made = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	filled := map[string]any{"Head": report.Head("ocl serve", style, `<link rel="icon" href="data:,"/>`),
		"Code": template.JS(code)}
	if err := template.Must(template.New("page").Parse(text)).Execute(&b, filled); err != nil {
		panic("page: " + err.Error()) // the template is part of the program
	}
	return b.Bytes()
})

// Handler answers GET / with the page.
func Handler() http.Handler {
	return http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) {
		listen.Harden(to.Header())
		listen.SendPage(to, made(), false)
	})
}
