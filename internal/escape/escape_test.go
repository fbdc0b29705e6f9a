package escape

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"Ψ×€ 日本\u3000\tok":     "Ψ×€ 日本\u3000\tok",
		"a\x1b[31mb\rc\x00\n":  `a\x1b[31mb\rc\x00\n`,
		"\xff\x9b2J\u009b":     `\xff\x9b2J\u009b`,
		"\u202etxt.exe\u2066":  `\u202etxt.exe\u2066`,
		"a\u200bb\ufeff\u00ad": `a\u200bb\ufeff\u00ad`,
		`\x1b \ "'`:            `\x1b \ "'`,
		"":                     "",
	} {
		if got := Line(in); got != want || Line(got) != got {
			t.Errorf("%q: %s, and again %s; want %s", in, got, Line(got), want)
		}
	}
	if got, want := Lines("a\n\u202eb\r\n\x1b"), "a\n\\u202eb\r\n\\x1b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWord: a word for a command line is that word to a shell, and shows what it is.
func TestWord(t *testing.T) {
	for word, want := range map[string]string{
		"a-b/c.d": "a-b/c.d", "my runs": "'my runs'",
		"":                 "''",
		"it's $1":          `'it'\''s $1'`,
		"a\\'\x1b\u202e\n": `$'a\\\'\x1b\u202e\n'`,
	} {
		if got := Word(word); got != want {
			t.Errorf("%q becomes %s, want %s", word, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	in := "a\u202e\u009b\U000e0001\x7f日本\n\x1b<"
	text, err := json.MarshalIndent(map[string]string{in: in}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got := JSON(text)
	var back map[string]string
	if err := json.Unmarshal(got, &back); err != nil || back[in] != in || Lines(string(got)) != string(got) {
		t.Errorf("%s is read as %q, %v", got, back, err)
	}
}

func TestMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"<script>alert(1)</script>": "&lt;script>alert(1)&lt;/script>",
		"a|b`c`*d*":                 "a\\|b\\`c\\`\\*d\\*",
		"[x](javascript:1)\\":       `\[x\](javascript:1)\\`,
		"a\nb&amp;\x1b\u202e":       `a b&amp;amp;\x1b\u202e`,
		"weight_decay __init__ _":   `weight_decay \_\_init\_\_ \_`,
		"ER + RV, 12.3 ± 0.4":       "ER + RV, 12.3 ± 0.4",
	} {
		if got := Markdown(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestCSV(t *testing.T) {
	for in, want := range map[string]string{
		"=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0", "@SUM(1)": "'@SUM(1)", "+1+A2": "'+1+A2", "+1.2 ± 0.3": "+1.2 ± 0.3",
		"=1": "'=1", "-2": "-2", "-1e-5": "-1e-5", "+Inf": "+Inf", "-a.png": "'-a.png",
		"\t=1": "'\t=1", "\r=1": `'\r=1`, "a=1": "a=1", "": "", "–": "–", "a\x1bb": `a\x1bb`,
	} {
		if got := CSV([]string{in, in}); got[0] != want || got[1] != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if strings.Join(CSV(nil), "") != "" {
		t.Error("no cells become some")
	}
}

func TestTeX(t *testing.T) {
	for in, want := range map[string]string{
		`a_b & 100 % #1 $x {y} \z^2 ~`: `a\_b \& 100 \% \#1 \$x \{y\} \textbackslash{}z\^{}2 \~{}`,
		"[a] *b --seeds <x>|\"`":       `{[}a{]} {*}b -{}-seeds \textless{}x\textgreater{}\textbar{}''\textasciigrave{}`,
		"12.3 ± 0.4, 1–3, λ, Müller":   `12.3 $\pm$ 0.4, 1--3, $\lambda$, Müller`,
		"日 đ 😀 \x1b":                   `U+65E5 U+0111 U+1F600 \textbackslash{}x1b`,
	} {
		if got := TeX(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
