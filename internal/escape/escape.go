// Package escape makes text from outside safe to show: names of files and classes, and texts of other programs, may
// hold what a terminal obeys, a browser reads as markup or a spreadsheet as a formula, and marks that hide or turn what
// follows. There is one function for each format. HTML is escaped by html/template and, as all files are, by [Lines].
package escape

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shows says whether a character is seen as what it is. Control characters, bidirectional marks, zero-width characters
// and others without a look are not.
func shows(r rune) bool { return unicode.IsGraphic(r) || r == '\t' }

// Line is text for a line of a terminal: what does not show is escaped as in Go, such as \x1b or \u202e. Escaping twice
// is escaping once.
func Line(text string) string { return escaped(text, "") }

// Lines is [Line] for text of several lines, such as a whole file.
func Lines(text string) string { return escaped(text, "\n\r") }

func escaped(text, keep string) string {
	keeps := func(r rune) bool { return shows(r) || strings.ContainsRune(keep, r) }
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !keeps(r) }) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case keeps(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// Word is text as one word of a command, as Bash and Z shell read it.
func Word(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+=:@%,", r)
	}) {
		return text
	}
	if Line(text) != text { // what does not show
		return "$'" + Line(strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text)) + "'"
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// JSON is JSON in which what does not show is written as \u202e or two such, which means the same.
func JSON(text []byte) []byte {
	if !slices.ContainsFunc([]rune(string(text)), hidden) {
		return text
	}
	var b []byte
	for _, r := range string(text) {
		switch {
		case !hidden(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}

// hidden says whether a character of JSON does not show; those below 0x20 are between values, and escaped within them.
func hidden(r rune) bool { return r >= 0x7f && !shows(r) }

// markdown are the characters that are markup within a line. A backslash before < is not enough for every reader.
var markdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "&",
	"&amp;", "<", "&lt;", "\n", " ", "\r", " ", "\t", " ")

// Markdown is text as part of a line of Markdown or of a cell of a table there.
func Markdown(text string) string {
	text = Line(markdown.Replace(text))
	if !strings.Contains(text, "_") {
		return text
	}
	var b strings.Builder
	before := ' '
	for i, r := range text {
		// Within a word, as in weight_decay, it is no markup.
		if after, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):]); r == '_' && !(isWord(before) && isWord(after)) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// tex are the characters that mean something in LaTeX, and those beyond ASCII that it has another name for. A bracket
// or a star after the end of a line of a table would be an argument of it.
var tex = strings.NewReplacer(`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "[", "{[}", "]", "{]}", "*", "{*}", "%",
	`\%`, "&", `\&`, "#", `\#`, "$", `\$`, "_", `\_`, "^", `\^{}`,
	"~", `\~{}`, "`", `\textasciigrave{}`, `"`, "''", "<", `\textless{}`, ">", `\textgreater{}`, "|", `\textbar{}`, "--",
	"-{}-", "\t", " ", "\u00a0", "~",
	"±", `$\pm$`, "−", `$-$`, "–", "--", "—", "---", "≈", `$\approx$`, "≤", `$\le$`, "≥", `$\ge$`, "·", `$\cdot$`, "×",
	`$\times$`, "⁺", `$^+$`, "²", `$^2$`, "ⁿ", `$^n$`,
	"λ", `$\lambda$`, "α", `$\alpha$`, "β", `$\beta$`, "γ", `$\gamma$`, "µ", `$\mu$`, "μ", `$\mu$`, "…", `\ldots{}`, "→",
	`$\to$`, "↑", `$\uparrow$`, "↓", `$\downarrow$`,
	"“", "``", "”", "''", "‘", "`", "’", "'")

// TeX is text as part of a line of LaTeX, as every LaTeX typesets it without further packages. Letters of Western
// Europe stay; any other character that has no name there is written as its number, such as U+65E5.
func TeX(text string) string {
	var b strings.Builder
	for _, r := range tex.Replace(Line(text)) {
		if r <= '~' || r >= 'À' && r <= 'ÿ' && !strings.ContainsRune("ÐÞðþ÷", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "U+%04X", r)
		}
	}
	return b.String()
}

// CSV are the cells of a line of CSV. One that a spreadsheet would take for a formula gets an apostrophe before it, by
// which spreadsheets know text. Who wants the text itself takes it from JSON.
func CSV(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		if out[i] = Line(c); isFormula(c) {
			out[i] = "'" + out[i]
		}
	}
	return out
}

// isFormula says whether a spreadsheet would compute a cell. After a sign, numbers such as -0.5 or +1.2 ± 0.3 are
// harmless.
func isFormula(cell string) bool {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return false
	}
	_, err := strconv.ParseFloat(cell, 64)
	return err != nil && (!strings.ContainsRune("+-", rune(cell[0])) || strings.ContainsFunc(cell, unicode.IsLetter))
}
