package serve_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"ocl/internal/browsertest"
)

var (
	hour = flag.String("hour", "", "the address of a daemon whose pictures TestPageHour labels; \"\" is one of its own. "+
		"Its pictures wait, with ids that begin with their class and a comma, and it has no more than nine classes")
	hourPictures = flag.Int("hourpictures", 300, "how many pictures TestPageHour labels")
)

// looking is how long a person looks at a picture before a key is pressed.
const looking = 1500 * time.Millisecond

// watchKeys notes how long it takes from a key until the next picture is drawn, in milliseconds. Behind the last
// of so many pictures there may be none.
const watchKeys = `window.hour = [];
document.addEventListener("keydown", (e) => {
	const picture = () => document.querySelector("#big img");
	const before = picture()?.src;
	const look = () => {
		const now = picture();
		const there = document.querySelector(".tile") !== null;
		if (there ? now === null || now.src === before || !now.complete || now.naturalWidth === 0 : window.hour.length < %d - 1) {
			requestAnimationFrame(look);
		} else {
			requestAnimationFrame(() => window.hour.push(performance.now() - e.timeStamp));
		}
	};
	look();
}, true)`

// TestPageHour labels pictures by the keyboard alone, as a person would in an hour, without the time of looking. It
// logs how long the page keeps a person waiting after each key, and how many pictures a minute that leaves to somebody
// who looks at each for 1.5 s. All labels are those that were pressed.
func TestPageHour(t *testing.T) {
	b := browsertest.Start(t)
	address := *hour
	if address == "" {
		at, client := served(t, 0)
		address = at
		for k := range 3 {
			if err := client.Class(t.Context(), fmt.Sprint("class ", k)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range *hourPictures {
			body := fmt.Appendf(nil, `{"pictures":[{"raw":%q,"id":"class %d,%d"}]}`,
				base64.StdEncoding.EncodeToString(picture(i)), i%3, i)
			answer, err := http.Post(address+"/v1/predictions?remember=true", "application/json", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
				t.Fatal(answer.Status, err)
			}
		}
	}
	v := visitor{t, b.Visit(t, address+"/", 1440, 900)}
	v.wait("document.querySelectorAll('#keys button').length>0 && document.querySelectorAll('.tile').length>0 && [...document.images].every(i=>i.complete)")
	v.run(chromedp.Evaluate(fmt.Sprintf(watchKeys, *hourPictures), nil))
	var classes []string
	v.run(chromedp.Evaluate("[...document.querySelectorAll('#keys button')].map(b=>b.textContent.slice(2))", &classes))
	began := time.Now()
	for n := range *hourPictures {
		var id string
		v.run(chromedp.Evaluate("document.querySelector('.tile.at').dataset.id", &id))
		class, _, _ := strings.Cut(id, ",")
		k := slices.Index(classes, class)
		if k < 0 {
			t.Fatalf("the picture %s is of none of the classes %q", id, classes)
		}
		v.run(chromedp.KeyEvent(strconv.Itoa(k+1)), chromedp.Evaluate(
			fmt.Sprintf("new Promise((done)=>{const f=()=>window.hour.length>%d?done(true):setTimeout(f,2);f()})", n), nil,
			func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	}
	took := time.Since(began)
	var waits []float64
	v.run(chromedp.Evaluate("window.hour", &waits))
	sum := 0.0
	for _, w := range waits {
		sum += w
	}
	slices.Sort(waits)
	whole := time.Duration(sum*float64(time.Millisecond)) + time.Duration(len(waits))*looking
	t.Logf("%d pictures by the keyboard: a key keeps one waiting for %.0f ms (median), %.0f ms (p99), %.0f ms at most; with %v of looking that is %v, %.1f pictures a minute (the browser was driven for %v)",
		len(waits), waits[len(waits)/2], waits[len(waits)*99/100], waits[len(waits)-1], looking, whole.Round(time.Second),
		float64(len(waits))/whole.Minutes(), took.Round(time.Second))
	answer, err := http.Get(address + "/v1/samples?filter=labelled&count=1000")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got struct {
		Total   int
		Samples []struct{ ID, Label string }
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	for _, s := range got.Samples {
		if class, _, _ := strings.Cut(s.ID, ","); s.Label != class {
			t.Errorf("%s is labelled %s", s.ID, s.Label)
		}
	}
	if got.Total != *hourPictures {
		t.Errorf("%d pictures have a label, want %d", got.Total, *hourPictures)
	}
}
