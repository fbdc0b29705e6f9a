// Package load measures a daemon of `ocl serve`, or another server with the same requests, as clients see it: how long
// predictions and acknowledgements take, and how many pictures are learned meanwhile. It knows requests alone, and
// nothing of the engine.
//
// The load is an open loop. Requests have instants at which they are meant to go, at a steady rate, and a latency is
// counted from that instant. So a server that stands still for a second is charged for all requests of that second.
// Start at [Run].
package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Options of [Run].
type Options struct {
	URL   string // of the server, without a slash at its end
	Token string // "" is none

	Channels, Size int // of the pictures that the network sees

	Predictions float64 // requests a second; 0 is none
	Flood       bool    // in place of Predictions: as many as are answered, some at a time
	Batch       int     // pictures in one, as raw pixels
	JPEG        bool    // photographs of 640×480 in place of raw pixels, one in a request

	Labels float64 // labelled pictures a second, one in a request; 0 is none
	Feed   bool    // in place of Labels: as many as the server takes, so that its learning never pauses

	Warm, For time.Duration     // before the measurement, and of it
	Watch     func(Status)      // called about each second; may be nil
	Client    http.RoundTripper // nil is one with connections that stay open
}

// Status is what /v1/status says, as far as it is measured.
type Status struct {
	Samples struct {
		Learned int64 `json:"learned"`
		Waiting int64 `json:"waiting"`
	} `json:"samples"`
	Memory struct {
		Bytes int64 `json:"bytes"` // of the process
	} `json:"memory"`
	Disk struct {
		Journal   int64 `json:"journal"`
		Snapshots int64 `json:"snapshots"`
	} `json:"disk"`
}

// Report is what was measured.
type Report struct {
	URL         string  `json:"url"`
	Seconds     float64 `json:"seconds"`
	Picture     string  `json:"picture"` // what a prediction was asked for: "raw" or "jpeg"
	Batch       int     `json:"batch"`
	Predictions Calls   `json:"predictions"` // of Flood, from the instant at which a request went
	Labels      Calls   `json:"labels"`      // acknowledgements; of Feed, from the instant at which a request went
	// Learned is how many pictures were learned a second.
	Learned float64 `json:"learned_per_second"`
	// MostMemory and MostDisk are the largest sizes that the server told, in bytes.
	MostMemory int64 `json:"most_memory_bytes"`
	MostDisk   int64 `json:"most_disk_bytes"`
}

// Calls are the requests of one kind.
type Calls struct {
	Sent      int     `json:"sent"`
	Answered  int     `json:"answered"`
	Refused   int     `json:"refused"` // with 429
	Failed    int     `json:"failed"`  // in any other way
	PerSecond float64 `json:"answered_per_second"`
	P50       float64 `json:"p50_ms"` // of the answered ones, in milliseconds; 0 without any
	P90       float64 `json:"p90_ms"`
	P99       float64 `json:"p99_ms"`
	Max       float64 `json:"max_ms"`
	Fault     string  `json:"fault,omitempty"` // the first failure
}

// Run sends requests for a time, and reports on those meant for the time after Warm.
func Run(ctx context.Context, o Options) (*Report, error) {
	l, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	defer l.http.CloseIdleConnections()
	begin := time.Now()
	l.from, l.until = begin.Add(o.Warm), begin.Add(o.Warm+o.For)
	var sending sync.WaitGroup
	l.predictions.measured, l.labels.measured = l.from, l.from
	if o.Flood {
		for k := range flooding {
			sending.Go(func() { l.flood(ctx, k) })
		}
	} else {
		sending.Go(func() { l.predictions.steadily(ctx, begin, l.until, o.Predictions, l.predict) })
	}
	if o.Feed {
		sending.Go(func() { l.feed(ctx) })
	} else {
		sending.Go(func() { l.labels.steadily(ctx, begin, l.until, o.Labels, l.label) })
	}
	first, last, err := l.observe(ctx)
	sending.Wait()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	rep := &Report{
		URL: o.URL, Seconds: o.For.Seconds(), Picture: "raw", Batch: max(1, o.Batch), Predictions: l.predictions.calls(o.For),
		Labels:     l.labels.calls(o.For),
		Learned:    float64(last.status.Samples.Learned-first.status.Samples.Learned) / last.at.Sub(first.at).Seconds(),
		MostMemory: l.memory, MostDisk: l.disk,
	}
	if o.JPEG {
		rep.Picture = "jpeg"
	}
	return rep, nil
}

