package count

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// None stands for a number that is none.
const None = "–"

// Fixed prints a number with so many decimals, and never −0.
func Fixed(v float64, decimals int) string {
	if math.IsNaN(v) {
		return None
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}

// Percent prints a fraction in per cent with one decimal and without the sign of the unit: 0.2135 is "21.4".
func Percent(v float64) string { return Fixed(100*v, 1) }

// Exact prints a number in full precision, and nothing for one that is none: for files that programs read.
func Exact(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Chance prints a probability with three decimals: "0.012", "< 0.001".
func Chance(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return Fixed(p, 3)
}

// Signed prints a difference with its sign: "+1.2", "−0.3", "+0.0".
func Signed(v float64, decimals int) string {
	if math.IsNaN(v) {
		return None
	}
	tens := math.Pow10(decimals)
	// adding zero turns -0 into 0
	return strings.ReplaceAll(fmt.Sprintf("%+.*f", decimals, math.Round(v*tens)/tens+0), "-", "−")
}

// PlusMinus prints a mean with half of its interval, "17.5 ± 0.4", or the mean alone where it has none.
func PlusMinus(mean, half float64, number func(float64) string) string {
	if math.IsNaN(half) {
		return number(mean)
	}
	return number(mean) + " ± " + number(half)
}

// Significant prints a number with three significant digits.
func Significant(v float64) string {
	if math.IsNaN(v) {
		return None
	}
	if v == 0 || math.Abs(v) >= 1000 {
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	return strconv.FormatFloat(v, 'f', min(digits, 9), 64)
}

// Duration prints seconds: 4.2 is "4.2s", 160 is "2m40s", 9000 is "2h30m".
func Duration(seconds float64) string {
	switch {
	case math.IsNaN(seconds):
		return None
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

// Bytes prints a size: 1234567890 is "1.2 GB".
func Bytes(n int64) string {
	v, units := float64(n), []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	unit := 0
	for v >= 999.5 && unit < len(units)-1 {
		v /= 1000
		unit++
	}
	digits := 0
	if unit > 0 && v < 9.95 {
		digits = 1
	}
	return fmt.Sprintf("%.*f %s", digits, v, units[unit])
}

// Short prints a number of samples: 5000 is "5k", 500 is "500".
func Short(n int) string {
	if n >= 1000 && n%100 == 0 {
		return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) + "k"
	}
	return Number(n)
}

// And joins words as a sentence does: "a", "a and b", "a, b and c".
func And(v []string) string {
	if len(v) < 2 {
		return strings.Join(v, "")
	}
	return strings.Join(v[:len(v)-1], ", ") + " and " + v[len(v)-1]
}
