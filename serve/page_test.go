package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"ocl/internal/browsertest"
	"ocl/serve"
	"ocl/serve/api"
	"ocl/serve/client"
	"ocl/serve/page"
)

// sizes are those of a phone and of a screen.
var sizes = map[string][2]int64{"390": {390, 844}, "1440": {1440, 900}}

// visitor acts on the page of a daemon.
type visitor struct {
	t   *testing.T
	ctx context.Context
}

func (v visitor) run(actions ...chromedp.Action) {
	v.t.Helper()
	if err := chromedp.Run(v.ctx, actions...); err != nil {
		v.t.Fatal(err)
	}
}

// wait waits until something holds on the page.
func (v visitor) wait(what string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Run(ctx, browsertest.Holds(what)); err != nil {
		var said string
		v.run(chromedp.Evaluate("document.activeElement.outerHTML.slice(0,80)+' '+document.querySelector('#said').textContent+document.querySelector('#kept').textContent+' '+document.querySelectorAll('.tile').length+' tiles'",
			&said))
		v.t.Fatalf("it never holds that %s: %v; the page has the focus on %s", what, err, said)
	}
}

// press presses keys. A letter comes without the event by which it is typed, which would go to a field that has the
// focus by then.
func (v visitor) press(keys ...string) {
	v.t.Helper()
	for _, key := range keys {
		if key >= "a" && key <= "z" {
			v.run(input.DispatchKeyEvent(input.KeyDown).WithKey(key), input.DispatchKeyEvent(input.KeyUp).WithKey(key))
		} else {
			v.run(chromedp.KeyEvent(key))
		}
	}
}

// tiles waits until so many pictures are in the list.
func (v visitor) tiles(n int) {
	v.t.Helper()
	v.wait(fmt.Sprintf("document.querySelectorAll('.tile').length===%d", n))
}

// fits fails the test where the page is wider than the screen.
func (v visitor) fits() {
	v.t.Helper()
	var fits bool
	v.run(chromedp.Evaluate("document.documentElement.scrollWidth<=document.documentElement.clientWidth", &fits))
	if !fits {
		v.t.Error("the page is wider than the screen")
	}
}

