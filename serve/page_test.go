package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"

	"ocl/internal/browsertest"
	"ocl/serve/client"
	"ocl/serve/page"
)

// TestPage: in Chromium, on a phone and on a screen, the page shows what the daemon learns, events arrive, and a button
// labels a picture. The phone comes by a proxy that gives the daemon a prefix.
func TestPage(t *testing.T) {
	b := browsertest.Start(t)
	for name, size := range map[string][2]int64{"serve-360": {360, 800}, "serve-1440": {1440, 900}} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			o.Page = page.Handler()
			o.Daemon.HeldOut = 0.5 // so that twenty pictures are held out, of which the chart has a line
			address, _ := run(t, o)
			c, err := client.New(address, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			teach := func(from, n int) {
				t.Helper()
				for i := from; i < from+n; i++ {
					if _, err := c.Learn(t.Context(), picture(i), fmt.Sprint("class ", i%3),
						client.Learn{Raw: true, Wait: i == from+n-1}); err != nil {
						t.Fatal(err)
					}
				}
			}
			teach(0, 120)
			for i := range 2 {
				if _, err := c.Predict(t.Context(), picture(200+i), client.Predict{Raw: true, Remember: true, K: 3}); err != nil {
					t.Fatal(err)
				}
			}
			at, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			proxy := httptest.NewServer(http.StripPrefix("/cats", httputil.NewSingleHostReverseProxy(at)))
			defer proxy.Config.Close() // which waits for no stream
			page := address + "/"
			if size[0] == 360 {
				page = proxy.URL + "/cats/"
			}
			ctx := b.Visit(t, page, size[0], size[1])
			wait := func(what string) {
				t.Helper()
				if err := chromedp.Run(ctx, browsertest.Holds(what)); err != nil {
					t.Fatal(err)
				}
			}
			wait("document.querySelectorAll('#classes tr').length===3 && document.querySelectorAll('.pictures article').length===2 && document.querySelector('#chart .course')!==null")
			wait("Array.from(document.images).every(i=>i.complete && i.naturalWidth>0)")
			browsertest.Shoot(t, ctx, name+"-first")
			browsertest.Accessible(t, ctx)
			if err := c.Class(t.Context(), "late"); err != nil {
				t.Fatal(err)
			}
			wait("document.querySelector('#news').textContent.includes('late')")
			if err := chromedp.Run(ctx, chromedp.Evaluate("document.querySelector('.pictures article button').click()",
				nil)); err != nil {
				t.Fatal(err)
			}
			wait("document.querySelectorAll('.pictures article').length===1 && document.querySelector('#said').textContent.startsWith('Labelled as ')")
			var fits bool
			if err := chromedp.Run(ctx, chromedp.Evaluate("[document.documentElement,...document.querySelectorAll('.scroll')].every(e=>e.scrollWidth<=e.clientWidth)",
				&fits)); err != nil || !fits {
				t.Errorf("the page is wider than the screen, or a table wider than its place, or %v", err)
			}
			if err := context.Cause(ctx); err != nil {
				t.Error(err)
			}
			browsertest.Shoot(t, ctx, name+"-labelled")
		})
	}
}
