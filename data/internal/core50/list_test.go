package core50

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// text is a list as it was published.
func (l List) text() []byte {
	var b []byte
	for row := range l.rows {
		b = append(append(b, row...), '\n')
	}
	return b
}

// wantError checks that an error says something.
func wantError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want it to say %q", name, err, want)
	}
}

// TestListText: lines are those of the official lists. Run 0 of NC learns the objects 30, 35 and so on second, so object
// 30 has label 10 there.
func TestListText(t *testing.T) {
	for _, c := range []struct {
		list  List
		begin string
		lines int
	}{
		{List{NC, 0, 1}, "s1/o30/C_01_30_000.png 10\n", 11993},
		{List{NC, 0, TestTask}, "s3/o1/C_03_01_001.png 0\n", 44972},
		{List{NI, 0, 0}, "s11/o1/C_11_01_000.png 0\n", 14991},
		{List{NI, 3, TestTask}, "s3/o1/C_03_01_001.png 0\n", 44972},
	} {
		text := c.list.text()
		if n := bytes.Count(text, []byte("\n")); n != c.lines || !bytes.HasPrefix(text, []byte(c.begin)) {
			t.Errorf("%s: %d lines, the first is %.40q", c.list.Path(), n, text)
		}
		if err := c.list.Check(bytes.NewReader(text)); err != nil {
			t.Errorf("%s: %v", c.list.Path(), err)
		}
	}
}

// TestListFaults: a list that differs in anything but the ends of its lines is refused, with the line.
func TestListFaults(t *testing.T) {
	l := List{NI, 0, 0}
	good := l.text()
	lines := bytes.Split(bytes.TrimSuffix(good, []byte("\n")), []byte("\n"))
	join := func(lines ...[]byte) []byte { return bytes.Join(lines, []byte("\n")) }
	last := len(lines) - 1
	for _, c := range []struct {
		name string
		text []byte
		want string // "" is accepted
	}{
		{"lines of Windows", bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n")), ""},
		{"no newline at the end", bytes.TrimSuffix(good, []byte("\n")), ""},
		{"empty", nil, `the list ends after line 0, wanted "s11/o1/C_11_01_000.png 0" next`},
		{"cut off", join(lines[:last]...), fmt.Sprintf(`the list ends after line %d, wanted "s11/o9/C_11_09_299.png 8" next`, last)},
		{"label out of range", bytes.Replace(good, []byte("_002.png 0\n"), []byte("_002.png 50\n"), 1), `line 3 is "s11/o1/C_11_01_002.png 50", wanted "s11/o1/C_11_01_002.png 0"`},
		{"row twice", join(append([][]byte{lines[0], lines[0]}, lines[1:]...)...), `line 2 is "s11/o1/C_11_01_000.png 0", wanted`},
		{"row more", append(bytes.Clone(good), "more\n"...), fmt.Sprintf(`line %d is "more", wanted the end`, last+2)},
		{"empty line more", append(bytes.Clone(good), '\n'), fmt.Sprintf(`line %d is "", wanted the end`, last+2)},
		{"long line", bytes.Repeat([]byte("x"), 1<<20), "line 1: bufio.Scanner: token too long"},
		{"control characters", []byte("\x1b[2J\n"), `line 1 is "\x1b[2J", wanted`},
	} {
		err := l.Check(bytes.NewReader(c.text))
		if c.want != "" {
			wantError(t, c.name, err, c.want)
		} else if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
