package input_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"ocl/internal/input"
)

// TestTwice: a key counts within its object alone, however it is written.
func TestTwice(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "", `[]`: "", `"a"`: "", `{"a":1,"b":{"a":2},"c":[{"a":1},{"a":1}]}`: "", `{"a":"b","b":"a,\"a\":"}`: "",
		`{"a":["a","a"],"A":1}`: "",
		`{"a":1,"a":1}`:         "a", `[{"b":{"c":1,"d":[],"c":2}}]`: "c", `{"a":1,"\u0061":2}`: "a", `{"\"":1,"\u0022":2}`: `"`,
		`{"":1,"x":{},"":1}`: "",
	} {
		key, twice := input.Twice([]byte(text))
		if key != want || twice != (want != "" || text == `{"":1,"x":{},"":1}`) {
			t.Errorf("%s: %q, %v, want %q", text, key, twice, want)
		}
	}
}

// FuzzTwice: valid JSON has no key twice once it was read and written.
func FuzzTwice(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\\\""}],"a":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		if !json.Valid(text) || json.Unmarshal(text, &v) != nil {
			return
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if key, twice := input.Twice(again); twice {
			t.Errorf("%s has %q twice", again, key)
		}
		var b bytes.Buffer
		if err := json.Compact(&b, text); err != nil {
			t.Fatal(err)
		}
		_, before := input.Twice(text)
		if _, after := input.Twice(b.Bytes()); before != after {
			t.Errorf("%s: %v with white space, %v without", text, before, after)
		}
	})
}
