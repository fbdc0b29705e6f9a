package method

import (
	"embed"
	"strings"
)

// pages are the explanations of methods and tricks, one file each, for docs/methods.md.
//
//go:embed page
var pages embed.FS

// Page explains the method to somebody who has not read its paper, in Markdown. "" means that there is no page/NAME.md.
func (i Info) Page() string { return page(i.Name) }

// Page explains the trick, as [Info.Page] does for a method. In the file's name "star" stands for the asterisk.
func (t Trick) Page() string { return page("trick_" + strings.ReplaceAll(t.Name, "*", "_star")) }

func page(name string) string {
	text, err := pages.ReadFile("page/" + name + ".md")
	if err != nil {
		return ""
	}
	return string(text)
}
