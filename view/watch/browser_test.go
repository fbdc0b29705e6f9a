package watch

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ocl/internal/browsertest"
	"ocl/view/report"
)

// TestLivePage: in Chromium the page follows a run to its end, on a phone and on a screen, and keeps the scroll
// position, the order and what is open.
func TestLivePage(t *testing.T) {
	b := browsertest.Start(t)
	for name, size := range map[string][2]int64{"watch-390": {390, 844}, "watch-1440": {1440, 900}} {
		t.Run(name, func(t *testing.T) {
			l := copied(t, 0)
			w := l.watcher()
			w.Look()
			server := httptest.NewServer(w.Handler())
			t.Cleanup(server.Close)
			t.Cleanup(w.end)
			ctx := b.Visit(t, server.URL+"/", size[0], size[1])
			act := func(actions ...chromedp.Action) {
				t.Helper()
				if err := chromedp.Run(ctx, actions...); err != nil {
					t.Fatal(err)
				}
			}
			has := func(text string) chromedp.Action {
				return browsertest.Holds("document.body.textContent.includes(" + quoted(text) + ")")
			}
			l.goOn(1)
			w.Look()
			act(has("task 1/4"), has("the numbers are those after 1 task"))
			browsertest.Shoot(t, ctx, name+"-first")
			browsertest.Accessible(t, ctx)
			b.Plain(t, server.URL+"/", size[0])
			const table = "document.querySelector('#results-section table')"
			act(chromedp.Evaluate(table+".tHead.querySelectorAll('button')[1].click();document.querySelector('#results-section details').open=true;"+
				"document.querySelector('#repeat').scrollIntoView({behavior:'instant'});", nil))
			var before, after float64
			place := "document.querySelector('#repeat').getBoundingClientRect().top"
			act(chromedp.Evaluate(place, &before))
			l.goOn(2)
			w.Look()
			act(has("task 3/4"), has("the numbers are those after 3 tasks"), chromedp.Evaluate(place, &after))
			var sorted, open bool
			act(chromedp.Evaluate(table+".querySelector('th[aria-sort=ascending]')!==null", &sorted),
				chromedp.Evaluate("document.querySelector('#results-section details').open", &open))
			if d := after - before; !sorted || !open || d > 2 || d < -2 {
				t.Errorf("after the change: sorted %v, filter open %v, and what is read has moved by %v pixels", sorted, open, d)
			}
			browsertest.Shoot(t, ctx, name+"-scrolled")
			l.goOn(1)
			l.end()
			w.Look()
			w.finish()
			act(has("Nothing more comes"), browsertest.Holds("!document.body.textContent.includes('the numbers are those after')"))
			act(chromedp.Evaluate("scrollTo({top:0,behavior:'instant'})", nil))
			browsertest.Shoot(t, ctx, name+"-ended")
			var hidden bool
			act(chromedp.Evaluate("document.documentElement.scrollWidth<=innerWidth", &hidden))
			if !hidden {
				t.Error("the page is wider than the screen")
			}
		})
	}
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "\\'") + "'" }

// TestScript runs the tests of the scripts of both pages, and checks that the one of a run is well formed together with
// that of a report.
func TestScript(t *testing.T) { browsertest.Scripts(t, "*.test.mjs", report.PageScript()+liveJS) }
