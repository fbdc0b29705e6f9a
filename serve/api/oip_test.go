package api_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"ocl/serve/api"
)

type inferred struct {
	ModelName    string `json:"model_name"`
	ModelVersion string `json:"model_version"`
	ID           string `json:"id"`
	Outputs      []struct {
		Name, Datatype string
		Shape          []int
		Parameters     struct {
			Size int `json:"binary_data_size"`
		}
		Data json.RawMessage
	}
}

// TestOpenInferenceProtocol: tensors of JSON and binary ones give the same guesses, for pixels and for files.
func TestOpenInferenceProtocol(t *testing.T) {
	r := taught(t, daemonOptions(), api.Options{Name: "pets"})
	about := read[struct {
		Name     string
		Versions []string
		Inputs   []struct {
			Name, Datatype string
			Shape          []int
		}
	}](t, r.want(http.StatusOK, "GET", "/v2/models/pets", "", nil))
	if about.Name != "pets" || len(about.Versions) != 1 || len(about.Inputs) != 2 ||
		fmt.Sprint(about.Inputs[0].Shape) != "[-1 3 8 8]" {
		t.Errorf("%+v", about)
	}
	r.want(http.StatusOK, "GET", "/v2/models/pets/ready", "", nil)
	r.want(http.StatusOK, "GET", "/v2/models/pets/versions/"+about.Versions[0]+"/ready", "", nil)
	r.refused(http.StatusNotFound, "called pets", "GET", "/v2/models/dogs", "", nil)
	r.refused(http.StatusNotFound, "Leave /versions out", "GET", "/v2/models/pets/versions/77/ready", "", nil)

	two := append(pixels(0, 0), pixels(1, 0)...)
	numbers := make([]string, len(two))
	for i, v := range two {
		numbers[i] = strconv.Itoa(int(v))
	}
	// JSON in, JSON out.
	body := fmt.Sprintf(`{"id":"7","parameters":{"k":2},"inputs":[{"name":"image","datatype":"UINT8","shape":[2,3,8,8],"data":[%s]}]}`,
		strings.Join(numbers, ","))
	plain := read[inferred](t, r.want(http.StatusOK, "POST", "/v2/models/pets/infer", jsonT, []byte(body)))
	var classes []string
	var values []float32
	if plain.ID != "7" || plain.ModelName != "pets" || len(plain.Outputs) != 2 ||
		fmt.Sprint(plain.Outputs[0].Shape) != "[2 2]" ||
		json.Unmarshal(plain.Outputs[0].Data, &classes) != nil || json.Unmarshal(plain.Outputs[1].Data, &values) != nil {
		t.Fatalf("%+v", plain)
	}
	if classes[0] != "a" || classes[2] != "b" || values[0] < values[1] {
		t.Errorf("the guesses are %v with %v", classes, values)
	}
	// Binary in, binary out, as tritonclient asks for it.
	head := `{"parameters":{"k":2,"binary_data_output":true},"inputs":[{"name":"image","datatype":"UINT8","shape":[2,3,8,8],"parameters":{"binary_data_size":384}}]}`
	answer, text := r.send("POST", "/v2/models/pets/infer", raw, append([]byte(head), two...),
		"Inference-Header-Content-Length", strconv.Itoa(len(head)))
	n, err := strconv.Atoi(answer.Header.Get("Inference-Header-Content-Length"))
	if answer.StatusCode != http.StatusOK || err != nil {
		t.Fatalf("%d %s", answer.StatusCode, text)
	}
	binaryOut := read[inferred](t, text[:n])
	blob := bytes.NewReader(text[n:])
	for _, o := range binaryOut.Outputs {
		one := make([]byte, o.Parameters.Size)
		if _, err := io.ReadFull(blob, one); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			if o.Name == "probability" {
				if v := math.Float32frombits(binary.LittleEndian.Uint32(one[4*i:])); v != values[i] {
					t.Errorf("value %d is %v, want %v", i, v, values[i])
				}
				continue
			}
			size := binary.LittleEndian.Uint32(one)
			if got := string(one[4 : 4+size]); got != classes[i] {
				t.Errorf("class %d is %s, want %s", i, got, classes[i])
			}
			one = one[4+size:]
		}
	}
	if blob.Len() != 0 {
		t.Errorf("%d bytes are left", blob.Len())
	}
	// Files, of which one output is wanted.
	file := pngOf(t, 11)
	head = fmt.Sprintf(`{"inputs":[{"name":"file","datatype":"BYTES","shape":[2],"parameters":{"binary_data_size":%d}}],"outputs":[{"name":"class"}]}`,
		2*(4+len(file)))
	data := []byte(head)
	for range 2 {
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(file))), file...)
	}
	files := read[inferred](t, r.want(http.StatusOK, "POST", "/v2/models/pets/infer", raw, data,
		"Inference-Header-Content-Length", strconv.Itoa(len(head))))
	if len(files.Outputs) != 1 || files.Outputs[0].Name != "class" || files.Outputs[0].Shape[0] != 2 {
		t.Errorf("%+v", files)
	}
}

