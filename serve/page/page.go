// Package page is the page of `ocl serve`: where people label pictures, see who did what, compare versions of the
// weights and go back to one, and watch what the daemon learns and forgets. It asks the daemon for everything by its
// API, and nothing comes from outside.
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

// The scripts of the page, in the order in which they use each other.
var (
	//go:embed words.mjs
	words string
	//go:embed numbers.mjs
	numbers string
	//go:embed label.mjs
	label string
	//go:embed rest.mjs
	rest string
	//go:embed page.mjs
	code string
)

// script is the script of the page.
func script() string { return report.Module(words, numbers, label, rest, code) }

//go:embed page.css
var style string

// made is the page. It is made when it is first asked for.
var made = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	filled := map[string]any{"Head": report.Head("ocl serve", style, `<link rel="icon" href="data:,"/>`),
		"Code": template.JS(script())}
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
