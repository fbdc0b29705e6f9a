package build

import (
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/data"
)

// TestOrderByNames: an order of classes by their names becomes one by their numbers, and names that the data do not
// have are said.
func TestOrderByNames(t *testing.T) {
	set := &data.Set{Name: "mine", C: 3, H: 8, W: 8, Classes: 3, ClassNames: []string{"caf\u00e9", "dog", "owl"}}
	for text, want := range map[string][]int{"owl,dog,cafe\u0301": {2, 1, 0}, "2,1,0": {2, 1, 0},
		"[dog, 'owl', café]": {1, 2, 0}} {
		c := config.Default()
		if err := Schema().Set(&c, "stream.class_order", text); err != nil {
			t.Fatal(err)
		}
		if err := CompleteStream(set, &c); err != nil || !slices.Equal(c.Stream.ClassOrder.Classes, want) ||
			c.Stream.ClassOrder.Called != nil {
			t.Errorf("%s: %+v (%v)", text, c.Stream.ClassOrder, err)
		}
	}
	nameless := *set
	nameless.ClassNames = nil
	for _, f := range []struct {
		names []string
		set   *data.Set
		want  string
	}{
		{[]string{"owll", "dog", "café"}, set, `mine has no class "owll". Did you mean "owl"?`},
		{[]string{"owl", "dog", "xyzzyx"}, set, `mine has no class "xyzzyx". Its classes are café, dog, owl`},
		{[]string{"owl", "dog", "owl"}, set, `the class "owl" is listed twice`},
		{[]string{"owl", "dog"}, set, "the list has 2 classes, but mine has 3"},
		{[]string{"owl"}, &nameless, "mine does not name its classes. List their numbers, from 0 to 2"},
	} {
		c := config.Default()
		c.Stream.ClassOrder = config.Order{Called: f.names}
		if err := CompleteStream(f.set, &c); err == nil || !strings.Contains(err.Error(), f.want) {
			t.Errorf("%q: %v", f.names, err)
		}
	}
}
