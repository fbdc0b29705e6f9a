// Package browsertest is for tests: it opens pages that ocl has written in Chromium and checks what only a browser can
// tell. Start at [Start] and [Browser.Check].
package browsertest

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed checks.js
var checks string

// widths in pixels: of a narrow phone and of a screen.
var widths = []int64{360, 1440}

// screens are the sizes of pictures: of a phone and of a screen.
var screens = [][2]int64{{390, 844}, {1440, 900}}

// tallest is the height of a picture that Chromium can take, in pixels. What lies below is left out.
const tallest = 16_000

// all makes Chromium draw a page also where it has not been scrolled to, as a picture of the whole page shows all of
// it.
const all = `document.head.append(Object.assign(document.createElement("style"), {textContent: "*{content-visibility:visible!important}"}))`

// schemes are the values of prefers-color-scheme.
var schemes = []string{"light", "dark"}

// Browser is a running Chromium.
type Browser struct{ ctx context.Context }

// Start starts Chromium for a test, and skips the test where none is found, or where the long tests are not wanted.
func Start(t testing.TB) *Browser {
	t.Helper()
	if os.Getenv("OCL_LONG") == "" && os.Getenv("OCL_SHOTS") == "" {
		t.Skip("neither OCL_LONG nor OCL_SHOTS is set; with the first a browser checks the page, with the second it leaves pictures in that folder")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("NOT RUN: there is no Chromium (`apt-get install chromium` installs one), so no browser has looked at the page")
	}
	// The pages are our own. In a container the sandbox of Chromium cannot start, and /dev/shm is small. The profile is
	// not in t.TempDir: processes of a Chromium that was stopped may still write to it for a moment, and then the test
	// fails as the folder cannot be removed.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.WSURLReadTimeout(2*time.Minute))
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, _ := chromedp.NewContext(allocated)
	t.Cleanup(func() {
		closing, end := context.WithTimeout(ctx, 30*time.Second)
		defer end()
		if err := chromedp.Cancel(closing); err != nil {
			t.Logf("closing Chromium: %v", err)
		}
	})
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("Chromium (%s) does not start: %v", path, err)
	}
	return &Browser{ctx}
}

// Check fails the test unless the page in a file loads without an error and without a network, its tables can be
// filtered, and sorted by mouse and by keyboard, the tabulator reaches all that can be used, and its figures have
// titles and descriptions. It looks at the page at the width of a phone and of a screen, light and dark: nothing may be
// wider than the page, all text must have enough contrast, axe-core may find nothing but trifles, each chart must say
// its values where it is looked into, and the sliders of heat maps must work. With scripts off tables and charts must
// still read.
func (b *Browser) Check(t *testing.T, path string) {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	b.shoot(t, path)
	if os.Getenv("OCL_LONG") == "" {
		return
	}
	for _, width := range widths {
		for _, scheme := range schemes {
			t.Run(fmt.Sprintf("%d pixels %s", width, scheme), func(t *testing.T) {
				v := b.open(t, path, width, 900, scheme)
				for _, fault := range v.faults("ocl.structure()") {
					t.Error(fault)
				}
				for _, fault := range v.faults("ocl.overflow()") {
					t.Error(fault)
				}
				for _, fault := range v.faults("ocl.contrast()") {
					t.Error(fault)
				}
				v.axe()
				if scheme == schemes[0] {
					v.walk() // before anything else has had the focus, from which it would go on
				}
				for _, fault := range v.faults("ocl.look()") {
					t.Error(fault)
				}
				for _, fault := range v.faults("ocl.deck()") {
					t.Error(fault)
				}
				if scheme == schemes[0] {
					for _, fault := range v.faults("ocl.triangles()") {
						t.Error(fault)
					}
					v.filter()
					v.sort()
				}
				v.told()
			})
		}
		t.Run(fmt.Sprintf("%d pixels without scripts", width), func(t *testing.T) { b.Plain(t, address(path), width) })
	}
}

// view is a page that is open.
type view struct {
	t    testing.TB
	ctx  context.Context
	from string // beginning of the addresses that the page may ask for

	mu   sync.Mutex
	tell []string // errors and warnings of the browser, and requests for the network
}

// tab is an empty tab, for a page that may ask for what begins so.
func (b *Browser) tab(t testing.TB, from string) *view {
	t.Helper()
	ctx, end := chromedp.NewContext(b.ctx)
	t.Cleanup(end)
	ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(stop)
	v := &view{t: t, ctx: ctx, from: from}
	chromedp.ListenTarget(ctx, v.hear)
	return v
}

