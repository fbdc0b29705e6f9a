// Package cause words the reasons of errors for messages: the system's error about a file that the message names
// already, errors that wrap another one without its text, and words from files.
package cause

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Of returns the system's error about a file, without the operation and the path. Other errors are returned unchanged.
func Of(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// As returns an error with the text of err that is also target for [errors.Is]; nil for nil.
func As(err, target error) error {
	if err == nil {
		return nil
	}
	return marked{err, target}
}

type marked struct {
	error
	target error
}

func (m marked) Unwrap() []error { return []error{m.error, m.target} }

// Line is the first line of a text, for a line of a list.
func Line(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// Shown is a word from a file, for a message: shortened if it is long, and in quotes if it is empty or has spaces or
// characters that a terminal must not get.
func Shown(word string) string {
	const most = 80
	if r := []rune(word); len(r) > most {
		word = string(r[:most]) + "…"
	}
	if word == "" || strings.ContainsFunc(word, func(r rune) bool {
		return r == ' ' || r == '\ufffd' ||
			!strconv.IsPrint(r)
	}) {
		return strconv.Quote(word)
	}
	return word
}