// served is a daemon with its page, and a client of it.
func served(t *testing.T, heldOut float64) (address string, c *client.Client) {
	t.Helper()
	o := options(t)
	o.Page, o.Daemon.HeldOut, o.Daemon.NewClasses = page.Handler(), heldOut, false
	o.Daemon.Remember.Count = 20_000
	o.Daemon.Remember.Bytes = 1 << 30
	address, _ = run(t, o)
	c, err := client.New(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return address, c
}

// remembered sends pictures that wait for labels.
func remembered(t *testing.T, c *client.Client, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		if _, err := c.Predict(t.Context(), picture(i), client.Predict{Raw: true, Remember: true, K: 3}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPageByKeyboard: in Chromium, on a phone and on a screen, a person labels by the keyboard alone, from a daemon
// that knows no class: makes classes, labels by digits and by the guess, skips, deletes, chooses several, and undoes
// each of these. The phone comes by a proxy that gives the daemon a prefix.
func TestPageByKeyboard(t *testing.T) {
	b := browsertest.Start(t)
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			address, c := served(t, 0)
			remembered(t, c, 200, 12)
			at, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			proxy := httptest.NewServer(http.StripPrefix("/cats", httputil.NewSingleHostReverseProxy(at)))
			t.Cleanup(func() { _ = proxy.Config.Close() }) // which waits for no stream, and is behind the end of the tab
			page := address + "/"
			if name == "390" {
				page = proxy.URL + "/cats/"
			}
			v := visitor{t, b.Visit(t, page, size[0], size[1])}
			v.tiles(12)
			v.wait("[...document.images].every(i=>i.complete && i.naturalWidth>0)")
			browsertest.Shoot(t, v.ctx, "serve-empty-"+name)
			said := func(text string) {
				t.Helper()
				v.wait(fmt.Sprintf("document.querySelector('#said').textContent.includes(%q)", text))
			}
			v.press("n")
			v.run(chromedp.SendKeys("#name", "cat"+kb.Enter, chromedp.ByQuery))
			said("Enter again makes it")
			v.press(kb.Enter)
			v.tiles(11)
			v.press("n")
			v.run(chromedp.SendKeys("#name", "dog"+kb.Enter+kb.Enter, chromedp.ByQuery))
			v.tiles(10)
			v.wait("document.querySelectorAll('#keys button').length===2")
			v.press("1")
			v.tiles(9)
			v.press("2")
			v.tiles(8)
			said("labelled dog")
			v.press("z", "z")
			v.tiles(10)
			said("Undone: 1 picture labelled cat")
			v.press("s")
			v.tiles(9)
			v.press("d")
			v.tiles(8)
			v.press("z")
			v.tiles(9)
			v.press(" ", kb.ArrowRight, " ")
			v.wait("document.querySelectorAll('.tile[aria-selected=true]').length===2")
			v.press("2")
			v.tiles(7)
			said("2 pictures labelled dog")
			v.press("z")
			v.tiles(9)
			v.run(chromedp.KeyEvent(kb.ArrowRight, chromedp.KeyModifiers(input.ModifierShift)),
				chromedp.KeyEvent(kb.ArrowRight, chromedp.KeyModifiers(input.ModifierShift)))
			v.wait("document.querySelectorAll('.tile[aria-selected=true]').length===3")
			v.press(kb.Escape)
			v.wait("document.querySelectorAll('.tile[aria-selected=true]').length===0")
			v.run(chromedp.KeyEvent("a", chromedp.KeyModifiers(input.ModifierCtrl)))
			v.wait("document.querySelectorAll('.tile[aria-selected=true]').length===9")
			v.press(kb.Escape)
			v.wait("document.querySelector('.tile.at span').textContent!=='no guess' && !document.querySelector('#accept').disabled")
			v.press(kb.Enter)
			v.tiles(8)
			v.press("a")
			v.wait("!document.querySelector('#liking').hidden && document.querySelectorAll('.tile[aria-selected=true]').length>0")
			browsertest.Shoot(t, v.ctx, "serve-alike-"+name)
			v.press(kb.Escape)
			v.wait("document.querySelector('#liking').hidden && document.querySelectorAll('.tile').length===8")
			v.press("o")
			v.wait("document.querySelector('#large').open && document.querySelector('#own img').naturalWidth>0")
			v.press(kb.Escape)
			v.wait("!document.querySelector('#large').open")
			v.press("?")
			v.wait("document.querySelector('#help').open")
			browsertest.Shoot(t, v.ctx, "serve-keys-"+name)
			v.press(kb.Escape)
			v.wait("!document.querySelector('#help').open")
			// the skipped one comes back
			show := func(filter string) {
				t.Helper()
				v.run(chromedp.Evaluate(fmt.Sprintf(
					"{const f=document.querySelector('#filter');f.value=%q;f.dispatchEvent(new Event('change'))}", filter), nil))
			}
			show("skipped")
			v.tiles(1)
			v.press("s")
			v.tiles(0)
			show("labelled")
			v.tiles(3)
			v.press("u")
			v.tiles(2)
			v.press("z")
			v.tiles(3)
			v.press("2")
			v.wait("document.querySelectorAll('.tile').length===3")
			said("labelled dog")
			v.press("d")
			v.tiles(2)
			v.press("z")
			v.tiles(3)
			show("unlabelled")
			v.tiles(9)
			v.fits()
			browsertest.Shoot(t, v.ctx, "serve-label-"+name)
			v.run(chromedp.Evaluate("location.hash='history'", nil))
			v.wait("document.querySelectorAll('#deeds button').length>0 && [...document.images].every(i=>i.complete)")
			v.fits()
			browsertest.Shoot(t, v.ctx, "serve-history-"+name)
			var texts []string
			v.run(chromedp.Evaluate("[...document.querySelectorAll('#deeds li')].map(e=>e.textContent)", &texts))
			for _, want := range []string{"anybody labelled a picture dog", "anybody added the class cat", "brought a skipped picture back",
				"took the label"} {
				if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, want) }) {
					t.Errorf("the history %q lacks %q", texts, want)
				}
			}
			var deeds int
			v.run(chromedp.Evaluate("document.querySelectorAll('#deeds li').length", &deeds),
				chromedp.Evaluate("document.querySelector('#deeds button').focus()", nil))
			v.press(kb.Enter)
			v.wait(fmt.Sprintf("document.querySelectorAll('#deeds li').length===%d && document.querySelector('#undone').textContent.startsWith('Undone')", deeds+1))
		})
	}
}

