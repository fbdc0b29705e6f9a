package checkpoint

import (
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// word is a Marshaler.
type word string

func (w *word) MarshalBinary() ([]byte, error) { return []byte("<" + *w + ">"), nil }
func (w *word) UnmarshalBinary(b []byte) error {
	if len(b) < 2 || b[0] != '<' {
		return errors.New("no word")
	}
	*w = word(b[1 : len(b)-1])
	return nil
}

type label int32

// everything is a state with a part of each kind.
type everything struct {
	count  int
	steps  int64
	loss   float64
	begun  bool
	fixed  []float32
	rates  []float64
	grown  []float32
	scores []float64
	labels []label
	slots  []int
	places []int64
	pixels []byte
	name   string
	notes  map[string]int
	word   word
	inner  []float32
	there  bool
	extra  []float32
	signs  []bool // saved as the places of those that are set

	sum int // of slots, made on loading
}

func (s *everything) parts() Parts {
	length := len(s.inner)
	return Parts{
		Values("values", &s.count, &s.steps, &s.loss, &s.begun),
		Numbers("fixed", s.fixed), Numbers("rates", s.rates),
		List("grown", &s.grown), List("scores", &s.scores),
		Int32List("labels", &s.labels), Int32List("slots", &s.slots), List("places", &s.places),
		Then(func() error {
			s.sum = 0
			for _, x := range s.slots {
				s.sum += x
			}
			if s.sum > 100 {
				return errors.New("too much")
			}
			return nil
		}),
		Bytes("pixels", &s.pixels), Bytes("name", &s.name), JSON("notes", &s.notes), Binary("word", &s.word),
		Sub("below", Parts{
			Values("length", &length),
			Later(func() Parts {
				s.inner = append(s.inner[:0], make([]float32, max(0, length-len(s.inner)))...)[:length]
				return Parts{Numbers("inner", s.inner)}
			}),
		}),
		Inline(Parts{Values("inline", &s.count)}),
		Either(&s.there, "extra", Parts{List("extra", &s.extra)}, Parts{Values("none", new(int))}),
		Via(func() (at []int) {
			for i, is := range s.signs {
				if is {
					at = append(at, i)
				}
			}
			return at
		}, func(at []int) error {
			clear(s.signs)
			for _, i := range at {
				if i >= len(s.signs) {
					return errors.New("no such place")
				}
				s.signs[i] = true
			}
			return nil
		}, func(v *[]int) Part { return Int32List("signs", v) }),
	}
}

func whole() *everything {
	return &everything{
		count: -3, steps: 1 << 40, loss: math.Inf(-1), begun: true,
		fixed: []float32{1, 2}, rates: []float64{0.5}, grown: []float32{7, 8, 9}, scores: []float64{1e-300},
		labels: []label{4, -1}, slots: []int{1, 30}, places: []int64{1 << 40, -1}, pixels: []byte{0, 255}, name: "avx2",
		notes: map[string]int{"a": 1},
		word:  "pcg", inner: nil, there: true, extra: []float32{3}, signs: []bool{false, true, true}, sum: 31,
	}
}

func saved(t *testing.T, p Parts) *Container {
	t.Helper()
	c := NewContainer()
	if err := p.SaveState(c.Encoder()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestParts: what was saved is loaded into another owner, whatever that held before.
func TestParts(t *testing.T) {
	want := whole()
	c := saved(t, want.parts())
	names := []string{"values", "fixed", "rates", "grown", "scores", "labels", "slots", "places", "pixels", "name",
		"notes", "word", "below/length", "below/inner",
		"inline", "extra", "signs"}
	if d := cmp.Diff(names, c.Names()); d != "" {
		t.Errorf("sections: %s", d)
	}
	for name, other := range map[string]*everything{
		"fresh": {fixed: make([]float32, 2), rates: make([]float64, 1), signs: make([]bool, 3)},
		"used": {fixed: []float32{5, 6}, rates: []float64{1}, grown: []float32{1}, slots: []int{9, 9, 9}, places: []int64{9},
			extra: []float32{1, 1},
			signs: []bool{true, false, false}, begun: false},
	} {
		if err := other.parts().LoadState(c.Decoder()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		other.inner = nil // of length 0
		if d := cmp.Diff(want, other, cmp.AllowUnexported(everything{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	want.there, want.extra, want.grown = false, nil, nil
	other := whole()
	if err := other.parts().LoadState(saved(t, want.parts()).Decoder()); err != nil || other.there || other.grown != nil {
		t.Errorf("loaded what is not there: %v, %v (%v)", other.there, other.grown, err)
	}
}

// TestPartsAreBytesOfTheFormat: numbers are little-endian, as files of earlier programs hold them.
func TestPartsAreBytesOfTheFormat(t *testing.T) {
	count, flag, off, half, steps := -3, true, false, -0.5, int64(1)<<40
	labels, m, name := []label{4, -1}, []float32{2}, "avx2"
	c := saved(t, Parts{Values("values", &count, &flag, &half, &off, &steps), Int32List("labels", &labels),
		Sub("net", Parts{List("m", &m)}), Bytes("name", &name)})
	for section, want := range map[string]string{
		"values": "fdffffffffffffff" + "0100000000000000" + "000000000000e0bf" + "0000000000000000" + "0000000000010000",
		"labels": "04000000ffffffff", "net/m": "00000040", "name": "61767832",
	} {
		if b, err := c.Decoder().Bytes(section); err != nil || hex.EncodeToString(b) != want {
			t.Errorf("%s: %x (%v), want %s", section, b, err, want)
		}
	}
}

// TestPartsRefuse: a part that is missing, has another length or is not accepted ends the load with an error that names
// it.
func TestPartsRefuse(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*everything)
		want   string
	}{
		{"shorter", func(s *everything) { s.fixed = s.fixed[:1] }, `section "fixed"`},
		{"not accepted", func(s *everything) { s.slots = []int{101} }, "too much"},
		{"no such form", func(s *everything) { s.signs = make([]bool, 9); s.signs[8] = true }, "no such place"},
	} {
		bad := whole()
		c.change(bad)
		if err := whole().parts().LoadState(saved(t, bad.parts()).Decoder()); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	for _, part := range whole().parts() {
		if part.save == nil {
			continue
		}
		if err := part.load(NewContainer().Decoder()); err == nil {
			t.Error("a part was loaded of an empty state")
		}
	}
	var w word
	for name, part := range map[string]Part{"word": Binary("x", &w), "notes": JSON("x", new(map[string]int)),
		"odd":    List("x", new([]float32)),
		"places": List("x", new([]int64))} {
		c := NewContainer()
		c.Encoder().Bytes("x", []byte("nonsense!"))
		if err := part.load(c.Decoder()); err == nil || !strings.Contains(err.Error(), "section") ||
			!strings.Contains(err.Error(), "x") {
			t.Errorf("%s: error %v, want one that names the section", name, err)
		}
	}
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "uint8") {
			t.Errorf("a value of another type: %q", text)
		}
	}()
	Values("x", new(uint8))
}
