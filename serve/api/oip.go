package api

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"ocl/internal/limit"
	"ocl/live"
	"ocl/predict"
)

// The Open Inference Protocol v2, as KServe and Triton have it, with the extension of binary tensors. It has
// predictions alone.
//
// The model has two inputs, of which a request has one: "image" UINT8 [n,C,H,W], pixels as the network sees them, and
// "file" BYTES [n], picture files. Its outputs are "class" BYTES [n,k], names, and "probability" FP32 [n,k], or
// "distance" of a method that predicts by class means. The parameter k of a request says how many guesses there are.

// headerLength is the header with the length of the JSON before binary tensors.
const headerLength = "Inference-Header-Content-Length"

// Names of the tensors.
const (
	inputImage  = "image"
	inputFile   = "file"
	outputClass = "class"
)

// v2Tensor describes a tensor in the answer to a question about the model.
type v2Tensor struct {
	Name     string `json:"name"`
	Datatype string `json:"datatype"`
	Shape    []int  `json:"shape"`
}

// v2Server answers GET /v2.
func (s *server) v2Server(http.ResponseWriter, *http.Request) (int, any, error) {
	return http.StatusOK, struct {
		Name       string   `json:"name"`
		Version    string   `json:"version"`
		Extensions []string `json:"extensions"`
	}{"ocl", s.o.Release, []string{"binary_tensor_data"}}, nil
}

// v2Asked checks that a path names the model that is served, and of its versions the one that answers.
func (s *server) v2Asked(r *http.Request) error {
	if name := r.PathValue("model"); name != s.o.Name {
		return problem(http.StatusNotFound, "There is no model %.80q. The one here is called %s.", name, s.o.Name)
	}
	if v := r.PathValue("version"); v != "" && v != strconv.FormatInt(s.model.Version(), 10) {
		return problem(http.StatusNotFound, "Version %.40q does not answer any longer, or not yet. Leave /versions out: the newest answers.", v)
	}
	return nil
}

// v2Model answers what the model takes and gives.
func (s *server) v2Model(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	c, h, w := s.model.Shape()
	return http.StatusOK, struct {
		Name     string     `json:"name"`
		Versions []string   `json:"versions"`
		Platform string     `json:"platform"`
		Inputs   []v2Tensor `json:"inputs"`
		Outputs  []v2Tensor `json:"outputs"`
	}{
		s.o.Name, []string{strconv.FormatInt(s.model.Version(), 10)}, "ocl",
		[]v2Tensor{{inputImage, "UINT8", []int{-1, c, h, w}}, {inputFile, "BYTES", []int{-1}}},
		[]v2Tensor{{outputClass, "BYTES", []int{-1, -1}}, {string(s.model.Measure()), "FP32", []int{-1, -1}}},
	}, s.v2Asked(r)
}

// v2Ready says whether the model predicts.
func (s *server) v2Ready(to http.ResponseWriter, r *http.Request) (int, any, error) {
	if err := s.v2Asked(r); err != nil {
		return 0, nil, err
	}
	return s.readyz(to, r)
}

// v2Request is the JSON of a request. What is unknown in it is passed over, as the protocol has extensions.
type v2Request struct {
	ID         string          `json:"id"`
	Parameters v2RequestParams `json:"parameters"`
	Inputs     []v2Input       `json:"inputs"`
	Outputs    []v2Wanted      `json:"outputs"`
}

type v2RequestParams struct {
	K      *int `json:"k"`
	Binary bool `json:"binary_data_output"`
}

type v2Input struct {
	Name       string `json:"name"`
	Datatype   string `json:"datatype"`
	Shape      []int  `json:"shape"`
	Parameters struct {
		Size *int64 `json:"binary_data_size"`
	} `json:"parameters"`
	Data json.RawMessage `json:"data"`
}

type v2Wanted struct {
	Name       string `json:"name"`
	Parameters struct {
		Binary         *bool `json:"binary_data"`
		Classification *int  `json:"classification"`
	} `json:"parameters"`
}