// TestPageByPointer: the mouse chooses by clicks and by a frame, a button labels what is chosen, and a picture is
// added.
func TestPageByPointer(t *testing.T) {
	b := browsertest.Start(t)
	address, c := served(t, 0)
	remembered(t, c, 200, 30)
	if err := c.Class(t.Context(), "cat"); err != nil {
		t.Fatal(err)
	}
	v := visitor{t, b.Visit(t, address+"/", 1440, 900)}
	v.tiles(30)
	v.wait("document.querySelectorAll('#keys button').length===1")
	center := func(i int) (x, y float64) {
		t.Helper()
		var at struct{ X, Y float64 }
		v.run(chromedp.Evaluate(fmt.Sprintf("{const r=document.querySelectorAll('.tile')[%d].getBoundingClientRect();({X:r.left+r.width/2,Y:r.top+r.height/2})}", i), &at))
		return at.X, at.Y
	}
	x, y := center(3)
	v.run(chromedp.MouseClickXY(x, y))
	v.wait("[...document.querySelectorAll('.tile')].findIndex(e=>e.classList.contains('at'))===3")
	x0, y0 := center(0)
	x1, y1 := center(2)
	v.run(chromedp.MouseEvent(input.MousePressed, x0, y0, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseMoved, (x0+x1)/2, y0, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseMoved, x1, y1, chromedp.ButtonLeft))
	browsertest.Shoot(t, v.ctx, "serve-frame")
	v.run(chromedp.MouseEvent(input.MouseReleased, x1, y1, chromedp.ButtonLeft))
	v.wait("[...document.querySelectorAll('.tile')].map(e=>e.getAttribute('aria-selected')).join()==='true,true,true'+',false'.repeat(27)")
	v.run(chromedp.Click("#several", chromedp.ByQuery))
	x, y = center(5)
	v.run(chromedp.MouseClickXY(x, y))
	v.wait("document.querySelectorAll('.tile[aria-selected=true]').length===4")
	v.run(chromedp.Click("#keys button", chromedp.ByQuery))
	v.tiles(26)
	v.run(chromedp.Click("#undo", chromedp.ByQuery))
	v.tiles(30)
	file := t.TempDir() + "/new.png"
	var text bytes.Buffer
	if err := png.Encode(&text, image.NewNRGBA(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	v.run(chromedp.SetUploadFiles("#files", []string{file}, chromedp.ByQuery))
	v.wait("document.querySelector('#said').textContent.includes('1 picture added')")
	v.tiles(31)
	v.run(chromedp.Click("#enlarge", chromedp.ByQuery))
	v.wait("document.querySelector('#large').open")
}

// TestPageParts: each part of the page, with what it shows, is accessible on a phone and on a screen, and fits.
func TestPageParts(t *testing.T) {
	b := browsertest.Start(t)
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			address, c := served(t, 0.5) // so that twenty pictures are held out, of which the chart has a line
			for k := range 3 {
				if err := c.Class(t.Context(), fmt.Sprint("class ", k)); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 120 {
				if _, err := c.Learn(t.Context(), picture(i), fmt.Sprint("class ", i%3),
					client.Learn{Raw: true, Wait: i == 119}); err != nil {
					t.Fatal(err)
				}
			}
			remembered(t, c, 200, 5)
			v := visitor{t, b.Visit(t, address+"/", size[0], size[1])}
			for part, there := range map[string]string{
				"label":    "document.querySelectorAll('.tile').length===5 && document.querySelectorAll('#keys button').length===3",
				"history":  "document.querySelectorAll('#deeds li').length===3",
				"classes":  "document.querySelectorAll('#class-rows tr').length===3",
				"versions": "document.querySelectorAll('#version-rows tr').length>0",
				"numbers":  "document.querySelector('#chart .course')!==null",
			} {
				// in one tab, as each has a stream of events, and a browser has six connections to a server
				v.run(chromedp.Navigate(address+"/"), chromedp.Evaluate(fmt.Sprintf("location.hash=%q", part), nil))
				v.wait(there)
				v.wait("[...document.images].every(i=>i.complete && i.naturalWidth>0)")
				v.fits()
				browsertest.Shoot(t, v.ctx, "serve-"+part+"-"+name)
				browsertest.Accessible(t, v.ctx)
			}
			v.run(chromedp.Evaluate("location.hash='versions'", nil))
			v.wait("document.querySelectorAll('#version-rows tr').length>0")
			v.run(chromedp.SendKeys("#version-name", "good"+kb.Enter, chromedp.ByQuery))
			v.wait("document.querySelector('#version-rows').textContent.includes('good')")
			v.run(chromedp.Evaluate("document.querySelector('#version-rows button').click()", nil))
			v.wait("document.querySelectorAll('#comparison-rows tr').length===3")
			browsertest.Shoot(t, v.ctx, "serve-compared-"+name)
			v.run(chromedp.Evaluate("{const b=document.querySelector('#version-rows tr').querySelectorAll('button')[1];b.click();b.click()}", nil))
			v.wait("document.querySelector('#kept').textContent.includes('those of good again')")
			v.fits()
			if err := c.Class(t.Context(), "late"); err != nil {
				t.Fatal(err)
			}
			v.wait("document.querySelector('#news').textContent.includes('late')")
		})
	}
}

