package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is one that answers as a daemon does, and counts.
type server struct {
	mu        sync.Mutex
	predicted int // requests
	learned   int // pictures
	ids       map[string]bool
	classes   map[string]bool
	bad       []string
	stall     time.Duration // of the first prediction of the load, for which all others wait
	most      int           // pictures that it takes; 0 is any number
}

func (s *server) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	refuse := func(text string, args ...any) {
		s.bad = append(s.bad, fmt.Sprintf(text, args...))
		http.Error(to, text, http.StatusBadRequest)
	}
	if err != nil || r.Header.Get("Authorization") != "Bearer secret" {
		refuse("%v, token %q", err, r.Header.Get("Authorization"))
		return
	}
	switch path := r.URL.Path; {
	case path == "/v1/predictions" && r.Header.Get("Content-Type") == "image/jpeg":
		if m, err := jpeg.Decode(bytes.NewReader(body)); err != nil || m.Bounds().Dx() != 640 {
			refuse("picture %v", err)
			return
		}
		s.predicted++
	case path == "/v1/predictions":
		if len(body) != 2*3*8*8 {
			refuse("%d bytes", len(body))
			return
		}
		if s.learned == 0 {
			http.Error(to, "nothing has been learned yet", http.StatusConflict)
			return
		}
		if s.predicted++; s.predicted == 2 { // the first is asked to find out whether it can
			time.Sleep(s.stall)
		}
	case path == "/v1/samples":
		if !s.classes[r.URL.Query().Get("label")] || len(body)%(3*8*8) != 0 {
			refuse("label %q, %d bytes", r.URL.Query().Get("label"), len(body))
			return
		}
		if s.most > 0 && s.learned >= s.most {
			to.Header().Set("Retry-After", "5")
			to.WriteHeader(http.StatusTooManyRequests)
			return
		}
		s.learned += len(body) / (3 * 8 * 8)
		if id := r.URL.Query().Get("id"); id != "" {
			if s.ids[id] {
				refuse("the id %s came twice", id)
			}
			s.ids[id] = true
		}
		to.WriteHeader(http.StatusAccepted)
	case path == "/v1/classes":
		var c struct{ Name string }
		if err := json.Unmarshal(body, &c); err != nil || c.Name == "" {
			refuse("class %v", err)
			return
		}
		s.classes[c.Name] = true
	case path == "/v1/status":
		var status Status
		status.Samples.Learned, status.Memory.Bytes, status.Disk.Journal = int64(s.learned), 77, 5
		_ = json.NewEncoder(to).Encode(status)
	default:
		refuse("path %s", path)
	}
}

func ran(t *testing.T, s *server, o Options) *Report {
	t.Helper()
	s.ids, s.classes = map[string]bool{}, map[string]bool{}
	at := httptest.NewServer(s)
	defer at.Close()
	o.URL, o.Token, o.Channels, o.Size = at.URL, "secret", 3, 8
	rep, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.bad) > 0 || rep.Predictions.Failed+rep.Labels.Failed > 0 {
		t.Errorf("%d bad requests: %v; %s %s", len(s.bad), s.bad, rep.Predictions.Fault, rep.Labels.Fault)
	}
	if rep.MostMemory != 77 || rep.MostDisk != 5 {
		t.Errorf("memory %d, disk %d", rep.MostMemory, rep.MostDisk)
	}
	return rep
}

// TestLatencyCountsFromTheIntendedInstant: a server that stands still at its first request is charged for all that were
// meant to go meanwhile. A loop that waits for each answer before it sends again would see one slow request.
func TestLatencyCountsFromTheIntendedInstant(t *testing.T) {
	const stall = 500 * time.Millisecond
	rep := ran(t, &server{stall: stall}, Options{Predictions: 100, Batch: 2, For: 700 * time.Millisecond})
	p := rep.Predictions
	if p.Sent < 60 || p.Answered != p.Sent || p.Refused != 0 || rep.Labels.Sent != 0 {
		t.Errorf("%+v", rep)
	}
	// Half of 70 requests were meant more than 150 ms before the end of the stall.
	if p.P50 < 120 || p.Max < 490 || p.P99 > p.Max || p.P90 > p.P99 || p.P50 > p.P90 {
		t.Errorf("p50 %.0f, p90 %.0f, p99 %.0f, max %.0f ms after a stall of %v", p.P50, p.P90, p.P99, p.Max, stall)
	}
}

// TestWhatIsSent: labels have ids of their own and classes that were made; a feed goes on until it is refused, and then
// tries again.
func TestWhatIsSent(t *testing.T) {
	s := &server{}
	rep := ran(t, s, Options{Predictions: 20, JPEG: true, Labels: 50, Warm: 100 * time.Millisecond,
		For: 400 * time.Millisecond})
	if rep.Picture != "jpeg" || rep.Predictions.Answered == 0 || rep.Labels.Answered == 0 ||
		len(s.ids) <= rep.Labels.Answered || len(s.classes) != classes {
		t.Errorf("%+v with %d ids and %d classes", rep, len(s.ids), len(s.classes))
	}
	s = &server{most: 200}
	rep = ran(t, s, Options{Feed: true, Batch: 2, For: 300 * time.Millisecond})
	if s.learned != 200 || rep.Labels.Answered != 10 || rep.Labels.Refused < 1 || rep.Learned < 0 {
		t.Errorf("%d were learned: %+v", s.learned, rep)
	}
}

// TestFlood: as many predictions as are answered.
func TestFlood(t *testing.T) {
	s := &server{}
	rep := ran(t, s, Options{Flood: true, Batch: 2, For: 300 * time.Millisecond})
	if p := rep.Predictions; p.Answered < flooding || p.Answered+1 != s.predicted || p.P50 <= 0 || rep.Labels.Sent > 0 {
		t.Errorf("%+v of %d", p, s.predicted)
	}
}

// TestNobodyAnswers: an address without a daemon is an error that says so.
func TestNobodyAnswers(t *testing.T) {
	for _, o := range []Options{{URL: "http://127.0.0.1:1", Predictions: 1, For: time.Millisecond},
		{URL: "http://127.0.0.1:1", Labels: 1, For: time.Millisecond}} {
		o.Channels, o.Size = 1, 8
		if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
			t.Errorf("error %v", err)
		}
	}
}

func TestPercentile(t *testing.T) {
	var times []time.Duration
	for n := range 100 {
		times = append(times, time.Duration(n+1)*time.Millisecond)
	}
	for share, want := range map[float64]float64{0.5: 50, 0.9: 90, 0.99: 99, 1: 100, 0: 1, 0.501: 51} {
		if got := percentile(times, share); got != want {
			t.Errorf("percentile %g of 1 to 100 ms is %g, want %g", share, got, want)
		}
	}
	if got := percentile(nil, 0.5); got != 0 {
		t.Errorf("of none: %g", got)
	}
}
