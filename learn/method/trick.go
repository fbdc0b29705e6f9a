package method

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"ocl"
	"ocl/config"
	"ocl/internal/origin"
)

// Trick describes a change to a method that most methods of a kind can take (survey §trick_detail).
type Trick struct {
	Name     string // as on the command line
	Title    string
	Summary  string // one sentence
	Idea     string // a few sentences
	Formula  string
	Citation string
	Signals  []string // supervisory signals used besides those of the method
	Settings []string // keys of the config that it reads
	Options  []Option // method.<Name>.<option>
	Teacher  string   // default of replay.teacher if the method does not read it; "" means evaluation
	Cost     string   // relative to the method without it
	Expect   string   // what a person will see

	// With fills the slots as options say; nil is Fills as it is. Which slots are filled does not depend on options.
	With func(Setup) Fills

	Images      bool // it needs images, and no embeddings
	ClassesOnce bool // it needs streams in which each class occurs in one task only

	Fills
}

// tricks is sorted by name. A new trick is a file with its entry and one line here.
var tricks = origin.NewCatalogue(origin.Kind[Trick]{What: "trick",
	Of: func(t *Trick) (string, *origin.Origin) { return t.Name, &origin.Origin{} }},
	trickMean,
	trickKDC,
	trickKDCRoot,
	trickAdjusted,
	trickLabels,
	trickDecoupled,
	trickIterations,
	trickMomentum,
	trickNCM,
	trickRehearsal,
	trickReview,
	trickSeparated,
)

// Tricks returns all tricks, sorted by name.
func Tricks() []Trick { return tricks.All() }

// LookupTrick returns the trick called name. The error names the nearest one.
func LookupTrick(name string) (Trick, error) { return tricks.Lookup(name) }

// ParseTricks reads tricks joined by plus signs, such as lb+ncm, or none, and returns their names in the order of
// [Tricks]. The error begins with what is wrong.
func ParseTricks(text string) ([]string, error) {
	if text == config.NoTrick {
		return nil, nil
	}
	var names []string
	for name := range strings.SplitSeq(text, "+") {
		if name == "" {
			return nil, fmt.Errorf("a trick of %q has no name. Remove a comma or a plus sign, or write none", text)
		}
		if _, err := LookupTrick(name); err != nil {
			if words := strings.FieldsFunc(text, func(r rune) bool { return r == '+' || unicode.IsSpace(r) }); len(words) > 1 &&
				allTricks(words) {
				return nil, fmt.Errorf("%q has spaces. Write %s", text, strings.Join(words, "+"))
			}
			return nil, err
		}
		if slices.Contains(names, name) {
			return nil, fmt.Errorf("%q: trick %s is given twice. Give it once", text, name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// allTricks says whether all words are names of tricks.
func allTricks(words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { _, err := LookupTrick(word); return err != nil })
}

// With is the method's name with tricks, such as er+lb+ncm.
func (i Info) With(names []string) string {
	return strings.Join(append([]string{i.Name}, names...), "+")
}

// SignalsWith are the supervisory signals that the method uses with tricks.
func (i Info) SignalsWith(names []string) []string {
	all := slices.Clone(i.Signals)
	for _, t := range chosen(names) {
		for _, s := range t.Signals {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// CheckTricks says whether the method takes these tricks of the catalogue, and takes them together. There is one
// error for each trick that it refuses and for each two that exclude each other. An error begins with the method and
// the tricks, such as "er with kdc and kdc*".
func (i Info) CheckTricks(names []string) []error {
	var faults []error
	list := chosen(names)
	for _, t := range list {
		if reason, refused := i.Refuses[t.Name]; refused {
			faults = append(faults, fmt.Errorf("%s with %s: %s. Use another method or another trick", i.Name, t.Name, reason))
		}
	}
	for at, t := range list {
		for _, other := range list[at+1:] {
			if reason, excluded := t.Excludes(other); excluded {
				faults = append(faults, fmt.Errorf("%s with %s and %s: %s. Use one of the two tricks", i.Name, t.Name, other.Name,
					reason))
			}
		}
	}
	return faults
}

// checkStream says whether a stream gives tricks the supervisory signals that they use.
func (i Info) checkTrickStream(s ocl.StreamInfo, names []string) error {
	for _, t := range chosen(names) {
		if t.TaskBoundaries() && s.NoBoundaries {
			return fmt.Errorf("method: %s with %s: stream %s does not say where tasks begin and end, and the trick needs this. "+
				"Remove stream.task_signals=false, or the trick", i.Name, t.Name, s.Name)
		}
		if t.Images && s.Embeddings {
			return fmt.Errorf("method: %s with %s: stream %s has embeddings, and the trick changes images. Remove the trick",
				i.Name, t.Name, s.Name)
		}
		if t.ClassesOnce && s.Scenario == ocl.DomainIncremental {
			return fmt.Errorf("method: %s with %s: the classes of stream %s occur in several tasks, so no class is old or new. "+
				"Use a class-incremental stream, or remove the trick", i.Name, t.Name, s.Name)
		}
	}
	return nil
}

// chosen are the tricks called names, which are in the catalogue.
func chosen(names []string) []Trick {
	var list []Trick
	for _, t := range tricks.All() {
		if slices.Contains(names, t.Name) {
			list = append(list, t)
		}
	}
	return list
}

// Reasons of methods for their refusals.
const (
	takesLabels   = "the trick changes the softmax of the loss on labels"
	needsMemory   = "it stores no samples"
	distilsMemory = "it stores no samples, and without them the trick is lwf"
)

// refusing is what a method refuses: pairs of names, with spaces between them, and the reason.
func refusing(pairs ...string) map[string]string {
	all := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		for _, name := range strings.Fields(pair[0]) {
			all[name] = pair[1]
		}
	}
	return all
}

// withoutMemory is what a method refuses that learns by softmax from incoming batches alone.
var withoutMemory = refusing("kdc kdc*", distilsMemory, "ncm", needsMemory+" for class means", "rar",
	needsMemory+" to rehearse", "rv", needsMemory+" to review", "ss", needsMemory+", so it never trains on an old class")
