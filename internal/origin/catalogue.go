package origin

import (
	"fmt"
	"slices"
	"strings"

	"ocl/internal/nearest"
)

// Catalogue lists what a config can name of one kind, such as data sets: the entries of this module, and those that
// other modules register before anything reads it. Make one with [NewCatalogue]. Reading is safe from any goroutine,
// [Catalogue.Register] is not.
type Catalogue[E any] struct {
	kind Kind[E]
	list []E
}

// Kind says what the entries of a [Catalogue] are.
type Kind[E any] struct {
	What string // in messages, such as "data set"
	File string // that lists the entries of this module
	All  string // says how to see all names, for messages about unknown ones; "" is nothing

	// Of returns the name of an entry and where its origin stands.
	Of func(*E) (name string, from *Origin)
	// Fault says what is wrong with an entry that is registered, and fills in what it leaves out. nil is nothing.
	Fault func(*E) error
	// Plain is what names are compared by: names with the same one are one name. nil compares without case.
	Plain func(name string) string
	// OwnFirst keeps the order of the entries of this module, before all others; else all are sorted by name.
	OwnFirst bool
}

// NewCatalogue makes a catalogue of this module's entries.
func NewCatalogue[E any](kind Kind[E], own ...E) *Catalogue[E] { return &Catalogue[E]{kind, own} }

// All returns the entries, sorted by name unless the kind has an order of its own.
func (c *Catalogue[E]) All() []E { return slices.Clone(c.list) }

// Names returns the names of the entries, in the order of [Catalogue.All].
func (c *Catalogue[E]) Names() []string {
	names := make([]string, len(c.list))
	for i := range c.list {
		names[i], _ = c.kind.Of(&c.list[i])
	}
	return names
}

// Lookup returns the entry with a name. The error says which names there are, or which one was probably meant.
func (c *Catalogue[E]) Lookup(name string) (E, error) {
	names := c.Names()
	if at := slices.Index(names, name); at >= 0 {
		return c.list[at], nil
	}
	var none E
	return none, fmt.Errorf("unknown %s %.60q. %s", c.kind.What, name,
		nearest.Names{List: names, All: c.kind.All}.Hint(name))
}

// Register adds an entry of the module that calls the function which calls Register. An entry with a fault, or with a
// name that is taken, is a bug: it panics with pkg, the package of that function, and with where it was called.
func (c *Catalogue[E]) Register(pkg string, e E) {
	from := OfCaller(2)
	if err := c.add(e, from); err != nil {
		panic(fmt.Sprintf("%s: Register at %s: %v", pkg, from.Place, err))
	}
}

func (c *Catalogue[E]) add(e E, from Origin) error {
	if c.kind.Fault != nil {
		if err := c.kind.Fault(&e); err != nil {
			return err
		}
	}
	plain := c.kind.Plain
	if plain == nil {
		plain = strings.ToLower
	}
	name, place := c.kind.Of(&e)
	at, own := len(c.list), c.kind.OwnFirst
	for i := range c.list {
		other, its := c.kind.Of(&c.list[i])
		if plain(other) == plain(name) {
			return fmt.Errorf("the name %s is taken by the %s %s, registered at %s. Use another name", name, c.kind.What, other,
				its.PlaceOr(c.kind.File))
		}
		if at == len(c.list) && name < other && !(own && its.Place == "") {
			at = i
		}
	}
	*place = from
	c.list = slices.Insert(slices.Clone(c.list), at, e)
	return nil
}
