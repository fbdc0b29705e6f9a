// Package listen has what the program's servers share: how they serve and end, how many connections are open at once,
// by which names a browser may ask for them, and how they answer: the headers of every answer, pages with their policy,
// and server-sent events. Start at [Serve] and [Crowd].
package listen

import (
	"net"
	"strings"
)

// Knows says whether a Host header names this machine without a name that others can give it: an address in numbers,
// localhost, or one of own. A page elsewhere can let its own name mean this machine, and its browser would then let it
// read the answers.
func Knows(host string, own ...string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	for _, o := range own {
		if name != "" && name == strings.ToLower(o) {
			return true
		}
	}
	return name == "localhost" || net.ParseIP(name) != nil
}
