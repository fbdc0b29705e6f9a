package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"ocl/live"
	"ocl/predict"
)

// Options of a daemon. 0 is the default of each number.
type Options struct {
	// Init is what an empty folder gets: the folder of a run, or a file of package live; "" makes a learner of Live.
	Init string
	Live live.Options // its Process applies at each start; the fields Batch, Age and Queue below replace its own

	Batch int           // images in a step; 0 is 10
	Age   time.Duration // after which a smaller batch is learned; 0 is 200 ms, and a negative one is never
	Queue int           // images that may wait to be learned; 0 is 1,000

	Remember      Remember
	NewClasses    bool          // an unknown label is a new class
	HeldOut       float64       // share of the samples that are not learned, at most 20 of a class
	IDs           int           // samples whose ids are known; 0 is 50,000. Those that were learned long ago go first
	Retain        bool          // keep all of the journal
	SnapshotEvery time.Duration // the most time of learning that a start repeats; 0 is 10 s
	// the most bytes of events since a snapshot, beside those of the pictures in it; 0 is 64 MB
	SnapshotBytes int64
	VersionEvery  int // pictures after which a version of the weights is kept; 0 is 1,000
	// after which a version is kept where something was learned since the last; 0 is 10 minutes
	VersionAge time.Duration
	Log        *slog.Logger // nil is none

	// Of tests.
	point  func(ctx context.Context, name string) // called by each goroutine before it does what others can see
	chance func() float64                         // whether a sample is held out
}

// Remember bounds the pictures that wait for their labels. Beyond it the oldest go of who has most of them.
type Remember struct {
	Count int           // 0 is 10,000
	Bytes int64         // of them as they are kept; 0 is 256 MB
	Age   time.Duration // 0 is a week
}

func (o Options) complete() Options {
	o.Batch = cmp.Or(o.Batch, 10)
	o.Age = cmp.Or(o.Age, 200*time.Millisecond)
	o.Queue = cmp.Or(o.Queue, 1000)
	o.IDs = cmp.Or(o.IDs, 50_000)
	o.Remember.Count = cmp.Or(o.Remember.Count, 10_000)
	o.Remember.Bytes = cmp.Or(o.Remember.Bytes, 256<<20)
	o.Remember.Age = cmp.Or(o.Remember.Age, 7*24*time.Hour)
	o.SnapshotEvery = cmp.Or(o.SnapshotEvery, 10*time.Second)
	o.SnapshotBytes = cmp.Or(o.SnapshotBytes, 64<<20)
	o.VersionEvery = cmp.Or(o.VersionEvery, 1000)
	o.VersionAge = cmp.Or(o.VersionAge, 10*time.Minute)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.point == nil {
		o.point = func(context.Context, string) {}
	}
	if o.chance == nil {
		o.chance = rand.Float64
	}
	return o
}

// Errors of calls. They say what is wrong and what to do.
var (
	ErrNoRoom     = errors.New("the disk of the daemon is full. Make room there; predictions go on")
	ErrConflict   = errors.New("the id has another picture or label already. Use another id")
	ErrNotFound   = errors.New("there is no sample of this id. Send the picture again")
	ErrNoVersion  = errors.New("the weights of that version are not kept. Look for those that are by GET /v1/versions")
	ErrSpoilt     = errors.New("the file of that version is damaged, so nobody can go back to it. Look for another one by GET /v1/versions")
	ErrSameName   = errors.New("another version has the name. Use another name")
	ErrSameClass  = errors.New("another class has the name; names are compared without case. Use another name, or merge the two")
	ErrOneClass   = errors.New("it is one class, and two are needed to make one of them. Give another one")
	ErrNoSamples  = errors.New("no sample is given. Give the ids of those that the new class gets")
	ErrOtherClass = errors.New("the sample is not of the class. Give those that are")
	ErrLastClass  = errors.New("it is the only class, and a learner has at least one. Make another one first")
	ErrExpired    = errors.New("the picture is not kept any more. Send it again, with its label")
	ErrNoPicture  = errors.New("the picture is not kept any more, so its label cannot be taken away. Give it another label, or forget it")
	ErrLabelled   = errors.New("the sample has a label, and only what waits for one is skipped or deleted. Take the label away first")
	ErrNobody     = errors.New("no sample that is known is meant, so nothing was erased. Look at the ids, the picture, the name or the times")
	ErrPutAside   = errors.New("no sample that is known is meant, and the journal that was put aside after damage may have what was left out of the new one, so its bytes may be there")
	ErrUnerased   = errors.New("it is forgotten, and its bytes are still in a file, as the disk of the daemon has no room. Make room there; then they are erased without another request")
	ErrForgotten  = errors.New("the sample was forgotten. Send the picture again under another id")
	ErrErased     = errors.New("the sample was erased before. Nothing is left to do")
	ErrDraining   = errors.New("the daemon is about to end. Send it again when it is back")
	ErrStopped    = errors.New("learning has stopped, and predictions go on. Look at the status of the daemon")
	ErrBroken     = errors.New("the disk of the daemon has failed. Start the daemon again")
	ErrFault      = errors.New("the method or its network has failed, and the daemon ends. Its log says how; what was acknowledged is learned by a start that can")
)

// FullError says that too many images wait to be learned.
type FullError struct{ After time.Duration } // until there is room, as fast as it learns now

func (e *FullError) Error() string {
	return fmt.Sprintf("too many pictures wait to be learned. Send it again in %v", e.After.Round(time.Second))
}

