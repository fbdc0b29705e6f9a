package processor

import (
	"os"
	"regexp"
)

// name is what /proc/cpuinfo says. On arm64 it names the board, if any, and numbers the kind of core.
func name() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	return nameIn(string(text))
}

var (
	// what the lines of /proc/cpuinfo may be called, the best first
	lines = []*regexp.Regexp{line("model name"), line("Model"), line("Hardware")}
	part  = line("CPU part")
)

func line(key string) *regexp.Regexp { return regexp.MustCompile(`(?m)^` + key + `\s*: *(.*\S) *$`) }

// cores are kinds of cores of machines that do not say their names.
var cores = map[string]string{"0xd08": "Cortex-A72", "0xd0b": "Cortex-A76", "0xd0c": "Neoverse N1", "0xd40": "Neoverse V1",
	"0xd49": "Neoverse N2", "0xd4f": "Neoverse V2"}

func nameIn(cpuinfo string) string {
	for _, l := range lines {
		if m := l.FindStringSubmatch(cpuinfo); m != nil {
			return m[1]
		}
	}
	if m := part.FindStringSubmatch(cpuinfo); m != nil {
		return cores[m[1]]
	}
	return ""
}