// open opens a page in a tab of its own.
func (b *Browser) open(t testing.TB, path string, width, height int64, scheme string) *view {
	t.Helper()
	v := b.tab(t, "file:")
	v.visit(address(path), width, height, scheme)
	return v
}

// address is that of a file.
func address(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// Visit opens the page of a server, and returns the context in which chromedp acts on it. When the test ends it fails
// if the browser has reported something, or if the page has asked another server.
func (b *Browser) Visit(t *testing.T, address string, width, height int64) context.Context {
	t.Helper()
	v := b.tab(t, address)
	t.Cleanup(v.told)
	v.visit(address, width, height, schemes[0])
	return v.ctx
}

// Shoot writes a picture of what is seen into the folder that OCL_SHOTS names, for people; without it nothing.
func Shoot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	if dir := os.Getenv("OCL_SHOTS"); dir != "" {
		(&view{t: t, ctx: ctx}).picture(filepath.Join(dir, name+".png"),
			func(ctx context.Context) ([]byte, error) { return page.CaptureScreenshot().Do(ctx) })
	}
}

// visit loads a page.
func (v *view) visit(address string, width, height int64, scheme string) {
	v.t.Helper()
	v.run(
		page.BringToFront(), // Chromium neither draws nor clicks in a tab behind others
		network.Enable(), runtime.Enable(), log.Enable(),
		emulation.SetDeviceMetricsOverride(width, height, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.Navigate(address),
		chromedp.Evaluate(checks, nil),
	)
}

// hear collects errors, warnings, and requests for anything but files.
func (v *view) hear(event any) {
	say := func(format string, a ...any) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.tell = append(v.tell, fmt.Sprintf(format, a...))
	}
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		say("a script fails: %s", e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning || e.Type == runtime.APITypeAssert {
			for _, a := range e.Args {
				say("the console says: %s %s", a.Value, a.Description)
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			say("the browser says: %s (%s)", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, v.from) && !strings.HasPrefix(u, "data:") {
			say("the page asks for %s, but may ask for %s alone", u, v.from)
		}
	}
}

// told fails the test if the browser has reported something.
func (v *view) told() {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, text := range v.tell {
		v.t.Error(text)
	}
}

func (v *view) run(actions ...chromedp.Action) {
	v.t.Helper()
	if err := chromedp.Run(v.ctx, actions...); err != nil {
		v.t.Fatal(err)
	}
}

// faults runs a check of checks.js, which returns a list of texts.
func (v *view) faults(call string) []string {
	v.t.Helper()
	var found []string
	v.run(chromedp.Evaluate(call, &found))
	return found
}

// Times are the milliseconds from the address to the page that is drawn and has run its scripts, and from a click on a
// heading of its longest table to the sorted table that is drawn.
func (b *Browser) Times(t testing.TB, path string) (open, sort float64) {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	v := b.open(t, path, screens[1][0], screens[1][1], schemes[0])
	v.run(chromedp.Evaluate("ocl.opened()", &open, awaited), chromedp.Evaluate("ocl.sorting()", &sort, awaited))
	return open, sort
}

// awaited is for what returns a promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// Holds waits until an expression holds in a page, which is looked at whenever something in it changes or is loaded.
// What chromedp has for this makes a function of a text in the page, which the policy of a page forbids.
func Holds(what string) chromedp.Action {
	return chromedp.Evaluate(`new Promise(done => {
		const look = () => {
			if (!(`+what+`)) return;
			changes.disconnect();
			document.removeEventListener("load", look, true);
			done(true);
		};
		const changes = new MutationObserver(look);
		changes.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
		document.addEventListener("load", look, true);
		look();
	})`, nil, awaited)
}

// filter tries the filters of all tables, and whether the address of the page brings a filter back.
func (v *view) filter() {
	v.t.Helper()
	for _, fault := range v.faults("ocl.filter()") {
		v.t.Error(fault)
	}
	var said, again, address string
	v.run(chromedp.Evaluate("ocl.choose()", &said), chromedp.Location(&address))
	if said == "" {
		return
	}
	v.run(chromedp.Navigate(address), chromedp.Evaluate(checks, nil), chromedp.Evaluate("ocl.chosen()", &again))
	if again != said {
		v.t.Errorf("the address %s brings back the filter %q, want %q", address, again, said)
	}
	v.run(chromedp.Evaluate("history.replaceState(null, '', location.pathname)", nil), chromedp.Reload(),
		chromedp.Evaluate(checks, nil))
}

// spot is a button that sorts a table by a column.
type spot struct {
	Table, Column int
	Name          string
	X, Y          float64
}

// sort presses the button of each column of each table twice with the mouse, and those of the first column also with
// the keyboard. It holds that the rows are in order after each time.
func (v *view) sort() {
	v.t.Helper()
	var columns []spot
	v.run(chromedp.Evaluate("ocl.columns()", &columns))
	for _, c := range columns {
		for _, by := range []struct {
			name  string
			press func(spot) error
		}{{mouse, v.click}, {"the key Enter", v.enter}, {"the space bar", v.space}} {
			if c.Column > 0 && by.name != mouse {
				continue // the buttons are all made by the same code, and each press takes time
			}
			v.run(chromedp.Evaluate(fmt.Sprintf("ocl.shuffle(%d)", c.Table), nil))
			for _, order := range []string{"ascending", "descending"} {
				if err := by.press(c); err != nil {
					v.t.Fatal(err)
				}
				for _, fault := range v.faults(fmt.Sprintf("ocl.sorted(%d, %d, %q)", c.Table, c.Column, order)) {
					v.t.Errorf("after %s pressed %s: %s", by.name, c.Name, fault)
				}
			}
		}
	}
}

// mouse is the name of the mouse in messages.
const mouse = "the mouse"

// click clicks where the button is on the screen, and fails if something else lies there.
func (v *view) click(c spot) error {
	var at spot
	reach := chromedp.Evaluate(fmt.Sprintf("ocl.reach(%d, %d)", c.Table, c.Column), &at)
	// What comes into view is laid out then, and moves what is below it: so the place is taken again two frames later.
	frames := chromedp.Evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))",
		nil, awaited)
	if err := chromedp.Run(v.ctx, reach, frames, reach, frames, reach); err != nil {
		return err
	}
	return chromedp.Run(v.ctx, chromedp.MouseClickXY(at.X, at.Y))
}

