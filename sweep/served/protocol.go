package served

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ocl/internal/limit"
	"ocl/run/progress"
	"ocl/sweep/study"
)

// version is the version of the messages. A worker of another version is refused.
const version = "1"

const (
	// maxAge is how long a claim lasts that nobody renews.
	maxAge = study.StaleAfter
	// usualLook is how often the holder looks at the folder, and a worker whether the server answers.
	usualLook = 5 * time.Second
	// opTime is how long the server may take for an answer.
	opTime = 10 * time.Second
	// patience is how long a process that was asked to end tries to hand over what it has.
	patience = time.Minute
	// partBytes is the size of a part of a bundle. Larger ones, or many at once, make the server run out of its buffers.
	partBytes = 512 << 10
)

// Keys of the bucket of settings.
const (
	versionKey   = "version"
	epochKey     = "epoch" // another one after everything was made anew
	cancelledKey = "cancelled"
	refusedKey   = "refused." // and the name of a worker
)

// failedHeader says that the message of a result has the error of a job that has failed.
const failedHeader = "Ocl-Failed"

// byDeaths is its value if attempts have died, and not this one.
const byDeaths = "deaths"

// studyBundle is the bundle with the files of the study.
const studyBundle = "study.files"

// isName says whether a text, such as the key of a job or the name of a worker, can be a part of a subject.
func isName(text string) bool {
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}
	return text != "" && len(text) <= 128 && !strings.ContainsFunc(text, other)
}

// Headers of a message with a result.
const (
	// bundleHeader says that the message has the manifest of a bundle from the process of this name, and not the files
	// themselves.
	bundleHeader = "Ocl-Bundle"
	// errorHeader has the error of an answer.
	errorHeader = "Ocl-Error"
)

// names makes the names of one study's streams, buckets and subjects. All begin with the study's word, so that several
// studies can share a server.
type names string

func (n names) settings() string { return "ocl-" + string(n) + "-study" }
func (n names) claims() string   { return "ocl-" + string(n) + "-claims" }
func (n names) jobs() string     { return "ocl-" + string(n) + "-jobs" }
func (n names) ends() string     { return "ocl-" + string(n) + "-ends" }
func (n names) results() string  { return "ocl-" + string(n) + "-results" }
func (n names) bundles() string  { return "ocl-" + string(n) + "-bundles" }

// result is the subject of the results of a job from the process of a token; "*" is any.
func (n names) result(from, key string) string {
	return "ocl." + string(n) + ".result." + from + "." + key
}

// bundle is the subject of the newest manifest of a bundle from a process; its parts lie below it.
func (n names) bundle(from, name string) string {
	return "ocl." + string(n) + ".bundle." + from + "." + name
}

// end is the subject of how a job has ended.
func (n names) end(key string) string { return "$KV." + n.ends() + "." + key }

// setting is the subject of one fact that the holder states about the study.
func (n names) setting(key string) string { return "$KV." + n.settings() + "." + key }

// sender is the word of the subject of a result or a bundle that stands for the process.
func (n names) sender(subject string) string { return strings.Split(subject+"....", ".")[3] }

// savedOf is the bundle with what was saved of a job, and resultOf that with a result too large for a message.
func savedOf(key string) string  { return key + "." + savedKind }
func resultOf(key string) string { return key + "." + resultKind }

const savedKind, resultKind = "saved", "result"

// dataOf is the bundle with data of a digest that are lent.
func dataOf(digest string) string { return "data." + wordOf(digest) }

// ask is the subject of a question of a process to the holder, for the result of a job.
func (n names) ask(from, key string) string { return "ocl." + string(n) + ".ask." + from + "." + key }

// Phases of a job beside those of package study.
const (
	phaseReleased = "released" // it was given back
	phaseHanded   = "handed"   // its result, or why it has failed, is on the way to the holder
)

// record is the entry of a job in the bucket of jobs. Any worker may write it, so nothing in it is trusted. A job
// without a record was not begun.
type record struct {
	Phase         string `json:"phase,omitempty"` // progress.Begun, phaseReleased or phaseHanded
	Worker        string `json:"worker,omitempty"`
	study.Attempt        // the last one; its step is that of what was saved
}

