// Package nearest finds the names that are most like an unknown word, for messages such as "did you mean". It does not
// know where the names come from. Start at [Names.Hint].
package nearest

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Most is the largest number of names in one message.
const Most = 5

// longest bounds the words that are compared, in bytes: no name is longer.
const longest = 100

// Names are the names that exist.
type Names struct {
	List []string
	// Meaning says in words what a name stands for: --learning-rate then finds --lr. Nil compares the names alone.
	Meaning func(name string) string
	// Aliases are other names of a name, such as lr of optimizer.lr: the nearest of them counts, one letter worse than the
	// name. Nil has none.
	Aliases func(name string) []string
	All     string // a sentence that says where all names are listed; "" says nothing
}

// Hint says what to do about a word that is none of the names: which name was probably meant, or which names there are.
// It has no full stop at its end.
func Hint(word string, names []string) string { return Names{List: names}.Hint(word) }

// Hint is the function Hint, and says where all names are listed.
func (n Names) Hint(word string) string {
	near := n.Near(word)
	switch {
	case len(near) > 0:
		return n.Meant(near)
	case len(n.List) <= Most && len(n.List) > 0:
		return strings.TrimSuffix("Use "+Or(n.List)+". "+n.All, ". ")
	case n.All != "":
		return n.All
	}
	list := slices.Clone(n.List)
	sortByEdits(list, short(word))
	return "The nearest names are " + Or(list[:min(len(list), Most)])
}

// Meant asks whether one of some names was meant, and says where all names are listed.
func (n Names) Meant(near []string) string {
	return strings.TrimSpace("Did you mean " + Or(near) + "? " + n.All)
}

// Near lists the names that a person may have meant by word, nearest first, at most [Most]: those that differ in the
// fewest letters; where all differ in many, those that have the most words in common with it. Case does not count, and
// neither do leading hyphens, so that flags may be given with theirs.
func (n Names) Near(word string) []string {
	if list := n.Misspelt(word); len(list) > 0 {
		return list
	}
	word = short(word)
	score := map[string]int{}
	for _, name := range n.List {
		if shared := n.shared(word, name); shared > 0 {
			score[name] = -shared
		}
	}
	list := slices.Clone(n.List)
	sortByEdits(list, word)
	return lowest(list, score)
}

// Misspelt lists the names that word may be a typing error for: those of [Names.Near] that differ from it in few
// letters.
func (n Names) Misspelt(word string) []string {
	word = short(word)
	score := map[string]int{}
	for _, name := range n.List {
		d := edits(word, name)
		near := alikeBy(d, word, name)
		if n.Aliases != nil {
			for _, alias := range n.Aliases(name) {
				of := edits(word, alias)
				d, near = min(d, of+1), near || alikeBy(of, word, alias) // a name of its own comes first
			}
		}
		if near {
			score[name] = d
		}
	}
	return lowest(slices.Clone(n.List), score)
}

// lowest keeps the names with the lowest score, at most [Most].
func lowest(list []string, score map[string]int) []string {
	least := longest
	for _, s := range score {
		least = min(least, s)
	}
	list = slices.DeleteFunc(list, func(name string) bool { s, is := score[name]; return !is || s > least })
	return list[:min(len(list), Most)]
}

// sortByEdits puts the names nearest to a word first.
func sortByEdits(names []string, word string) {
	far := make(map[string]int, len(names))
	for _, name := range names {
		far[name] = edits(word, name)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(far[a], far[b]) })
}

// alikeBy says whether a word may be a typing error for a name at the given edit distance.
func alikeBy(edits int, word, name string) bool {
	longer := max(letters(word), letters(name))
	return edits <= max(longer/3, 1) && edits < longer
}

// Word is the first of Near, or "".
func Word(word string, names []string) string {
	if near := (Names{List: names}).Near(word); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Or joins names for a sentence: "a, b or c".
func Or(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func short(word string) string { return word[:min(len(word), longest)] }

// shared counts the words of word that a name or its meaning has; it is 0 if these are fewer than half of them.
func (n Names) shared(word, name string) int {
	asked, own := parts(word), parts(name)
	var meaning []string
	if n.Meaning != nil {
		meaning = parts(n.Meaning(name))
	}
	found := 0
	for _, w := range asked {
		like := func(other string) bool { return sameWord(w, other) }
		if slices.ContainsFunc(own, like) || len(w) > 2 && slices.ContainsFunc(meaning, like) {
			found++
		}
	}
	if 2*found < len(asked) {
		return 0
	}
	return found
}

// parts are the words of at least two letters in a name or a sentence.
func parts(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(words, func(w string) bool { return len(w) < 2 })
}

// sameWord says whether two words are the same but for an ending: class and classes, augment and augmentation.
func sameWord(a, b string) bool {
	const stem = 4
	return a == b || len(a) >= stem && len(b) >= stem && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

func letters(word string) int { return len(strings.TrimLeft(word, "-")) }

// edits is how far a word is from a name, case aside: their distance, but 1 where the word is the beginning of the
// name, and at most 2 where the name is the beginning of the word.
func edits(word, name string) int {
	word, name = strings.ToLower(word), strings.ToLower(name)
	d := distance(word, name)
	switch {
	case letters(word) >= 3 && strings.HasPrefix(name, word):
		d = min(d, 1)
	case letters(name) >= 3 && strings.HasPrefix(word, name):
		d = min(d, 2)
	}
	return d
}

// distance is the number of letters to insert, delete, replace or swap with their neighbour to turn a into b (optimal
// string alignment), in bytes. A swap counts once, as it is one slip of the finger.
func distance(a, b string) int {
	n := len(b) + 1
	var room [3 * (longest + 1)]int
	rows := room[:] // of the present letter of a and of the two before it
	if 3*n > len(room) {
		rows = make([]int, 3*n)
	}
	before, last, present := rows[:n], rows[n:2*n], rows[2*n:3*n]
	for j := range present {
		present[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, present = last, present, before
		present[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			present[j] = min(last[j]+1, present[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				present[j] = min(present[j], before[j-2]+1)
			}
		}
	}
	return present[len(b)]
}
