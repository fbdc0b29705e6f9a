package cli

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"html/template"
	"image/jpeg"
	"slices"
	"strings"

	"ocl/data"
	"ocl/data/sheet"
	"ocl/doctor"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/view/report"
)

const (
	// pageSide is the side of pictures on the page, in pixels.
	pageSide = 128
	// pageFindings bounds the findings of a kind on the page, and pageCopies the pictures of one.
	pageFindings, pageCopies = 200, 8
)

const doctorCSS = `.found{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,18rem),1fr));gap:1rem;padding:0;list-style:none}
.found li{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.6rem;max-width:none}
.found .pictures{display:flex;flex-wrap:wrap;gap:.4rem}
.found figure{margin:0;max-width:128px}
.found img{display:block;width:128px;height:128px;object-fit:contain;background:var(--bg)}
.found figcaption{font-size:.8rem;overflow-wrap:anywhere;color:var(--muted)}
.found p{margin:.4rem 0 0;overflow-wrap:anywhere}`

var doctorTemplate = template.Must(template.New("doctor").Parse(`{{.Head}}
<body>
<header><h1>{{.Title}}</h1></header>
<main>
<p>{{.Summary}}</p>
{{if .Sections}}<nav aria-label="Findings"><ul>{{range .Sections}}<li><a href="#{{.ID}}">{{.Title}} ({{.Count}})</a></li>{{end}}</ul></nav>{{end}}
{{range .Sections}}<section id="{{.ID}}"><h2>{{.Title}}: {{.Count}}</h2>
{{if .More}}<p class="note">{{.More}}</p>{{end}}
<ol class="found">{{range .Cards}}<li>{{if .Pictures}}<div class="pictures">{{range .Pictures}}<figure>{{if .Src}}<img src="{{.Src}}" alt="{{.Label}}" width="128" height="128"/>{{end}}<figcaption>{{.Name}}{{if .Label}}<br/>label: <b>{{.Label}}</b>{{end}}</figcaption></figure>{{end}}</div>{{end}}<p>{{.Text}}</p></li>
{{end}}</ol></section>
{{end}}</main>
<footer><p class="note">Written by ocl doctor. findings.csv has all findings.</p></footer>
</body>
</html>
`))

type doctorCard struct {
	Pictures []doctorPicture
	Text     string
}

type doctorPicture struct {
	Src         template.URL
	Name, Label string
}

type doctorSection struct {
	ID, Title, Count, More string
	Cards                  []doctorCard
}

// doctorPage is a page with the pictures of all findings, the worst first. It needs no other file.
func doctorPage(dir string, set *data.Set, found *doctor.Findings) ([]byte, error) {
	var sections []doctorSection
	for _, kind := range doctor.Kinds {
		list := found.Of(kind)
		if len(list) == 0 {
			continue
		}
		title := kindTitles[kind]
		s := doctorSection{ID: strings.ReplaceAll(string(kind), "_", "-"), Title: strings.ToUpper(title[:1]) + title[1:],
			Count: count.Number(len(list))}
		if len(list) > pageFindings {
			s.More = fmt.Sprintf("The first %s are shown.", count.Number(pageFindings))
		}
		for _, one := range list[:min(pageFindings, len(list))] {
			card := doctorCard{Text: escape.Line(cardText(one))}
			for _, m := range one.Images[:min(pageCopies, len(one.Images))] {
				p := doctorPicture{Name: escape.Line(m.Name(dir)), Label: escape.Line(m.Label)}
				if kind != doctor.Unreadable && !set.Embeddings {
					src, err := thumbnail(set, m)
					if err != nil {
						return nil, err
					}
					p.Src = src
				}
				card.Pictures = append(card.Pictures, p)
			}
			if more := len(one.Images) - pageCopies; more > 0 {
				card.Text += fmt.Sprintf(" %s more are not shown.", count.Number(more))
			}
			s.Cards = append(s.Cards, card)
		}
		sections = append(sections, s)
	}
	var b bytes.Buffer
	err := doctorTemplate.Execute(&b, map[string]any{
		"Head":  report.Head("ocl doctor", doctorCSS, `<link rel="icon" href="data:,"/>`),
		"Title": fmt.Sprintf("%s in %s", count.Of(len(found.List), "finding"), escape.Line(cmp.Or(dir, found.Data))), "Sections": sections,
		"Summary": escape.Line(summaryOf(found))})
	return b.Bytes(), err
}

// cardText says what is wrong.
func cardText(one doctor.Finding) string {
	copies := map[bool]string{false: "The pixels are the same.",
		true: "One picture, stored, scaled, lit or cropped anew."}[one.Near]
	switch one.Kind {
	case doctor.WrongLabel:
		verb := "Perhaps "
		if one.Sure {
			verb = "Probably "
		}
		return fmt.Sprintf("%s%s. The label has a probability of %s %%.", verb, one.Suggested, count.Percent(one.Probability))
	case doctor.Alike:
		return fmt.Sprintf("%s: %s %% of their images are taken for the other.", strings.Join(one.Classes, ", "),
			count.Percent(one.Probability))
	case doctor.Few:
		return one.Classes[0] + ": " + one.Text
	case doctor.TestInTraining:
		places := []string{}
		for _, m := range one.Images {
			if place := map[bool]string{false: "training", true: "testing"}[m.Test]; !slices.Contains(places, place) {
				places = append(places, place)
			}
		}
		return copies + " In the halves for " + count.And(places) + "."
	case doctor.TwoLabels, doctor.Duplicate:
		return copies
	}
	return one.Text
}

// thumbnail is an image as a URL that has it all.
func thumbnail(set *data.Set, m doctor.Image) (template.URL, error) {
	of := *set
	if !m.Test {
		of.Test = set.Train
	}
	images, err := sheet.Images(&of, []int32{int32(m.Index)}, pageSide)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, images[0], &jpeg.Options{Quality: 75}); err != nil {
		return "", err
	}
	return template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(b.Bytes())), nil
}
