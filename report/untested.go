package report

import (
	"fmt"
	"math"
	"strings"
)

// mostNamed is the largest number of classes that a note names.
const mostNamed = 5

// untested are the classes that were learned and evaluated, and yet no run has an accuracy of them: they have no test
// images. Results without accuracies by class say nothing of it.
func (s *setting) untested() []int {
	tested, learned := map[int]bool{}, map[int]bool{}
	for _, g := range s.rows {
		for _, r := range g.runs {
			last := r.lastRow()
			found := false
			for c := range s.stream.Classes {
				if !math.IsNaN(at(r.PerClass, last, c)) {
					tested[c], found = true, true
				}
			}
			for j := 0; found && j <= min(last, len(r.Stream.Tasks)-1); j++ {
				for _, c := range r.Stream.Tasks[j].Classes {
					learned[c] = true
				}
			}
		}
	}
	var classes []int
	for c := range s.stream.Classes {
		if learned[c] && !tested[c] {
			classes = append(classes, c)
		}
	}
	return classes
}

// untestedNote names the classes without test images; "" if there are none.
func (s *setting) untestedNote() string {
	var names []string
	for _, c := range s.untested() {
		names = append(names, s.rows[0].className(c))
	}
	n := len(names)
	switch {
	case n == 0:
		return ""
	case n == 1:
		return fmt.Sprintf("%s: %s has no readable test images, so its accuracy is unknown.", upper(s.Name), names[0])
	case n > mostNamed:
		names = append(names[:mostNamed-1], fmt.Sprintf("%s and %d more", names[mostNamed-1], n-mostNamed))
	}
	return fmt.Sprintf("%s: %d classes have no readable test images, so their accuracy is unknown: %s.", upper(s.Name), n, strings.Join(names, ", "))
}
