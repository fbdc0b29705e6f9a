package trained

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ocl"
	"ocl/data"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/train"
)

// ErrMoved is wrapped by the error about classes whose pictures the parent has learned under another name.
var ErrMoved = errors.New("classes have other names than before")

// Moved looks for classes of data that the parent has learned under another name, by the sketches of both. A class is
// one if at least half of its pictures that could be known are pictures of one other class of the parent, and these are
// at least two, or its only picture, and more than it has of its own class of the parent.
//
// It is an error if the other class is not among the data, or if two classes have exchanged their names: the error has
// the commands that change the names of the parent. Where the other class is among the data, under its name, a note
// says so, and another one if the parent does not know its pictures.
func (p *Parent) Moved(u Union, set *data.Set) (notes []string, err error) {
	if u.Names == nil || set.Sketches == nil {
		return nil, nil
	}
	if p.Known.Pictures == nil {
		info, err := data.Lookup(p.Config.Data.Name)
		if err == nil && len(info.Readings) > 0 && u.classes > p.Known.Classes {
			notes = append(notes, "the parent's checkpoint does not know its pictures, so nobody has looked whether a new class is an old one with another name")
		}
		return notes, nil
	}
	from, here := map[ocl.Label]ocl.Label{}, map[ocl.Label]bool{}
	var again []string
	for k, to := range u.label {
		here[to] = true
		if p.knows(set.Sketches[k], to) {
			again = append(again, cause.Shown(u.Names[to]))
		}
		if old, is := p.source(set.Sketches[k], to); is {
			from[to] = old
		}
	}
	if again != nil {
		notes = append(notes, fmt.Sprintf("most pictures of %s were learned before, and count twice now. `ocl learn` needs only the new ones",
			count.Some(again)))
	}
	var faults []string
	var changes []train.Change
	for _, to := range u.label { // in the order of the data
		old, is := from[to]
		if !is {
			continue
		}
		name, was := u.Names[to], u.Names[old]
		back, mutual := from[old]
		switch {
		case mutual && back == to:
			if old > to { // once for both
				aside := was + " (before)"
				faults = append(faults, fmt.Sprintf("%s and %s have exchanged their names", name, was))
				changes = append(changes, train.Change{Operation: train.Rename, Class: was, Into: aside},
					train.Change{Operation: train.Rename, Class: name, Into: was},
					train.Change{Operation: train.Rename, Class: aside, Into: name})
			}
		case here[old]:
			notes = append(notes, fmt.Sprintf("most pictures of %s are pictures that the parent has learned as %s, which is here too",
				cause.Shown(name), cause.Shown(was)))
		default:
			change := train.Change{Operation: train.Rename, Class: was, Into: name}
			var parts []string
			for _, other := range u.label {
				if whose, is := from[other]; is && whose == old && int(other) >= p.Known.Classes {
					parts = append(parts, u.Names[other])
				}
			}
			switch {
			case slices.ContainsFunc(changes, func(c train.Change) bool { return c.Class == was }):
				continue // it became several classes, and is one of them
			case len(parts) > 1:
				faults = append(faults, fmt.Sprintf("%s have the pictures of %s", strings.Join(parts, " and "), was))
				changes = append(changes, train.Change{Operation: train.Split, Class: was})
				continue
			case int(to) < p.Known.Classes:
				change.Operation = train.Merge
			}
			faults = append(faults, fmt.Sprintf("%s has the pictures of %s", name, was))
			changes = append(changes, change)
		}
	}
	if faults == nil {
		return notes, nil
	}
	return notes, cause.As(fmt.Errorf("the parent has learned these pictures under other names: %s. Change its names, and learn on from the result: %s. Or give --new-classes to learn the classes as they are",
		count.Some(shown(faults)), p.commands(changes)), ErrMoved)
}

// knows says whether the parent has learned at least half of the pictures of a class, as far as they could be known.
func (p *Parent) knows(new data.Sketch, class ocl.Label) bool {
	if int(class) >= len(p.Known.Pictures) {
		return false
	}
	known, looked := new.In(p.Known.Pictures[class])
	return 2*known >= looked && known >= max(1, min(2, len(new)))
}

// source is the class of the parent, another one than own, that a class of new data has its pictures from.
func (p *Parent) source(new data.Sketch, own ocl.Label) (from ocl.Label, is bool) {
	most := 0
	if int(own) < len(p.Known.Pictures) {
		most, _ = new.In(p.Known.Pictures[own])
	}
	for k, old := range p.Known.Pictures {
		known, looked := new.In(old)
		if ocl.Label(k) != own && known > most && 2*known >= looked && known >= min(2, len(new)) {
			from, most, is = ocl.Label(k), known, true
		}
	}
	return from, is
}

// commands are those that change classes of the parent, and learn on.
func (p *Parent) commands(changes []train.Change) string {
	run := p.Folder
	if _, err := runFolder(filepath.Dir(run)); err == nil { // of an experiment with this run
		run = filepath.Dir(run)
	}
	var list []string
	for _, change := range changes {
		out := beside(run)
		into := escape.Word(change.Into)
		if change.Operation == train.Split {
			into = "--by FOLDER"
		}
		list = append(list, fmt.Sprintf("`ocl classes %s %s %s %s -o %s`", escape.Word(run), change.Operation,
			escape.Word(change.Class), into, escape.Word(out)))
		run = out
	}
	if slices.ContainsFunc(changes, func(c train.Change) bool { return c.Operation == train.Split }) {
		list = append(list, "where FOLDER has the folders of only these classes")
	}
	return strings.Join(append(list, fmt.Sprintf("`ocl learn %s` with the flags given here", escape.Word(run))), ", ")
}

func shown(list []string) []string {
	for i, text := range list {
		list[i] = escape.Line(text)
	}
	return list
}

// Sketches know the pictures of all classes again: those of the parent, and those of the data. Nil knows none.
func (u Union) Sketches(known []data.Sketch, set *data.Set) []data.Sketch {
	if known == nil && set.Sketches == nil {
		return nil
	}
	all := make([]data.Sketch, u.classes)
	copy(all, known)
	for k, sketch := range set.Sketches {
		all[u.label[k]] = all[u.label[k]].Union(sketch)
	}
	return all
}
