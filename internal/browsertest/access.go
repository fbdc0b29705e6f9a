package browsertest

import (
	"context"
	"os"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Accessible fails the test for what axe-core finds on the page that is open in a context of [Browser.Visit], and
// unless the tabulator comes to everything that can be used. Nothing on the page may have had the focus yet.
func Accessible(t testing.TB, ctx context.Context) {
	t.Helper()
	v := &view{t: t, ctx: ctx}
	v.run(chromedp.Evaluate(checks, nil)) // the page may have been loaded anew since it was visited
	v.axe()
	v.walk()
}

// Plain fails the test unless the page at an address reads with scripts off: its tables have all their rows, its
// figures show something, and nothing is wider than the page.
func (b *Browser) Plain(t testing.TB, address string, width int64) {
	t.Helper()
	v := b.tab(t, address)
	defer v.told()
	v.run(
		emulation.SetDeviceMetricsOverride(width, 900, 1, false),
		emulation.SetScriptExecutionDisabled(true),
		chromedp.Navigate(address),
	)
	// In one step, as a page may load itself anew at any time.
	for _, fault := range v.faults(checks + "ocl.plain().concat(ocl.overflow())") {
		t.Error(fault)
	}
}

// axe fails the test for each fault of accessibility that axe-core does not call minor. OCL_AXE names its script, which
// tools/web pins.
func (v *view) axe() {
	v.t.Helper()
	path := os.Getenv("OCL_AXE")
	if path == "" {
		v.t.Log("NOT RUN: OCL_AXE does not name the script of axe-core, so it has not looked at the page")
		return
	}
	script, err := os.ReadFile(path)
	if err != nil {
		v.t.Fatal(err)
	}
	var found []string
	v.run(chromedp.Evaluate(string(script), nil), chromedp.Evaluate("ocl.serious()", &found, awaited))
	for _, fault := range found {
		v.t.Error(fault)
	}
}

// walk presses the tabulator from the top of the page, and holds that it comes to everything that can be used, in the
// order of the page, that the focus is seen there, and that nothing else waits for a click.
func (v *view) walk() {
	v.t.Helper()
	for _, fault := range v.faults("ocl.mouseOnly()") {
		v.t.Error(fault)
	}
	for i, name := range v.faults("ocl.stopNames()") {
		var at struct {
			Stop int
			Seen bool
		}
		v.run(chromedp.KeyEvent(kb.Tab), chromedp.Evaluate("ocl.at()", &at))
		if at.Stop != i {
			v.t.Errorf("pressed %d times, the tabulator is at stop %d, want %s", i+1, at.Stop, name)
			return
		}
		if !at.Seen {
			v.t.Errorf("the focus is not seen on %s", name)
		}
	}
}
