package listen

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// line is a listener of pipes from addresses.
type line struct {
	net.Listener
	from []string
}

type pipe struct {
	net.Conn
	from string
}

func (p pipe) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(p.from), Port: 1} }

func (l *line) Accept() (net.Conn, error) {
	here, _ := net.Pipe()
	p := pipe{here, l.from[0]}
	l.from = l.from[1:]
	return p, nil
}

// TestACrowdMakesRoom: nobody waits for a place; who has most and has shown nothing goes first, and who works never.
func TestACrowdMakesRoom(t *testing.T) {
	var all []*visitor
	in := func(l net.Listener, from string) *visitor {
		l.(*crowd).Listener.(*line).from = []string{from}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		v := c.(*visitor)
		all = append(all, v)
		return v
	}
	work := func(v *visitor) func() { return Admit(ConnContext(context.Background(), v)) }
	l := Crowd(&line{}, 5, 3)
	gone := func(step string, want ...int) {
		t.Helper()
		var got []int
		for i, v := range all {
			if !v.of.here[v] {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v have gone, want %v", step, got, want)
		}
	}
	in(l, "10.0.0.1")
	in(l, "10.0.0.2")
	in(l, "10.0.0.2")
	gone("three strangers")
	in(l, "10.0.0.3")
	gone("a fourth one: the oldest of the address with two", 1)
	in(l, "2001:db8::1")
	gone("a fifth one: the oldest, as each address has one", 0, 1)
	endA, endB := work(all[2]), work(all[3])
	endC := work(all[4])
	in(l, "10.0.0.4")
	in(l, "10.0.0.5")
	gone("three who work, and two strangers", 0, 1)
	in(l, "10.0.0.6")
	gone("all of the known ones work, so the oldest stranger goes", 0, 1, 5)
	endB()
	endA()
	in(l, "10.0.0.7")
	gone("one that has been idle for the longest time", 0, 1, 3, 5)
	_ = all[2].Close()
	_ = all[2].Close()
	in(l, "10.0.0.8")
	gone("there is room, but not for a fourth stranger", 0, 1, 2, 3, 5, 6)
	endC()
	if n := len(l.(*crowd).here); n != 4 {
		t.Errorf("%d are here, want 4", n)
	}
}

// TestACrowdThatWorks: where all others are at work, the new one is closed at once, and none of the others.
func TestACrowdThatWorks(t *testing.T) {
	l := Crowd(&line{from: []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}}, 2, 2)
	for i := range 3 {
		v, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		Admit(ConnContext(t.Context(), v))
		if err := v.SetWriteDeadline(time.Time{}); (i == 2) != errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	if n := len(l.(*crowd).here); n != 2 {
		t.Errorf("%d are here, want 2", n)
	}
}

// TestStrangersAreBrief: what one who has shown nothing does not send ends soon, whatever the server allows; of others
// it allows.
func TestStrangersAreBrief(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Crowd(&line{from: []string{"10.0.0.1", "10.0.0.2"}}, 5, 3)
		for _, known := range []bool{false, true} {
			v, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			want := 2 * time.Minute
			if err := v.SetDeadline(began.Add(want)); err != nil {
				t.Fatal(err)
			}
			if !known {
				want = strangerTime
			} else {
				Admit(ConnContext(t.Context(), v))()
			}
			_, err = v.Read(make([]byte, 1))
			if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took != want {
				t.Errorf("known %t: %v after %v, want %v", known, err, took, want)
			}
		}
	})
}