// TestWrongTensors are refused with a reason, in the words of both documents.
func TestWrongTensors(t *testing.T) {
	r := taught(t, daemonOptions(), api.Options{})
	image := func(rest string) string {
		return `{"inputs":[{"name":"image","datatype":"UINT8",` + rest + `}]}`
	}
	for _, c := range []struct{ body, length, words string }{
		{image(`"shape":[1,3,8,9],"data":[1]`), "", "has the shape [1 3 8 9]. Send [n,3,8,8]"},
		{image(`"shape":[1,8,8,3],"data":[1]`), "",
			"has the shape [1 8 8 3]. Send [n,3,8,8] with n from 1 to 1000. The channels come before the rows: in NumPy, x.transpose(0, 3, 1, 2)"},
		{image(`"shape":[3,8,8],"data":[1]`), "",
			"has the shape [3 8 8]. Send [n,3,8,8] with n from 1 to 1000. One picture has n = 1."},
		{image(`"shape":[1,2,3,4,5,6,7,8,9],"data":[1]`), "", "has the shape [1 2 3 4 5 6 7 8 …]"},
		{image(`"shape":[1,3,8],"data":[1]`), "", "Send [n,3,8,8]"},
		{image(`"shape":[-1,3,8,8],"data":[]`), "", "Send [n,3,8,8]"},
		{image(`"shape":[4611686018427387904,3,8,8],"data":[]`), "", "Send [n,3,8,8]"},
		{image(`"shape":[1,3,8,8],"data":[1,2]`), "", "has 2 values"},
		{image(`"shape":[1,3,8,8],"data":[256]`), "", "no UINT8"},
		{image(`"shape":[1,3,8,8],"data":[1.5]`), "", "no UINT8"},
		{image(`"shape":[1,3,8,8],"data":["x"]`), "", "no number"},
		{image(`"shape":[1,3,8,8],"data":[NaN]`), "", "cannot be read"},
		{image(`"shape":[1,3,8,8],"data":[[[[[1]]]]]`), "", "deeper"},
		{image(`"shape":[1,3,8,8],"data":{"a":1}`), "", "object"},
		{image(`"shape":[1,3,8,8]`), "", "cannot be read"},
		{image(`"shape":[1,3,8,8],"parameters":{"binary_data_size":192}`), "", "0 bytes follow"},
		{image(`"shape":[1,3,8,8],"parameters":{"binary_data_size":-1}`), "", "bytes follow"},
		{`{"inputs":[{"name":"image","datatype":"FP32","shape":[1,3,8,8],"data":[1]}]}`, "", "Send UINT8"},
		{`{"inputs":[{"name":"sound","datatype":"UINT8","shape":[1],"data":[1]}]}`, "", "There is no input"},
		{`{"inputs":[]}`, "", "0 inputs"},
		{`{"id":"1","inputs":[],"id":"2"}`, "", `the key "id" twice`},
		{`{"inputs":[{"name":"file","datatype":"BYTES","shape":[2],"data":["AAAA"]}]}`, "", "not the 2 files"},
		{`{"inputs":[{"name":"file","datatype":"BYTES","shape":[1],"data":["AAAA"]}]}`, "", "cannot be read"},
		{`{"inputs":[{"name":"file","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":3}}]}|abc`, "|",
			"middle of a length"},
		{`{"inputs":[{"name":"file","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}}]}|` +
			"\xff\xff\xff\xffa", "|", "middle of a file"},
		{`{}`, "99999999999", "Send the length of the JSON"},
		{`{}`, "-1", "Send the length of the JSON"},
		{`{"outputs":[{"name":"class","parameters":{"classification":3}}],"inputs":[{"name":"image"}]}`, "",
			"classification"},
		{`{"outputs":[{"name":"logits"}],"inputs":[{"name":"image"}]}`, "", "There is no output"},
		{`{"parameters":{"k":0},"inputs":[{"name":"file","datatype":"BYTES","shape":[1],"data":[` + fmt.Sprintf("%q",
			pngBase64(t)) + `]}]}`, "", "k cannot be 0"},
		{strings.Repeat(`{"a":`, 20000), "", "cannot be read"},
	} {
		header := []string{}
		if head, tail, is := strings.Cut(c.body, "|"); is {
			c.body, c.length = head+tail, strconv.Itoa(len(head))
		}
		if c.length != "" {
			header = []string{"Inference-Header-Content-Length", c.length}
		}
		answer, text := r.send("POST", "/v2/models/ocl/infer", jsonT, []byte(c.body), header...)
		var p api.Problem
		if err := json.Unmarshal(text, &p); err != nil || answer.StatusCode < 400 || answer.StatusCode >= 500 ||
			!strings.Contains(p.Detail, c.words) || p.Message != p.Detail {
			t.Errorf("%.120s: %d %s, want %q", c.body, answer.StatusCode, text, c.words)
		}
	}
	r.refused(http.StatusBadRequest, "The header Inference-Header-Content-Length is missing", "POST",
		"/v2/models/ocl/infer", raw, []byte("{}"))
}