func (v *view) enter(c spot) error { return v.key(c, kb.Enter) }
func (v *view) space(c spot) error { return v.key(c, " ") }

// key moves the focus to the button with the tab key, from the element before it, and presses a key there.
func (v *view) key(c spot, key string) error {
	var visible bool
	err := chromedp.Run(v.ctx,
		chromedp.Evaluate(fmt.Sprintf("ocl.before(%d, %d)", c.Table, c.Column), nil),
		chromedp.KeyEvent(kb.Tab),
		chromedp.Evaluate(fmt.Sprintf("ocl.focused(%d, %d)", c.Table, c.Column), &visible),
	)
	if err == nil && !visible {
		err = fmt.Errorf("the tabulator does not come to %s, or the focus cannot be seen", c.Name)
	}
	if err != nil {
		return err
	}
	return chromedp.Run(v.ctx, chromedp.KeyEvent(key))
}

// shoot writes pictures of a page into the folder that OCL_SHOTS names, for people; without it nothing. They are of the
// first screen and of the whole page, as on a phone and on a screen, light and dark, and of what is printed.
func (b *Browser) shoot(t *testing.T, path string) {
	t.Helper()
	dir := os.Getenv("OCL_SHOTS")
	if dir == "" {
		return
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	for _, screen := range screens {
		for _, scheme := range schemes {
			v := b.open(t, path, screen[0], screen[1], scheme)
			var height float64
			v.run(chromedp.Evaluate(all, nil), chromedp.Evaluate("document.documentElement.scrollHeight", &height))
			for part, height := range map[string]float64{"first": float64(screen[1]), "whole": min(height, tallest)} {
				v.picture(filepath.Join(dir, fmt.Sprintf("%s-%d-%s-%s.png", name, screen[0], scheme, part)),
					func(ctx context.Context) ([]byte, error) {
						clip := page.Viewport{Width: float64(screen[0]), Height: height, Scale: 1}
						return page.CaptureScreenshot().WithCaptureBeyondViewport(true).WithClip(&clip).Do(ctx)
					})
			}
		}
	}
	b.open(t, path, screens[1][0], screens[1][1], schemes[0]).picture(filepath.Join(dir, name+".pdf"),
		func(ctx context.Context) (pdf []byte, err error) {
			pdf, _, err = page.PrintToPDF().WithPreferCSSPageSize(true).Do(ctx)
			return pdf, err
		})
}

// picture writes what take makes of the page into a file.
func (v *view) picture(path string, take func(context.Context) ([]byte, error)) {
	v.t.Helper()
	var picture []byte
	v.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		picture, err = take(ctx)
		return err
	}))
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		v.t.Fatal(err)
	}
}