// UnknownClassError says that a label is that of no class.
type UnknownClassError struct{ Name, Nearest string } // Nearest is the class that was likely meant, "" if none is near

func (e *UnknownClassError) Error() string {
	if e.Nearest != "" {
		return fmt.Sprintf("there is no class %.80q. Use %q, or add the class first", e.Name, e.Nearest)
	}
	return fmt.Sprintf("there is no class %.80q. Add the class first", e.Name)
}

// Sample is a labelled picture. An empty ID gets one. The daemon copies what it keeps.
type Sample struct {
	ID, Label string
	Pixels    []byte // uint8 [C,H,W] as the network sees it
	File      []byte // of which Decode made the pixels; nil where there was none
}

// Remembered is a picture that waits for its label, with what was said of it.
type Remembered struct {
	ID      string
	Pixels  []byte // as those of a Sample
	File    []byte
	Guesses []predict.Guess
	Unknown bool // it looked like none of the classes
	Version int64
}

// Receipt says that a sample is on the disk, and its state when that was said.
type Receipt struct {
	ID    string `json:"id"`
	Label string `json:"label,omitempty"`
	State string `json:"state"`
	// of what the old label has taught, where a sample that was learned is corrected or loses its label
	Undoes string `json:"undoes,omitempty"`
	Was    string `json:"was,omitempty"` // the label that it had before, or its mark
	Queued bool   `json:"-"`             // it waits to be learned by this request
}

// What a correction undoes, or one who takes a label away.
const (
	UndoesAll     = "all"     // the learner is as if the old label had never come
	UndoesMemory  = "memory"  // the picture is corrected in the memory, and the weights still carry the old label
	UndoesNothing = "nothing" // the weights or sums still carry the old label
)

// States of a sample.
const (
	StateRemembered = "remembered"
	StateWaiting    = "waiting"
	StateLearned    = "learned"
	StateHeldOut    = "held_out"
	StateSetAside   = "set_aside" // its batch made a loss that was no number
	StateExpired    = "expired"
	StateForgotten  = "forgotten" // and about to be erased
	StateErased     = "erased"
)

// Marks of a picture that waits for its label. Both are out of the way of whoever labels, until somebody looks for
// them.
const (
	MarkSkipped = "skipped" // nobody knew what it shows
	MarkDeleted = "deleted" // it shall have no label; only Forget erases it
)

// Info has the facts about a sample.
type Info struct {
	ID       string    `json:"id"`
	State    string    `json:"state"`
	Label    string    `json:"label,omitempty"`
	Mark     string    `json:"mark,omitempty"`
	Who      string    `json:"who,omitempty"` // who gave it its label, or sent it
	Guesses  []Guess   `json:"guesses,omitempty"`
	Unknown  bool      `json:"unknown,omitempty"` // it looks like none of the classes
	Version  int64     `json:"version,omitempty"` // that said so
	Time     time.Time `json:"time"`
	Likeness *float64  `json:"likeness,omitempty"` // of a list of those like another one: the cosine of their features
}

// Deed is something that somebody has done to a picture, a class or a version.
type Deed struct {
	Number int64     `json:"number"` // of its event
	Time   time.Time `json:"time"`
	Who    string    `json:"who,omitempty"`
	Kind   string    `json:"kind"` // label, unlabel, mark, class, rename, merge, remove, split, version or rollback
	ID     string    `json:"id,omitempty"`
	Label  string    `json:"label,omitempty"` // or the mark, or the name
	Was    string    `json:"was,omitempty"`   // the label or the mark before
	Of     int64     `json:"version,omitempty"`
	Last   bool      `json:"last,omitempty"` // nothing was done to the sample since, so it can be undone
}

// Guess is a guess in JSON: a probability, or of a method that predicts by class means a distance.
type Guess struct {
	Class       string   `json:"class"`
	Probability *float64 `json:"probability,omitempty"`
	Distance    *float64 `json:"distance,omitempty"`
}

// Which says what is to be forgotten: all that fits every field that is set.
type Which struct {
	IDs      []string
	Digest   string // of the pixels, as Digest gives it
	Who      string
	From, To time.Time
}

// Forgotten says what was forgotten, and whether weights still carry what was learned of it.
type Forgotten struct {
	Matched int    `json:"matched"`
	Stored  int    `json:"stored"` // of them were in the memory of the learner
	Undone  int    `json:"undone"` // of them were taken out of the sums of the learner
	Note    string `json:"note"`
}

// VersionInfo is a version of the weights to which one can go back. The last ones are kept, and those with a name.
type VersionInfo struct {
	Number int64     `json:"number"`
	Time   time.Time `json:"time"`
	Name   string    `json:"name,omitempty"`
}

// ClassInfo has the facts about a class. The last three are null before they were measured.
type ClassInfo struct {
	Name       string   `json:"name"`
	Learned    int64    `json:"learned"`
	HeldOut    int      `json:"held_out"`
	Accuracy   *float64 `json:"accuracy"`
	Best       *float64 `json:"best"`
	Forgetting *float64 `json:"forgetting"`
}

// Notice is something that happened, for those who watch.
type Notice struct {
	Kind    string    `json:"kind"`
	Time    time.Time `json:"time"`
	Text    string    `json:"text"`
	Version int64     `json:"version,omitempty"`
}

// process sets the options of the process of a learner that is opened.
func (o Options) process() func(*live.Process) {
	return func(p *live.Process) {
		was := p.Backbone
		*p = o.Live.Process
		p.Backbone = cmp.Or(p.Backbone, was)
		p.Batch, p.Age, p.Queue = o.Batch, 0, 0
	}
}