// v2Output is a tensor of an answer. Binary ones have no data in the JSON.
type v2Output struct {
	Name       string         `json:"name"`
	Datatype   string         `json:"datatype"`
	Shape      []int          `json:"shape"`
	Parameters map[string]int `json:"parameters,omitempty"`
	Data       any            `json:"data,omitempty"`
}

// v2Answer is the JSON of an answer.
type v2Answer struct {
	ModelName    string     `json:"model_name"`
	ModelVersion string     `json:"model_version"`
	ID           string     `json:"id,omitempty"`
	Outputs      []v2Output `json:"outputs"`
}

// v2Infer answers a request for predictions.
func (s *server) v2Infer(to http.ResponseWriter, r *http.Request) (int, any, error) {
	if err := s.v2Asked(r); err != nil {
		return 0, nil, err
	}
	body, memory, err := s.readBody(to, r, s.o.Limits.Body)
	if err != nil {
		return 0, nil, err
	}
	defer memory.back()
	head, rest, err := v2Split(r, body)
	if err != nil {
		return 0, nil, err
	}
	if err := memory.take(r.Context(), int64(len(head))); err != nil { // of what JSON makes of it
		return 0, nil, err
	}
	c, h, w := s.model.Shape()
	in, list, err := v2Read(head, rest, [3]int{c, h, w}, s.model.Measure())
	if err != nil {
		return 0, nil, err
	}
	pixels, err := s.pixels(r, list, memory)
	if err != nil {
		return 0, nil, err
	}
	k := defaultGuesses
	if in.Parameters.K != nil {
		k = *in.Parameters.K
	}
	if k < 1 || k > limit.ServeGuesses {
		return 0, nil, bad("The parameter k cannot be %d. Use 1 to %d.", k, limit.ServeGuesses)
	}
	a, err := s.ask(r, pixels, k)
	if err != nil {
		return 0, nil, err
	}
	text, blobs, err := v2Write(in, s.o.Name, a, s.model.Measure())
	if err != nil {
		return 0, nil, err
	}
	h2 := to.Header()
	h2.Set("Content-Type", typeJSON)
	if len(blobs) > 0 {
		h2.Set("Content-Type", typeRaw)
		h2.Set(headerLength, strconv.Itoa(len(text)))
	}
	h2.Set("Content-Length", strconv.Itoa(len(text)+len(blobs)))
	_, _ = to.Write(text) // who asked may have gone
	_, _ = to.Write(blobs)
	return 0, nil, nil
}

