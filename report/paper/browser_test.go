package paper

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ocl/config"
)

// watch is put before the page's own script: it collects errors.
const watch = `<script>window.faults=[];window.addEventListener("error",function(e){faults.push(String(e.message||e.target.src||e.target.href))},true);
["error","warn"].forEach(function(k){var was=console[k];console[k]=function(){faults.push(k+": "+Array.from(arguments).join(" "));was.apply(console,arguments)}});</script>`

// around shows the page in a frame, as no window of Chromium is narrower than 500 pixels, and writes down what comes from it.
const around = `<!doctype html><html><body style="margin:0"><script>addEventListener("message",function(e){
var out=document.createElement("pre");out.id="seen";out.textContent=e.data;document.body.append(out)})</script>
<iframe src="paper.html" style="border:0;width:%dpx;height:900px"></iframe></body></html>`

// look is put behind it: it uses the page as a person does, and tells the page around it what it saw.
const look = `<script>window.addEventListener("load",function(){
var seen={width:innerWidth,faults:faults,sorted:0,unsorted:[],bare:[],wide:[],figures:0,tables:0};
document.querySelectorAll("table.sort").forEach(function(t){
  seen.tables++;
  var heads=t.tHead.rows[t.tHead.rows.length-1].cells,k=heads.length-1,button=heads[k].querySelector("button");
  if(!button||button.tabIndex<0){seen.unsorted.push("no button: "+t.parentNode.getAttribute("aria-label"));return}
  button.focus();button.click();
  var v=Array.from(t.tBodies[0].rows,function(r){var c=r.cells[k];return "v" in c.dataset?c.dataset.v:c.textContent}).filter(function(x){return x!==""});
  var ok=heads[k].getAttribute("aria-sort")==="ascending"&&v.every(function(x,i){return i===0||(isNaN(x)||isNaN(v[i-1])?v[i-1].localeCompare(x)<=0:+v[i-1]<=+x)});
  if(ok){seen.sorted++}else{seen.unsorted.push(t.parentNode.getAttribute("aria-label")+": "+v.join(" "))}
});
document.querySelectorAll("svg.fig").forEach(function(s){
  seen.figures++;
  var t=s.querySelector("title"),d=s.querySelector("desc");
  if(!t||!t.textContent||!d||d.textContent.length<20){seen.bare.push(s.outerHTML.slice(0,120))}
});
var end=document.documentElement.clientWidth+1;
document.querySelectorAll("body *").forEach(function(e){
  if(e.closest(".scroll")||e.closest("svg")||e.closest("details:not([open])")||!e.getClientRects().length){return}
  if(e.getBoundingClientRect().right>end){seen.wide.push(e.tagName+"."+e.className+" "+Math.round(e.getBoundingClientRect().right))}
});
if(document.documentElement.scrollWidth>end){seen.wide.push("document "+document.documentElement.scrollWidth)}
parent.postMessage(JSON.stringify(seen),"*");
});</script>`

// TestBrowser uses the page in Chromium at two widths: no error in the console, every table sorts, every figure has a title and a description,
// and nothing is wider than the window but what scrolls by itself.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && browser == "" {
			browser = path
		}
	}
	if browser == "" {
		t.Skip("Chromium is not installed")
	}
	dir := t.TempDir()
	for i, spec := range specs(t) {
		write(t, dir, fmt.Sprintf("%d.json.gz", i), fake(spec, 1, config.EvalAll))
	}
	p, err := build(mustRead(t, dir), Options{Beside: true})
	if err != nil {
		t.Fatal(err)
	}
	page, err := p.page()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(page), "<style>", watch+"<style>", 1)
	text = strings.Replace(text, "</body>", look+"</body>", 1)
	path := filepath.Join(t.TempDir(), "paper.html")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{360, 1440} {
		frame := filepath.Join(filepath.Dir(path), "frame.html")
		if err := os.WriteFile(frame, fmt.Appendf(nil, around, width), 0o666); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir="+t.TempDir(),
			"--window-size=1440,900", "--virtual-time-budget=20000", "--dump-dom", "file://"+frame)
		dom, err := cmd.Output()
		if err != nil {
			t.Skipf("Chromium cannot run here: %v", err)
		}
		m := regexp.MustCompile(`(?s)<pre id="seen">(.*?)</pre>`).FindSubmatch(dom)
		if m == nil {
			t.Fatalf("%d pixels: the page has %d bytes and no report of the script", width, len(dom))
		}
		var seen struct {
			Width, Sorted, Figures, Tables int
			Faults, Unsorted, Bare, Wide   []string
		}
		if err := json.Unmarshal([]byte(strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">").Replace(string(m[1]))), &seen); err != nil {
			t.Fatal(err)
		}
		if seen.Width != width || seen.Tables < 12 || seen.Sorted != seen.Tables || seen.Figures < 40 {
			t.Errorf("%d pixels: %d wide, %d of %d tables sort, %d figures", width, seen.Width, seen.Sorted, seen.Tables, seen.Figures)
		}
		for what, list := range map[string][]string{"faults": seen.Faults, "unsorted": seen.Unsorted, "figures without title or description": seen.Bare, "too wide": seen.Wide} {
			if len(list) > 0 {
				t.Errorf("%d pixels: %s: %q", width, what, list[:min(5, len(list))])
			}
		}
	}
}
