// Package listen has what the program's servers share: how many connections are open at once, and by which names a browser may ask for them.
package listen

import (
	"net"
	"strings"
	"sync"
)

// Limited is a listener that has at most n connections open. Others wait.
func Limited(l net.Listener, n int) net.Listener {
	return &crowded{Listener: l, places: make(chan struct{}, n), closed: make(chan struct{})}
}

// crowded is a listener that has so many connections open at most. Others wait.
type crowded struct {
	net.Listener
	places chan struct{}
	once   sync.Once
	closed chan struct{}
}

// Accept implements [net.Listener].
func (l *crowded) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &guest{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

// Close implements [net.Listener]. A full listener does not wait for a place any longer.
func (l *crowded) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// guest is a connection that gives its place back when it is closed.
type guest struct {
	net.Conn
	leave func()
}

// Close implements [net.Conn].
func (c *guest) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// Knows says whether a Host header names this machine without a name that others can give it: an address in numbers, localhost, or one of own. A page
// elsewhere can let its own name mean this machine, and its browser would then let it read the answers.
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