// v2Split cuts a body into its JSON and its binary tensors.
func v2Split(r *http.Request, body []byte) (head, rest []byte, err error) {
	text := r.Header.Get(headerLength)
	if text == "" {
		if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == typeRaw {
			return nil, nil, bad("The header %s is missing. Send it with the length of the JSON, or send JSON alone as %s.",
				headerLength, typeJSON)
		}
		return body, nil, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > len(body) {
		return nil, nil, bad("%s is %.40q, and the body has %d bytes. Send the length of the JSON.", headerLength, text,
			len(body))
	}
	return body[:n], body[n:], nil
}

// v2Read reads the pictures of a request.
func v2Read(head, rest []byte, shape [3]int, by predict.Measure) (in v2Request, list []sent, err error) {
	if err := checkText(head); err != nil {
		return in, nil, err
	}
	d := json.NewDecoder(bytes.NewReader(head))
	if err := d.Decode(&in); err != nil {
		return in, nil, bad("The JSON of the request cannot be read: %.200s. Correct it.",
			strings.TrimPrefix(err.Error(), "json: "))
	}
	if err := once(head[:d.InputOffset()]); err != nil {
		return in, nil, err
	}
	if len(in.Inputs) != 1 {
		return in, nil, bad("The request has %d inputs. Send one, %s or %s.", len(in.Inputs), inputImage, inputFile)
	}
	for _, o := range in.Outputs {
		if o.Name != outputClass && o.Name != string(by) {
			return in, nil, bad("There is no output %.40q. Ask for %s or %s.", o.Name, outputClass, by)
		}
		if o.Parameters.Classification != nil {
			return in, nil, bad("The extension of classification is not there. Ask for %s and %s, with the parameter k.",
				outputClass, by)
		}
	}
	input := in.Inputs[0]
	var blob []byte // nil where the data are JSON
	if size := input.Parameters.Size; size != nil {
		if *size < 0 || *size != int64(len(rest)) {
			return in, nil, bad("binary_data_size is %d, and %d bytes follow the JSON. Send as many as it says.", *size,
				len(rest))
		}
		if len(input.Data) > 0 {
			return in, nil, bad("The input has both data and binary_data_size. Send one of them.")
		}
		if blob = rest; blob == nil {
			blob = []byte{}
		}
	} else if len(rest) > 0 {
		return in, nil, bad("%d bytes follow the JSON, and no input has binary_data_size. Send it, or leave the bytes out.",
			len(rest))
	}
	switch input.Name {
	case inputImage:
		list, err = v2Images(input, blob, shape)
	case inputFile:
		list, err = v2Files(input, blob)
	default:
		err = bad("There is no input %.40q. Send %s or %s.", input.Name, inputImage, inputFile)
	}
	return in, list, err
}

// v2Images are pictures of pixels.
func v2Images(in v2Input, blob []byte, shape [3]int) ([]sent, error) {
	if in.Datatype != "UINT8" {
		return nil, bad("The input %s has the type %.20q. Send UINT8, pixels from 0 to 255.", in.Name, in.Datatype)
	}
	if len(in.Shape) != 4 || [3]int(in.Shape[1:]) != shape || in.Shape[0] < 1 || in.Shape[0] > limit.ServePictures {
		hint := ""
		if c, h, w := shape[0], shape[1], shape[2]; len(in.Shape) == 4 && [3]int(in.Shape[1:]) == [3]int{h, w, c} {
			hint = " The channels come before the rows: in NumPy, x.transpose(0, 3, 1, 2) makes it so."
		} else if len(in.Shape) == 3 {
			hint = " One picture has n = 1."
		}
		return nil, bad("The input %s has the shape %s. Send [n,%d,%d,%d] with n from 1 to %d.%s", in.Name,
			shapeText(in.Shape), shape[0], shape[1], shape[2], limit.ServePictures, hint)
	}
	size := shape[0] * shape[1] * shape[2]
	if blob == nil {
		flat, err := v2Flat(in.Data, in.Shape[0]*size)
		if err != nil {
			return nil, err
		}
		blob = flat
	}
	if len(blob) != in.Shape[0]*size {
		return nil, bad("The input %s has %d values, and its shape %s has %d. Send as many.", in.Name, len(blob),
			shapeText(in.Shape), in.Shape[0]*size)
	}
	list := make([]sent, in.Shape[0])
	for i := range list {
		list[i].raw = blob[i*size : (i+1)*size]
	}
	return list, nil
}

// shapeText is a shape in a message, at most eight numbers of it.
func shapeText(shape []int) string {
	if len(shape) > 8 {
		return strings.TrimSuffix(fmt.Sprint(shape[:8]), "]") + " …]"
	}
	return fmt.Sprint(shape)
}

// v2Flat reads whole numbers from 0 to 255 of JSON, in lists of any depth up to four, at most as many as the shape has.
func v2Flat(data json.RawMessage, most int) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	var flat []byte
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return nil, bad("The data of the input cannot be read. Send a list of numbers.")
		}
		switch v := token.(type) {
		case json.Delim:
			switch v {
			case '[':
				depth++
			case ']':
				depth--
			default:
				return nil, bad("The data of the input have an object. Send a list of numbers.")
			}
			if depth > 4 {
				return nil, bad("The data of the input are lists in lists, deeper than the shape. Send numbers, flat or as the shape.")
			}
		case float64:
			if v != math.Trunc(v) || v < 0 || v > 255 {
				return nil, bad("The data of the input have %v, which is no UINT8. Send whole numbers from 0 to 255.", v)
			}
			if flat = append(flat, byte(v)); len(flat) > most {
				return nil, bad("The data of the input have more values than the shape, which has %d. Send as many.", most)
			}
		default:
			return nil, bad("The data of the input have something that is no number. Send whole numbers from 0 to 255.")
		}
		if depth == 0 {
			return flat, nil
		}
	}
}

