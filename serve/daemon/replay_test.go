package daemon

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"ocl/serve/journal"
)

// TestReplayIsTold: the log of a start has the snapshot from which it went on, how many events it applied and how many
// pictures it learned again, and how far it is at each tick.
func TestReplayIsTold(t *testing.T) {
	dir, o := t.TempDir(), small()
	o.HeldOut = 0
	d := open(t, dir, o)
	learn(t, d, samples(0, 20))
	applied(t, d)
	end(t, d)
	d = open(t, dir, o)
	learn(t, d, samples(20, 15))
	applied(t, d)
	killed := crashed(t, dir)
	snapshots, err := journal.Snapshots(killed).Numbers()
	if err != nil {
		t.Fatal(err)
	}
	newest, last := snapshots[len(snapshots)-1], d.journal.Last()
	var log logText
	o.Log = log.logger()
	d = open(t, killed, o)
	want := regexp.MustCompile(fmt.Sprintf(`msg="the state was made again" snapshot=%d events=%d pictures=15 seconds=[0-9.]+\n`,
		newest, last-newest))
	if text := log.String(); len(want.FindAllString(text, -1)) != 1 {
		t.Errorf("the log has no %v:\n%s", want, text)
	}
	tick := make(chan time.Time)
	stop := d.tellReplay(d.state, tick)
	tick <- time.Now()
	tick <- time.Now() // the first one was told
	stop()
	if want := fmt.Sprintf(`msg="the state is being made again" event=%d of=%d`, last, last); strings.Count(log.String(),
		want) != 2 {
		t.Errorf("the log has not twice %s:\n%s", want, log.String())
	}
}
