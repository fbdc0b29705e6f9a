package labelstudio

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ocl/internal/cause"
	"ocl/internal/limit"
	"ocl/internal/spelling"
)

// Config is what of a labelling config a choice of one class for a picture needs.
type Config struct {
	Control string   // name of its Choices, from_name of a result
	Object  string   // name of its Image, to_name of a result
	Field   string   // of the data of a task, which has the address of the picture
	Classes []string // that can be chosen; nil where each task brings its own
}

// Choice is the choice that is a class of the daemon, whose name may be another spelling of it; "" is none.
func (c Config) Choice(class string) string {
	if c.Classes == nil {
		return class
	}
	for _, name := range c.Classes {
		if spelling.Key(name) == spelling.Key(class) {
			return name
		}
	}
	return ""
}

// ParseConfig reads a labelling config. One that has not one choice of one class for one picture is an error. What else
// people can note is left out.
func ParseConfig(text string) (c Config, err error) {
	if len(text) > limit.Config {
		return c, errors.New("labelstudio: the labelling config is too long")
	}
	fields := map[string]string{} // of the Images, by name
	var choices []map[string]string
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Config{}, fmt.Errorf("labelstudio: the labelling config is no XML: %s", cause.Shown(err.Error()))
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		has := map[string]string{}
		for _, a := range start.Attr {
			has[strings.ToLower(a.Name.Local)] = a.Value
		}
		switch strings.ToLower(start.Name.Local) {
		case "image":
			fields[has["name"]] = has["value"]
		case "choices":
			choices = append(choices, has)
		case "choice":
			name := has["alias"]
			if name == "" {
				name = has["value"]
			}
			c.Classes = append(c.Classes, name)
		}
	}
	if len(choices) != 1 {
		return Config{}, fmt.Errorf("labelstudio: the labelling config has %d Choices, and one is learned. Use a config with one, and no Taxonomy in its place",
			len(choices))
	}
	one := choices[0]
	c.Control, c.Object = one["name"], one["toname"]
	field, there := fields[c.Object]
	_, is := strings.CutPrefix(field, "$")
	switch {
	case one["choice"] != "" && one["choice"] != "single" && one["choice"] != "single-radio":
		return Config{}, fmt.Errorf("labelstudio: the Choices %s let people choose several classes (choice=%s), and one is learned. Use choice=\"single\"",
			cause.Shown(c.Control), cause.Shown(one["choice"]))
	case slices.ContainsFunc([]string{"perregion", "peritem", "allownested"}, func(of string) bool { return one[of] == "true" }):
		return Config{}, fmt.Errorf("labelstudio: the Choices %s are for parts of a picture, or nested, and one class of a whole picture is learned. Leave out perRegion, perItem and allowNested",
			cause.Shown(c.Control))
	case !there:
		return Config{}, fmt.Errorf("labelstudio: the Choices %s are for %s, which is no Image. Let toName be the name of an Image",
			cause.Shown(c.Control), cause.Shown(c.Object))
	case !is:
		return Config{}, fmt.Errorf("labelstudio: the Image %s has the value %s. Use one such as $image, which names where tasks have the picture",
			cause.Shown(c.Object), cause.Shown(field))
	}
	c.Field = field[1:]
	return c, nil
}
