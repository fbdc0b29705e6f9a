package listen

import (
	"context"
	"math"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Crowd is a listener that never lets anybody wait: where more connections are open than most, or more of strangers
// than strangers, one is closed. A connection is a stranger's until [Admit] says that it is not. Of too many strangers
// the oldest one goes of the address that has most of them. Else the one that has been idle for the longest time goes
// of those that are no strangers'; if all of them are at work, a stranger's as before. That is the new one itself where
// there is no other: Accept then returns it closed.
// The server's ConnContext must be [ConnContext].
func Crowd(l net.Listener, most, strangers int) net.Listener {
	return &crowd{Listener: l, most: most, strangers: strangers, here: map[*visitor]bool{}}
}

// strangerTime is how long a stranger may send nothing.
const strangerTime = 10 * time.Second

type crowd struct {
	net.Listener
	most, strangers int

	mu   sync.Mutex
	here map[*visitor]bool
	now  int64 // counts what happens
}

// visitor is a connection. The crowd's mu holds its numbers.
type visitor struct {
	net.Conn
	of      *crowd
	from    netip.Prefix // zero where the address is none
	known   bool
	working int       // requests
	since   int64     // when it came, or became idle
	until   time.Time // deadline of reading that the server wants
}

// Accept implements [net.Listener].
func (c *crowd) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	v := &visitor{Conn: conn, of: c, from: origin(conn.RemoteAddr())}
	c.mu.Lock()
	c.now++
	v.since = c.now
	c.here[v] = true
	goes := c.surplus()
	delete(c.here, goes)
	c.mu.Unlock()
	if goes != nil {
		_ = goes.Conn.Close() // its request ends by that
	}
	return v, nil
}

// origin is the network of an address, of which one host has at least one: a host with IPv6 has many addresses.
func origin(a net.Addr) netip.Prefix {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip, bits := t.AddrPort().Addr().Unmap(), 32
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.WithZone("").Prefix(bits) // so many bits are there
	return p
}

// surplus is the connection that has to go; nil is none. The caller holds mu.
func (c *crowd) surplus() (goes *visitor) {
	many := map[netip.Prefix]int{}
	strangers, least := 0, int64(math.MaxInt64)
	for v := range c.here {
		switch {
		case !v.known:
			many[v.from]++
			strangers++
		case v.working == 0 && v.since < least:
			goes, least = v, v.since
		}
	}
	switch {
	case strangers > c.strangers: // one of them goes, also where others are idle
		goes = nil
	case len(c.here) <= c.most:
		return nil
	case goes != nil:
		return goes
	}
	for v := range c.here {
		if !v.known && (goes == nil || many[v.from] > many[goes.from] || many[v.from] == many[goes.from] &&
			v.since < goes.since) {
			goes = v
		}
	}
	return goes
}

// visitorKey is the key of a request's connection in its context.
type visitorKey struct{}

// ConnContext is that of a server that listens by a [Crowd].
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = t.NetConn()
	}
	if v, ok := c.(*visitor); ok {
		return context.WithValue(ctx, visitorKey{}, v)
	}
	return ctx
}

// Admit says that a request of one who may ask is at work, until done is called. Its connection is no stranger's from
// now on.
func Admit(ctx context.Context) (done func()) {
	v, ok := ctx.Value(visitorKey{}).(*visitor)
	if !ok {
		return func() {}
	}
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	v.working++
	if !v.known {
		v.known = true
		_ = v.Conn.SetReadDeadline(v.until) // a closed one reads no more anyway
	}
	return func() {
		v.of.mu.Lock()
		defer v.of.mu.Unlock()
		v.working--
		v.of.now++
		v.since = v.of.now
	}
}

// Close implements [net.Conn].
func (v *visitor) Close() error {
	v.of.mu.Lock()
	delete(v.of.here, v)
	v.of.mu.Unlock()
	return v.Conn.Close()
}

// SetReadDeadline implements [net.Conn]. That of a stranger is soon.
func (v *visitor) SetReadDeadline(t time.Time) error {
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	v.until = t
	if soon := time.Now().Add(strangerTime); !v.known && (t.IsZero() || t.After(soon)) {
		t = soon
	}
	return v.Conn.SetReadDeadline(t)
}

// SetDeadline implements [net.Conn].
func (v *visitor) SetDeadline(t time.Time) error {
	if err := v.SetReadDeadline(t); err != nil {
		return err
	}
	return v.SetWriteDeadline(t)
}
