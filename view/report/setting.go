package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/run/result"
)

// setting is a group of rows that may be compared: they share the data, the way these become a stream, and the
// protocol.
type setting struct {
	Name     string // "cifar100 in 20 tasks, survey protocol", and how it differs from others of that name
	detail   string // that difference: "5 training and 7 test images per class"; "" for none
	slug     string // "" when the study has one setting only
	first    *run
	stream   result.Stream
	rows     []*row
	memories []int     // the different capacities, ascending, for line widths
	all      bool      // all rows are drawn
	among    int       // so many settings
	pairs    []pairing // see pairings; nil before the first call
	home     string    // the folder of the experiment, where the results do not say it
}

// settingKey is the identity of a setting.
func settingKey(r *run) string {
	s := r.Stream
	return fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%d\x00%v\x00%s\x00%d\x00%s\x00%s", streamText(r), s.Name, s.Scenario,
		s.Protocol, len(s.Tasks), s.Shape, s.By, s.Classes,
		r.Config.Stream.ClassOrder, r.Provenance.DataDigest)
}

// settingName names the stream, the number of tasks and the protocol.
func settingName(s result.Stream) string {
	name := cmp.Or(s.Name, "an unnamed stream") + " in " + count.Of(len(s.Tasks), "task")
	if s.Protocol != "" {
		name += ", " + s.Protocol + " protocol"
	}
	return name
}

// aspects are in what settings of one name may differ, for people and for the names of files.
var aspects = []func(*run) (text, slug string){
	func(r *run) (string, string) { return orUnknown(r.Stream.Scenario), r.Stream.Scenario },
	func(r *run) (string, string) {
		s := r.Stream.Shape
		slug := fmt.Sprintf("%dx%dx%d", s[0], s[1], s[2])
		if r.Stream.Embeddings {
			slug = slugify(cmp.Or(r.Stream.By, fmt.Sprintf("embeddings-%d", s[0])))
		}
		return r.Stream.Sample(), slug
	},
	func(r *run) (string, string) {
		return count.Of(r.Stream.Classes, "class"), fmt.Sprintf("%d-classes", r.Stream.Classes)
	},
	func(r *run) (string, string) {
		text := cmp.Or(streamText(r), "plain")
		return text, slugify(text)
	},
	imagesAspect,
	func(r *run) (string, string) {
		text := r.Config.Stream.ClassOrder.String()
		if len(text) > 20 { // a list of all classes
			text = text[:20] + "…"
		}
		return "class order " + text, "order-" + text
	},
}

// digestAspect tells settings apart that nothing else does.
func digestAspect(r *run) (text, slug string) {
	digest := shorten(orUnknown(r.Provenance.DataDigest), 19) // as the table of provenance has it
	return "data " + digest, digest
}

// imagesAspect is the number of images, of each class where they all have as many.
func imagesAspect(r *run) (text, slug string) {
	train, test := images(r.Stream)
	classes := map[int]bool{}
	for _, t := range r.Stream.Tasks {
		for _, c := range t.Classes {
			classes[c] = true
		}
	}
	if n := len(classes); n > 0 && train%n == 0 && test%n == 0 {
		return fmt.Sprintf("%s training and %s test images per class", count.Number(train/n), count.Number(test/n)),
			fmt.Sprintf("train%d-test%d", train/n, test/n)
	}
	return fmt.Sprintf("%s training and %s test images", count.Number(train), count.Number(test)),
		fmt.Sprintf("train%d-test%d-in-all", train, test)
}

// images counts the training and test images of a stream.
func images(s result.Stream) (train, test int) {
	for _, t := range s.Tasks {
		train += t.Train
		test += t.Test
	}
	if s.CommonTest && len(s.Tasks) > 0 {
		test = s.Tasks[0].Test
	}
	return train, test
}

// nameSettings gives every setting a name, and a slug where there are several.
func nameSettings(settings []*setting) {
	used := map[string]bool{}
	for _, s := range settings {
		var details []string
		slug := fmt.Sprintf("%s-%d-%s", s.stream.Name, len(s.stream.Tasks), s.stream.Protocol)
		for _, a := range s.apart(settings) {
			text, short := a(s.first)
			details = append(details, text)
			slug += "-" + short
		}
		s.detail = strings.Join(details, ", ")
		if s.Name = settingName(s.stream); s.detail != "" {
			s.Name += ", " + s.detail
		}
		if len(settings) > 1 {
			s.slug = unique(used, slugify(slug))
		}
	}
}

// apart are the aspects in which s differs from settings of the same name, the digest only from those that are the same
// in all others.
func (s *setting) apart(settings []*setting) (found []func(*run) (text, slug string)) {
	differ := func(o *setting, a func(*run) (string, string)) bool {
		mine, _ := a(s.first)
		other, _ := a(o.first)
		return mine != other
	}
	var twins []*setting
	for _, o := range settings {
		if (o.first.Foreign == nil) != (s.first.Foreign == nil) { // of one nothing but the name is known
			if s.first.Foreign != nil && settingName(o.stream) == settingName(s.stream) {
				return []func(*run) (text, slug string){func(*run) (string, string) {
					return "measured by other programs",
						"foreign"
				}}
			}
			continue
		}
		if o != s && settingName(o.stream) == settingName(s.stream) {
			twins = append(twins, o)
		}
	}
	for _, a := range aspects {
		if slices.ContainsFunc(twins, func(o *setting) bool { return differ(o, a) }) {
			found = append(found, a)
		}
	}
	for _, o := range twins {
		if !slices.ContainsFunc(aspects, func(a func(*run) (string, string)) bool { return differ(o, a) }) {
			return append(found, digestAspect)
		}
	}
	return found
}

// finish sorts the rows (methods in their order, bounds below those that they bound, then by memory) and gives them
// their line widths.
func (s *setting) finish(methods catalogue) {
	rank := func(g *row) int {
		place := methods.place(g.method.Name)
		if g.bound != NoBound {
			place += len(methods)
		}
		return place
	}
	slices.SortStableFunc(s.rows, func(a, b *row) int { return cmp.Or(rank(a)-rank(b), a.memory-b.memory) })
	for _, g := range s.rows {
		slices.SortStableFunc(g.runs, func(a, b *run) int { return cmp.Compare(a.seed, b.seed) })
		for _, r := range g.runs {
			if r.Outcome.State == result.Finished {
				g.finished = append(g.finished, r)
			}
		}
		if g.memory >= 0 && !slices.Contains(s.memories, g.memory) {
			s.memories = append(s.memories, g.memory)
		}
	}
	slices.Sort(s.memories)
	for _, g := range s.rows {
		g.width = 2
		if i := slices.Index(s.memories, g.memory); i >= 0 && len(s.memories) > 1 {
			g.width = 1.3 + 1.9*float64(i)/float64(len(s.memories)-1)
		}
	}
}
