package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"ocl/internal/count"
)

// kilo prints a number of samples shortly: 5000 is "5k", 500 is "500".
func kilo(n int) string {
	if n >= 1000 && n%100 == 0 {
		return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) + "k"
	}
	return count.Number(n)
}

// unmeasured stands for a number that is none: a result may lack any of its values, and a sentence may need it.
const unmeasured = "–"

// percent prints a fraction in per cent with one decimal and no sign of the unit: 0.2135 is "21.4".
func percent(v float64) string {
	if math.IsNaN(v) {
		return unmeasured
	}
	s := strconv.FormatFloat(100*v, 'f', 1, 64)
	if s == "-0.0" {
		return "0.0"
	}
	return s
}

// significant prints a number with three significant digits.
func significant(v float64) string {
	if math.IsNaN(v) {
		return unmeasured
	}
	if v == 0 || math.Abs(v) >= 1000 {
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	return strconv.FormatFloat(v, 'f', min(digits, 9), 64)
}

// duration prints seconds for people: 4.2 is "4.2s", 160 is "2m40s", 9000 is "2h30m".
func duration(seconds float64) string {
	switch {
	case math.IsNaN(seconds):
		return unmeasured
	case seconds < 9.95:
		return strconv.FormatFloat(seconds, 'f', 1, 64) + "s"
	case seconds < 59.5:
		return fmt.Sprintf("%.0fs", seconds)
	case seconds < 3599.5:
		s := int(math.Round(seconds))
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	m := int(math.Round(seconds / 60))
	return fmt.Sprintf("%dh%02dm", m/60, m%60)
}

// bytesText prints a size: 1234567890 is "1.2 GB".
func bytesText(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), 0
	for v >= 999.5 && unit < 4 {
		v /= 1000
		unit++
	}
	digits := 0
	if v < 9.95 {
		digits = 1
	}
	return fmt.Sprintf("%.*f %s", digits, v, []string{"B", "kB", "MB", "GB", "TB"}[unit])
}

// andList joins words as a sentence does: "a", "a and b", "a, b and c".
func andList(v []string) string {
	if len(v) < 2 {
		return strings.Join(v, "")
	}
	return strings.Join(v[:len(v)-1], ", ") + " and " + v[len(v)-1]
}

// points prints a difference of two fractions in percentage points, whole: 0.31 is "31 points".
func points(v float64) string {
	if math.IsNaN(v) {
		return unmeasured + " points"
	}
	n := int(math.Round(100 * v))
	if n == 1 || n == -1 {
		return fmt.Sprintf("%d point", n)
	}
	return fmt.Sprintf("%d points", n)
}

// wrap breaks text into lines of at most width characters, at spaces.
func wrap(text string, width int) []string {
	var lines []string
	line, n := "", 0
	for _, w := range strings.Fields(text) {
		k := len([]rune(w))
		if n > 0 && n+1+k > width {
			lines = append(lines, line)
			line, n = "", 0
		}
		if n > 0 {
			line += " "
			n++
		}
		line += w
		n += k
	}
	return append(lines, line)
}