// v2Files are picture files: binary, each behind its length of 32 bits, or JSON strings of base64.
func v2Files(in v2Input, blob []byte) (list []sent, err error) {
	if in.Datatype != "BYTES" {
		return nil, bad("The input %s has the type %.20q. Send BYTES.", in.Name, in.Datatype)
	}
	n := 1
	for _, d := range in.Shape { // [n], or [n,1]
		if d < 1 || d > limit.ServePictures || n*d > limit.ServePictures {
			n = 0
			break
		}
		n *= d
	}
	if len(in.Shape) < 1 || len(in.Shape) > 2 || n < 1 || len(in.Shape) == 2 && in.Shape[1] != 1 {
		return nil, bad("The input %s has the shape %s. Send [n] with n from 1 to %d.", in.Name, shapeText(in.Shape),
			limit.ServePictures)
	}
	if blob == nil {
		var files []coded
		if err := json.Unmarshal(in.Data, &files); err != nil {
			return nil, bad("The data of the input %s are no list of base64. Send picture files as base64, or as binary data.",
				in.Name)
		}
		for _, f := range files {
			list = append(list, sent{file: f})
		}
	} else {
		for len(blob) > 0 {
			if len(blob) < 4 {
				return nil, bad("The binary data of the input %s end in the middle of a length. Send all of them.", in.Name)
			}
			size := int64(binary.LittleEndian.Uint32(blob))
			if blob = blob[4:]; size > int64(len(blob)) {
				return nil, bad("The binary data of the input %s end in the middle of a file. Send all of them.", in.Name)
			}
			list = append(list, sent{file: blob[:size:size]})
			if blob = blob[size:]; len(list) > n {
				break
			}
		}
	}
	if len(list) != n {
		return nil, bad("The input %s has not the %d files of its shape. Send as many.", in.Name, n)
	}
	return list, nil
}

// v2Write writes the outputs that a request wants, in its order: JSON, and behind it those that it wants binary.
func v2Write(in v2Request, name string, a live.Answer, by predict.Measure) (text, blobs []byte, err error) {
	n, k := len(a.Guesses), 0
	if n > 0 {
		k = len(a.Guesses[0])
	}
	wanted := in.Outputs
	if len(wanted) == 0 {
		wanted = []v2Wanted{{Name: outputClass}, {Name: string(by)}}
	}
	out := v2Answer{ModelName: name, ModelVersion: strconv.FormatInt(a.Version, 10), ID: in.ID}
	for _, w := range wanted {
		isBinary := in.Parameters.Binary
		if w.Parameters.Binary != nil {
			isBinary = *w.Parameters.Binary
		}
		o := v2Output{Name: w.Name, Datatype: "FP32", Shape: []int{n, k}}
		values, names := make([]float32, 0, n*k), make([]string, 0, n*k)
		for _, list := range a.Guesses {
			for _, g := range list {
				values, names = append(values, float32(g.Value)), append(names, g.Name)
			}
		}
		before := len(blobs)
		switch {
		case w.Name == string(by) && isBinary:
			for _, v := range values {
				blobs = binary.LittleEndian.AppendUint32(blobs, math.Float32bits(v))
			}
		case w.Name == string(by):
			o.Data = values
		case isBinary:
			for _, v := range names {
				blobs = append(binary.LittleEndian.AppendUint32(blobs, uint32(len(v))), v...)
			}
		default:
			o.Data = names
		}
		if w.Name == outputClass {
			o.Datatype = "BYTES"
		}
		if isBinary {
			o.Parameters = map[string]int{"binary_data_size": len(blobs) - before}
		}
		out.Outputs = append(out.Outputs, o)
	}
	text, err = json.Marshal(out)
	return text, blobs, err
}
