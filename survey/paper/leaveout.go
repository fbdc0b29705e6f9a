package paper

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"ocl/config"
	"ocl/run/identity"
	"ocl/run/result"
	"ocl/survey"
)

func (s *Study) leaveOut(path, reason string) { s.LeftOut = append(s.LeftOut, LeftOut{path, reason}) }

// keep leaves out the runs for which reason gives one.
func (s *Study) keep(reason func(*Run) string) {
	s.Runs = slices.DeleteFunc(s.Runs, func(r *Run) bool {
		why := reason(r)
		if why != "" {
			s.leaveOut(r.Path, why)
		}
		return why != ""
	})
}

// oneNumbersVersion keeps the results of the highest numbers version that this program knows: results of different ones
// are never averaged.
func (s *Study) oneNumbersVersion() {
	highest := 0
	for _, r := range s.Runs {
		if n := r.Result.Provenance.Numbers; n <= result.Numbers {
			highest = max(highest, n)
		}
	}
	s.keep(func(r *Run) string {
		n := r.Result.Provenance.Numbers
		switch {
		case n > result.Numbers:
			return fmt.Sprintf("its numbers version is %d, and this ocl has %d. Use a newer ocl", n, result.Numbers)
		case n != highest:
			return fmt.Sprintf("its numbers version is %d, and the others have %d; such results are never averaged. Run it again, or report it by itself",
				n, highest)
		}
		return ""
	})
}

// oneDigest keeps, of each data set, the results of the images that most results have.
func (s *Study) oneDigest() {
	of := map[string]map[string][]string{} // paths by data and digest
	data := func(r *Run) string {
		return r.cell.Only(func(key string) bool { return strings.HasPrefix(key, "data.") }).String()
	}
	for _, r := range s.Runs {
		if of[data(r)] == nil {
			of[data(r)] = map[string][]string{}
		}
		of[data(r)][r.Result.Provenance.DataDigest] = append(of[data(r)][r.Result.Provenance.DataDigest], r.Path)
	}
	best := map[string]string{}
	for name, digests := range of {
		order := slices.Sorted(maps.Keys(digests))
		slices.SortStableFunc(order, func(a, b string) int { return len(digests[b]) - len(digests[a]) })
		best[name] = order[0]
	}
	s.keep(func(r *Run) string {
		want := best[data(r)]
		if got := r.Result.Provenance.DataDigest; got != want {
			return fmt.Sprintf("its data have the digest %s, but those of %s, such as %s, have %s. The two studies did not have the same images: report each by itself",
				short(got), moreResults(len(of[data(r)][want])), of[data(r)][want][0], short(want))
		}
		return ""
	})
}

func moreResults(n int) string {
	if n == 1 {
		return "another result"
	}
	return fmt.Sprintf("%d results", n)
}

// short is a digest that people can compare.
func short(digest string) string {
	const length = len("sha256:") + 12
	if len(digest) > length {
		return digest[:length] + "…"
	}
	return digest
}

// anyProtocol returns the key of a cell without its protocol.
func anyProtocol(cell identity.Part) string {
	return cell.Without("protocol", "stream.drop_last").String()
}

// tableCells are the keys of all cells of tables, and by what they have whatever their protocol which protocol they are
// made of.
var tableCells = sync.OnceValues(func() (keys map[string]bool, protocols map[string]string) {
	keys, protocols = map[string]bool{}, map[string]string{}
	for _, label := range tables {
		for _, v := range survey.Read(label) {
			spec, ok := specOf(label, v)
			if !ok {
				continue
			}
			cell, _ := cellOf(spec.identity())
			keys[cell.String()] = true
			if base := anyProtocol(cell); protocols[base] == "" {
				protocols[base] = fmt.Sprintf("%s is made of runs with the protocol %s", label, spec.Protocol)
			}
		}
	}
	return keys, protocols
})

// otherProtocols leaves out the results that would fill a cell if it were not for their protocol. The trials of tuning
// are no such results.
func (s *Study) otherProtocols() {
	keys, protocols := tableCells()
	s.keep(func(r *Run) string {
		p := r.Result.Config.Protocol
		made := protocols[anyProtocol(r.cell)]
		if keys[r.key] || p == config.ProtocolTuning || made == "" {
			return ""
		}
		return fmt.Sprintf("its protocol is %s, but %s; such results are never averaged. Run it again with that protocol, or report it by itself",
			p, made)
	})
}