// TestPageChangesClasses: by the keyboard alone, an administrator renames a class, splits off pictures that are chosen,
// merges and removes, each after a question that says how many labels change; who may only label sees no form for it.
func TestPageChangesClasses(t *testing.T) {
	b := browsertest.Start(t)
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			tokens := filepath.Join(t.TempDir(), "tokens")
			secrets := map[api.Role]string{}
			for _, role := range []api.Role{api.RoleLabel, api.RoleAdmin} {
				token, secret, err := api.NewToken(role.String(), role, 0)
				if err == nil {
					err = serve.AddToken(tokens, token)
				}
				if err != nil {
					t.Fatal(err)
				}
				secrets[role] = secret
			}
			o := options(t)
			o.Page, o.Daemon.HeldOut, o.Tokens = page.Handler(), 0, tokens
			address, _ := run(t, o)
			c, err := client.New(address, client.Options{Token: secrets[api.RoleAdmin]})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 18 {
				if _, err := c.Learn(t.Context(), picture(i), []string{"cat", "dog", "spider"}[i%3],
					client.Learn{Raw: true, Wait: i == 17}); err != nil {
					t.Fatal(err)
				}
			}
			at, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			visit := func(role api.Role) visitor { // by a proxy that has logged in
				proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
					r.SetURL(at)
					r.Out.Host = r.In.Host
					r.Out.Header.Set("Authorization", "Bearer "+secrets[role])
				}})
				t.Cleanup(func() { _ = proxy.Config.Close() }) // as in TestPageByKeyboard
				v := visitor{t, b.Visit(t, proxy.URL+"/", size[0], size[1])}
				v.run(chromedp.Evaluate("location.hash='classes'", nil))
				v.wait("document.querySelectorAll('#class-rows tr').length===3")
				return v
			}
			v := visit(api.RoleLabel)
			v.wait("performance.getEntriesByType('resource').some(e=>e.name.endsWith('v1/session') && e.responseEnd>0)")
			v.wait("document.querySelector('#change-class').hidden")
			v = visit(api.RoleAdmin)
			v.wait("!document.querySelector('#change-class').hidden")
			v.fits()
			browsertest.Shoot(t, v.ctx, "serve-change-"+name)
			browsertest.Accessible(t, v.ctx)
			// change chooses in the lists by the first letters of what is in them, and waits for the question
			change := func(of, how, to, question string) {
				t.Helper()
				v.run(chromedp.Focus("#class-of", chromedp.ByQuery), chromedp.KeyEvent(of))
				v.press(kb.Tab)
				v.run(chromedp.KeyEvent(how))
				if to != "" {
					v.press(kb.Tab)
					v.run(chromedp.KeyEvent(to))
				}
				v.press(kb.Tab, kb.Enter)
				v.wait(fmt.Sprintf("document.querySelector('#sure').open && document.querySelector('#question').textContent.startsWith(%q)",
					question))
			}
			classes := func(want ...string) {
				t.Helper()
				v.wait("document.querySelector('#added').textContent.startsWith('Done.')")
				v.wait(fmt.Sprintf("[...document.querySelectorAll('#class-rows td:first-child')].map(e=>e.textContent).sort().join()===%q",
					strings.Join(want, ",")))
			}
			change("cat", "rename", "big cat", "Rename cat to big cat? It changes the labels of 6 pictures.")
			v.fits()
			browsertest.Shoot(t, v.ctx, "serve-sure-"+name)
			v.press(kb.Enter) // Cancel
			v.wait("!document.querySelector('#sure').open")
			v.run(chromedp.Evaluate("document.querySelector('#class-to').value=''", nil))
			change("cat", "rename", "big cat", "Rename cat to big cat? It changes the labels of 6 pictures.")
			v.press(kb.Tab, kb.Enter)
			classes("big cat", "dog", "spider")
			change("dog", "merge", "big", "Make dog a part of big cat? It changes the labels of 6 pictures. All versions that are kept go")
			v.press(kb.Tab, kb.Enter)
			classes("big cat", "spider")
			v.run(chromedp.Evaluate("location.hash='label'", nil), chromedp.Evaluate(
				"{const f=document.querySelector('#filter');f.value='labelled';f.dispatchEvent(new Event('change'));document.querySelector('#of').value='big cat';document.querySelector('#of').dispatchEvent(new Event('change'))}", nil))
			v.tiles(12)
			v.run(chromedp.Focus("#grid", chromedp.ByQuery))
			v.press(" ", kb.ArrowRight, " ")
			v.wait("document.querySelectorAll('.tile[aria-selected=true]').length===2")
			v.run(chromedp.Evaluate("location.hash='classes'", nil))
			change("big", "split", "lynx", "Make a new class lynx of big cat? It changes the labels of 2 pictures of 12.")
			v.press(kb.Tab, kb.Enter)
			classes("big cat", "lynx", "spider")
			change("spider", "remove", "", "Remove spider? It erases 6 pictures everywhere. All versions that are kept go")
			v.press(kb.Tab, kb.Enter)
			classes("big cat", "lynx")
			v.fits()
		})
	}
}
