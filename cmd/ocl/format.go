package main

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// percent prints a fraction: 0.2136 is "21.4 %".
func percent(v float64) string {
	s := strconv.FormatFloat(math.Round(1e9*100*v)/1e9, 'f', 1, 64) // so that equal shares, computed in two ways, are printed alike
	if s == "-0.0" {
		s = "0.0"
	}
	return s + " %"
}

// duration prints a time for people: "8s", "2m40s", "3h05m".
func duration(d time.Duration) string {
	switch s := int64(math.Round(d.Seconds())); {
	case s < 60:
		return fmt.Sprintf("%ds", max(s, 0))
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	default:
		m := int64(math.Round(d.Minutes()))
		return fmt.Sprintf("%dh%02dm", m/60, m%60)
	}
}

// byteCount prints a size: 1234567890 is "1.2 GB".
func byteCount(n int64) string {
	v, units := float64(n), []string{"B", "kB", "MB", "GB", "TB"}
	unit := 0
	for v >= 999.95 && unit < len(units)-1 {
		v /= 1000
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[unit])
}
