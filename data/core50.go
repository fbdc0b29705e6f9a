package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ocl/data/internal/core50"
	"ocl/data/internal/picture"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/input"
)

var core50Info = Info{
	Name: "core50", Title: "CORe50",
	Summary: "Films of 50 things held in a hand, in 11 sessions with other backgrounds and light; the survey's CORe50-NC " +
		"(--stream classes) and CORe50-NI (--stream domains).",
	Classes: 50, Shape: "3×128×128", Colour: true, Size: core50Side, MinSize: 8, MaxSize: 512,
	Train: core50.Total - core50.Tests, Test: core50.Tests, NeedsDir: true, Ordered: true,
	Layout: "--data-dir is the folder core50_128x128, or a folder that contains it, perhaps in a folder core50. It has " +
		"the frames as s1/o1/C_01_01_000.png: session, object, and both again with the frame.\n" +
		"Frames may be absent; what then cannot be learned or tested is left out and listed.",
	Endings: []string{"core50", "core50_128x128"},
	Source:  "https://vlomonaco.github.io/core50 (core50_128x128.zip)",
	Licence: "Creative Commons Attribution 4.0; not shipped with this program",
	Citation: "Vincenzo Lomonaco and Davide Maltoni. CORe50: a New Dataset and Benchmark for Continuous Object " +
		"Recognition. Conference on Robot Learning, 2017.",
	Example: "ocl run --data core50 --data-dir core50_128x128 --stream domains --method er --memory 5000",
	list:    listCORe50,
}

const (
	core50Folder = "core50_128x128"
	core50Side   = 128
)

// listCORe50 lists the frames that are present, in the order of the official lists.
func listCORe50(ctx context.Context, spec Spec) (*listing, error) {
	root, err := findCORe50(spec.Dir)
	if err != nil {
		return nil, err
	}
	side := core50Side
	if spec.Size != 0 {
		side = spec.Size
	}
	l := &listing{
		set: &Set{Name: "core50", Classes: core50.Objects, ClassNames: core50.Names(), Domains: core50Domains(),
			Orders: core50Orders()},
		pictures: pictures{set: "core50", root: root, side: side, fit: spec.fit(picture.Crop)},
	}
	return l, l.addCORe50(ctx)
}

// core50Domains are the names of the sessions.
func core50Domains() []string {
	names := make([]string, core50.Sessions)
	for i := range names {
		names[i] = fmt.Sprintf("session %d", i+1)
	}
	return names
}

// core50Orders are the official orders, of labels and domains, which count from 0.
func core50Orders() Orders {
	return Orders{Classes: fromZero(core50.NCOrders()), TaskClasses: core50.NCSizes(),
		Domains: fromZero(core50.NIOrders())}
}

// fromZero lowers all numbers by one.
func fromZero(lists [][]int) [][]int {
	for _, list := range lists {
		for i := range list {
			list[i]--
		}
	}
	return lists
}

// addCORe50 adds the frames that are present, and says in the set's notes which are not.
func (l *listing) addCORe50(ctx context.Context) error {
	var seen core50Census
	for _, c := range core50.All() {
		if err := ctx.Err(); err != nil {
			return err
		}
		names, err := namesIn(filepath.Join(l.pictures.root, filepath.FromSlash(c.Folder())))
		if err != nil {
			return err
		}
		for f := c.First(); f < core50.Frames; f++ {
			name := c.Name(f)
			if !names[name] {
				continue
			}
			delete(names, name)
			l.pictures.files = append(l.pictures.files, c.Folder()+"/"+name)
			l.entries = append(l.entries, entry{test: c.Test(), label: int32(c.Object - 1), domain: int32(c.Session - 1)})
			seen.add(c)
		}
		seen.others(c, names)
	}
	if seen.frames == 0 {
		return noCORe50(l.pictures.root)
	}
	l.set.Incomplete = seen.frames < core50.Total
	l.set.Notes = seen.notes()
	return nil
}