// loader is a run.
type loader struct {
	o           Options
	http        *http.Client
	from, until time.Time // of the measurement
	predictions recorder
	labels      recorder
	bodies      [][]byte // of predictions
	kind        string   // their content type
	raw         [][]byte // pictures to be learned; picture i shows the class i modulo classes
	id          string   // begins the ids of this run
	number      atomic.Int64
	memory      int64
	disk        int64
}

// classes is how many classes the labelled pictures have.
const classes = 10

func prepare(ctx context.Context, o Options) (*loader, error) {
	if o.Client == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost, t.MaxIdleConns, t.DisableCompression = senders, 2*senders, true
		o.Client = t
	}
	l := &loader{o: o, http: &http.Client{Transport: o.Client, Timeout: time.Minute},
		id: fmt.Sprintf("load-%x-", time.Now().UnixNano())}
	l.raw = drawings(4*classes, o.Channels, o.Size)
	l.bodies, l.kind = batches(l.raw, max(1, o.Batch)), rawKind
	if o.JPEG {
		var err error
		if l.bodies, err = photographs(16); err != nil {
			return nil, err
		}
		l.kind = "image/jpeg"
	}
	empty := l.predict(ctx, 0)
	if o.Labels > 0 || o.Feed || empty != nil {
		for k := range classes {
			if _, err := l.post(ctx, "/v1/classes", "application/json",
				fmt.Appendf(nil, `{"name":%q}`, className(k))); err != nil {
				return nil, fmt.Errorf("load: making the class %s: %w", className(k), err)
			}
		}
	}
	if empty != nil {
		return l, l.teach(ctx)
	}
	return l, nil
}

// patience is how long a server may take to learn its first pictures.
const patience = time.Minute

// teach sends pictures of each class to a server that cannot predict yet, and returns when it can.
func (l *loader) teach(ctx context.Context) error {
	for k := range classes {
		if err := l.give(ctx, k); err != nil {
			return fmt.Errorf("load: teaching the class %s: %w", className(k), err)
		}
	}
	for end := time.Now().Add(patience); ; {
		err := l.predict(ctx, 0)
		if err == nil {
			return nil
		}
		if !sleep(ctx, time.Now().Add(pause)) {
			return ctx.Err()
		}
		if time.Now().After(end) {
			return fmt.Errorf("load: %s does not predict: %w", l.o.URL, err)
		}
	}
}

// seen is a status and when it was asked for.
type seen struct {
	at     time.Time
	status Status
}

// observe asks for the status at both ends of the measurement, and each second between them.
func (l *loader) observe(ctx context.Context) (first, last seen, err error) {
	for at := l.from; ; at = at.Add(time.Second) {
		if at.After(l.until) {
			at = l.until
		}
		if !sleep(ctx, at) {
			return first, last, ctx.Err()
		}
		last.at = time.Now()
		if last.status, err = l.status(ctx); err != nil {
			return first, last, fmt.Errorf("load: %s/v1/status: %w. Check the address", l.o.URL, err)
		}
		if first.at.IsZero() {
			first = last
		}
		l.memory = max(l.memory, last.status.Memory.Bytes)
		l.disk = max(l.disk, last.status.Disk.Journal+last.status.Disk.Snapshots)
		if l.o.Watch != nil {
			l.o.Watch(last.status)
		}
		if !at.Before(l.until) {
			return first, last, nil
		}
	}
}