// recordOf reads a record. One that is damaged is none.
func recordOf(text []byte) (r record) {
	if json.Unmarshal(text, &r) != nil || r.Number < 0 || r.Start < 0 || r.Deaths < 0 || r.Step < 0 ||
		!known(r.Worker, r.Host) ||
		r.Phase != progress.Begun && r.Phase != phaseReleased && r.Phase != phaseHanded {
		return record{}
	}
	return r
}

// known says whether a record can come from a worker: others have longer names.
func known(worker, host string) bool {
	return (worker == "" || isName(worker)) && len(host) <= limit.ServedHost
}

// end says how a job has ended. Only the holder writes it, from the folder, and signs it.
type end struct {
	Phase    string   `json:"phase"` // progress.Done or progress.Failed
	Host     string   `json:"host,omitempty"`
	Step     int      `json:"step,omitempty"`
	Attempt  int      `json:"attempt,omitempty"`
	Outcome  string   `json:"outcome,omitempty"`
	Error    string   `json:"error,omitempty"`
	Accuracy *float64 `json:"accuracy,omitempty"`
}

// endOf is the end of a job as the folder has it; ended is false if it has none.
func endOf(st progress.State) (e end, ended bool) {
	if st.Phase != progress.Done && st.Phase != progress.Failed {
		return end{}, false
	}
	return end{st.Phase, st.Progress.Host, st.Progress.Step, st.Attempt, st.Outcome, cut(st.Error), st.Accuracy}, true
}

func (e end) state() progress.State {
	return progress.State{Phase: e.Phase, Outcome: e.Outcome, Accuracy: e.Accuracy, Attempt: e.Attempt, Error: e.Error,
		Progress: progress.Progress{Host: e.Host, Step: e.Step}}
}

// readEnd reads an end. One that is damaged is none.
func readEnd(text []byte) (e end) {
	if json.Unmarshal(text, &e) != nil || e.Phase != progress.Done && e.Phase != progress.Failed {
		return end{}
	}
	return e
}

// cut is a text of a length that a message may have.
func cut(text string) string {
	if len(text) <= limit.ServedError {
		return text
	}
	return strings.ToValidUTF8(text[:limit.ServedError], "") + " …"
}

// state returns how far a job is that has no worker and has not ended.
func (r record) state() progress.State {
	switch r.Phase {
	case phaseHanded: // the holder is about to take it
		return progress.State{Phase: progress.Running, Attempt: r.Number, Progress: r.Progress}
	}
	if r.Phase == "" || r.Phase == phaseReleased && r.Step == 0 {
		return progress.State{Phase: progress.Waiting}
	}
	return progress.State{Phase: progress.Begun, Attempt: r.Number, Progress: progress.Progress{Step: r.Step}}
}

// held is the value of a claim.
type held struct {
	Worker string `json:"worker"`
	progress.Progress
}

func heldOf(text []byte) (h held) {
	if json.Unmarshal(text, &h) != nil || !known(h.Worker, h.Host) {
		return held{}
	}
	return h
}

// manifest lists the parts of a bundle. It is sent after them.
type manifest struct {
	Word   string `json:"word"` // in the subjects of the parts
	Parts  int    `json:"parts"`
	Size   int64  `json:"size"` // in bytes
	SHA256 string `json:"sha256"`
	Step   int    `json:"step"` // of the run
	from   string // the process that has put it
}

func manifestOf(text []byte) (m manifest, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("the manifest is damaged: %w", err)
	}
	if !isName(m.Word) || m.Parts < 1 || m.Parts > 1<<20 || m.Size < 1 || m.Size > int64(m.Parts)*partBytes ||
		m.Step < 0 || len(m.SHA256) != 64 {
		return m, errors.New("the manifest is damaged")
	}
	return m, nil
}

// most is the bound of the files of a bundle together, in bytes. Memories that are still empty compress better than
// others.
func (m manifest) most() int64 { return limit.ServedResult + 20*m.Size }

// encoded is v as JSON; the types here have no value that has none.
func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// gone says that a bucket, a stream or a message is not there.
func gone(err error) bool {
	return errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrMsgNotFound) || missing(err)
}

// missing says that a bucket or a stream is not there, which the holder makes again.
func missing(err error) bool {
	return errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, nats.ErrNoResponders)
}