// namesIn are the names of the entries of a folder; none where there is no folder.
func namesIn(folder string) (map[string]bool, error) {
	entries, err := input.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w. Make the folder readable, or correct --data-dir", shown(folder), cause.Of(err))
	}
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[e.Name()] = true
	}
	return names, nil
}

// findCORe50 returns the folder of the sessions.
func findCORe50(dir string) (string, error) {
	if err := givenFolder(dir,
		"Use --data-dir with the folder "+core50Folder+", which has to be unpacked"); err != nil {
		return "", err
	}
	for _, root := range []string{
		filepath.Join(dir, core50Folder), filepath.Join(dir, "core50", core50Folder), dir, filepath.Join(dir, "core50"),
	} {
		for s := range core50.Sessions {
			if exists(filepath.Join(root, fmt.Sprintf("s%d", s+1))) {
				return root, nil
			}
		}
	}
	return "", noCORe50(dir)
}

// noCORe50 says that a folder has no frames, and what to do.
func noCORe50(dir string) error {
	for _, zip := range []string{filepath.Join(dir, core50Folder+".zip"),
		filepath.Join(dir, "core50", core50Folder+".zip")} {
		if exists(zip) {
			return fmt.Errorf("%s: the images are still packed in %s. Unpack this file in its folder", shown(dir),
				shown(filepath.Base(zip)))
		}
	}
	return fmt.Errorf("%s: there are no frames here, such as s1/o1/C_01_01_000.png in %s. The folder holds %s. "+
		"Check --data-dir; `ocl data info core50` describes the files", shown(dir), core50Folder, contents(dir))
}

// core50Census counts the frames that are present.
type core50Census struct {
	frames      int
	train, test [core50.Objects + 1]int  // of each object
	sessions    [core50.Sessions + 1]int // of each session
	strays      []string                 // images that are no frames of the published set
}

func (n *core50Census) add(c core50.Cell) {
	n.frames++
	n.sessions[c.Session]++
	if c.Test() {
		n.test[c.Object]++
	} else {
		n.train[c.Object]++
	}
}

// others notes the images in a folder that are no official frames.
func (n *core50Census) others(c core50.Cell, names map[string]bool) {
	for name := range names {
		if strings.HasSuffix(name, ".png") {
			n.strays = append(n.strays, c.Folder()+"/"+name)
		}
	}
}

// notes say what is absent.
func (n *core50Census) notes() []string {
	var notes []string
	if n.frames < core50.Total {
		text := fmt.Sprintf("core50: the folder holds %s of %s frames", count.Number(n.frames), count.Number(core50.Total))
		tell := func(what string, of int, things string, holds func(i int) bool) {
			var list []string
			for i := 1; i <= of; i++ {
				if holds(i) {
					list = append(list, fmt.Sprint(i))
				}
			}
			if len(list) > 0 {
				text += fmt.Sprintf("; %s of %d of %d %s (%s)", what, len(list), of, things, strings.Join(list, ", "))
			}
		}
		// Each object is named in one list at most, so the numbers agree with those in the notes on classes.
		tell("no frame", core50.Sessions, "sessions", func(i int) bool { return n.sessions[i] == 0 })
		tell("no frame", core50.Objects, "objects", func(i int) bool { return n.train[i]+n.test[i] == 0 })
		tell("only training frames", core50.Objects, "objects", func(i int) bool { return n.train[i] > 0 && n.test[i] == 0 })
		tell("only test frames", core50.Objects, "objects", func(i int) bool { return n.train[i] == 0 && n.test[i] > 0 })
		notes = append(notes, text)
	}
	if len(n.strays) > 0 {
		notes = append(notes, fmt.Sprintf("core50: %s left out, besides the published frames, such as %s",
			count.Of(len(n.strays), "image"), shown(slices.Min(n.strays))))
	}
	return notes
}
