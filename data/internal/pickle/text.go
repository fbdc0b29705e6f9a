package pickle

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quoted is a text of the file as messages show it: in single quotes as Python writes it, cut, without control characters.
func quoted(s string) string {
	const most = 40 // bytes
	cut := ""
	if len(s) > most {
		s, cut = strings.ToValidUTF8(s[:most], ""), "…"
	}
	plain := func(r rune) bool { return r != utf8.RuneError && r != '\'' && r != '\\' && unicode.IsPrint(r) }
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return "'" + s + cut + "'"
	}
	return strconv.Quote(s + cut)
}

// utf8Of is a text, or a str of Python 2, as a Go string. A str that is no UTF-8 is taken for Latin-1.
func utf8Of(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for _, c := range b {
		s.WriteRune(rune(c))
	}
	return s.String()
}

func (m *machine) pushText(b []byte) error {
	if !utf8.Valid(b) {
		return errors.New("a text is no UTF-8; the pickle is damaged")
	}
	return m.push(text(b))
}

// latin1 encodes a text as Latin-1, one byte for each character.
func latin1(t text) ([]byte, error) {
	out := make([]byte, 0, utf8.RuneCount(t))
	for i := 0; i < len(t); {
		r, n := utf8.DecodeRune(t[i:])
		if r > 0xff {
			return nil, fmt.Errorf("a text that stands for bytes has the character U+%04X, wanted at most U+00FF; the pickle is damaged", r)
		}
		out, i = append(out, byte(r)), i+n
	}
	return out, nil
}

// escapedText reads UNICODE: a line in Latin-1, where \uXXXX and \UXXXXXXXX are characters and nothing else is escaped.
func escapedText(m *machine) error {
	line, err := m.line()
	if err != nil {
		return err
	}
	out := make([]byte, 0, len(line))
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c != '\\' || i+1 == len(line) {
			out = utf8.AppendRune(out, rune(c))
			continue
		}
		i++
		digits := map[byte]int{'u': 4, 'U': 8}[line[i]]
		if digits == 0 {
			out = utf8.AppendRune(append(out, '\\'), rune(line[i]))
			continue
		}
		hex := line[i+1 : min(i+1+digits, len(line))]
		r, err := strconv.ParseUint(string(hex), 16, 32)
		if err != nil || len(hex) < digits || r > unicode.MaxRune || !utf8.ValidRune(rune(r)) {
			return fmt.Errorf("a text has the escape \\%c%s, which is no character; the pickle is damaged", line[i], quoted(string(hex)))
		}
		out, i = utf8.AppendRune(out, rune(r)), i+digits
	}
	return m.push(text(out))
}

// quotedString reads STRING: a str of Python 2 as repr writes it, in quotes.
func quotedString(m *machine) error {
	line, err := m.line()
	if err != nil {
		return err
	}
	if n := len(line) - 1; n < 1 || line[0] != line[n] || line[0] != '\'' && line[0] != '"' {
		return errors.New("a string has no quotes; the pickle is damaged")
	}
	out, err := unescaped(line[1 : len(line)-1])
	if err != nil {
		return err
	}
	return m.push(data(out))
}

// unescaped replaces the escapes that repr of Python 2 writes. It works in place: an escape is longer than its byte.
func unescaped(s []byte) ([]byte, error) {
	out := s[:0]
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' {
			out = append(out, c)
			continue
		}
		if i++; i == len(s) {
			return nil, errors.New("a string ends within an escape; the pickle is damaged")
		}
		switch c := s[i]; c {
		case '\\', '\'', '"':
			out = append(out, c)
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'x':
			hex := s[i+1 : min(i+3, len(s))]
			n, err := strconv.ParseUint(string(hex), 16, 8)
			if err != nil || len(hex) < 2 {
				return nil, errors.New("a string has \\x without two digits; the pickle is damaged")
			}
			out, i = append(out, byte(n)), i+2
		default:
			return nil, fmt.Errorf("a string has the escape %s, which Python does not write; the pickle is damaged", quoted(string(c)))
		}
	}
	return out, nil
}
