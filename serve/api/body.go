package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// Content types of bodies with pictures.
const (
	typeRaw  = "application/octet-stream" // uint8 [n,C,H,W] at the size of training
	typeJSON = "application/json"
	typeForm = "multipart/form-data"
)

// sent is one picture of a request, as a file or as raw pixels, with its id and label.
type sent struct {
	file      []byte // of a JPEG, PNG, GIF, WebP, BMP or TIFF image
	raw       []byte // uint8 [C,H,W]
	id, label string
}

// where names picture i of n in messages.
func where(i, n int) string {
	if n == 1 {
		return "The picture"
	}
	return fmt.Sprintf("Picture %d of %d", i+1, n)
}

// readBody reads all of a body, of at most so many bytes. What has come is held of the memory that all requests share,
// and so is what is made of it.
func (s *server) readBody(to http.ResponseWriter, r *http.Request, most int64) (body []byte, memory *held, err error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, nil, problem(http.StatusUnsupportedMediaType,
			"The body is coded as %.40q. Send it as it is, without Content-Encoding.", coding)
	}
	if r.ContentLength > most {
		return nil, nil, &http.MaxBytesError{Limit: most}
	}
	whole := most + 1
	if r.ContentLength >= 0 {
		whole = r.ContentLength + 1 // by which its end is seen
	}
	memory = &held{s: s.memory, who: who(r)}
	for from := http.MaxBytesReader(to, r.Body, most); ; {
		if len(body) == cap(body) { // what a length says has not come yet
			next := min(max(2*int64(cap(body)), 4096), whole)
			if err = memory.take(r.Context(), next-int64(cap(body))); err != nil {
				break
			}
			body = append(make([]byte, 0, next), body...)
		}
		var n int
		n, err = from.Read(body[len(body):cap(body)])
		if body = body[:len(body)+n]; errors.Is(err, io.EOF) {
			return body, memory, nil
		}
		if err != nil {
			err = readFault(err)
			break
		}
	}
	memory.back()
	return nil, nil, err
}

// readFault returns the problem that the error of reading a body means for the client.
func readFault(err error) error {
	var large *http.MaxBytesError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &large):
		return err
	case errors.As(err, &timeout) && timeout.Timeout():
		return &Problem{Status: http.StatusRequestTimeout,
			Detail: "The body did not come in time. Send it again, or send less at once.", close: true}
	}
	return &Problem{Status: http.StatusBadRequest, Detail: "The body ended before it was whole. Send it again.",
		close: true}
}

// readPictures reads the pictures of a request with the labels and ids that it gives them.
func (s *server) readPictures(r *http.Request, body []byte, memory *held) ([]sent, error) {
	text := r.Header.Get("Content-Type")
	var kind string
	var params map[string]string
	var err error
	if text != "" {
		kind, params, err = mime.ParseMediaType(text)
	}
	if err != nil {
		return nil, problem(http.StatusUnsupportedMediaType,
			"The content type %.60q cannot be read. Use image/jpeg, %s, %s or %s.", text, typeForm, typeJSON, typeRaw)
	}
	var list []sent
	switch {
	case kind == typeJSON:
		if err = memory.take(r.Context(), int64(len(body))); err == nil { // of what base64 is
			list, err = fromJSON(body)
		}
	case kind == typeForm:
		list, err = fromForm(body, params["boundary"])
	case kind == typeRaw:
		list, err = s.fromRaw(body)
	case kind == "", kind == "application/x-www-form-urlencoded",
		strings.HasPrefix(kind, "image/"): // curl --data-binary sends the second
		if len(body) == 0 {
			return nil, bad("The body is empty. Send the bytes of a picture file.")
		}
		list = []sent{{file: body}}
	default:
		return nil, problem(http.StatusUnsupportedMediaType,
			"Bodies of type %.60q are not read. Use image/jpeg, %s, %s or %s.", kind, typeForm, typeJSON, typeRaw)
	}
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, bad("The body has no picture. Send at least one.")
	case len(list) > limit.ServePictures:
		return nil, problem(http.StatusRequestEntityTooLarge, "The body has %s. Send at most %d at once.",
			count.Of(len(list), "picture"), limit.ServePictures)
	}
	return list, nil
}

// fromRaw cuts pixels of whole pictures.
func (s *server) fromRaw(body []byte) ([]sent, error) {
	c, h, w := s.model.Shape()
	size := c * h * w
	if len(body) == 0 || len(body)%size != 0 {
		return nil, bad("The body has %s, and a raw picture here has %d×%d×%d = %d. Send such pictures, or send a picture file as image/jpeg.",
			count.Of(len(body), "byte"), c, h, w, size)
	}
	var list []sent
	for at := 0; at < len(body); at += size {
		list = append(list, sent{raw: body[at : at+size]})
	}
	return list, nil
}

// jsonPictures is the JSON that predictions and samples take.
type jsonPictures struct {
	Pictures []jsonPicture `json:"pictures"`
}

// jsonPicture has a picture file in data, or its pixels in raw; both are base64.
type jsonPicture struct {
	Data  coded  `json:"data"`
	Raw   coded  `json:"raw"`
	ID    string `json:"id"`
	Label string `json:"label"`
}

// coded are bytes that JSON has as base64, alone or in a data URI, as FileReader and canvas of browsers write it.
type coded []byte

// UnmarshalJSON implements [json.Unmarshaler].
func (c *coded) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	if len(s) >= 5 && strings.EqualFold(s[:5], "data:") {
		head, rest, _ := strings.Cut(s, ",")
		if !strings.HasSuffix(strings.ToLower(head), ";base64") {
			return errors.New("a data URI has no base64. Send data:image/jpeg;base64,… or the base64 alone")
		}
		s = rest
	}
	b, err := base64.StdEncoding.DecodeString(s)
	*c = b
	return err
}

func fromJSON(body []byte) ([]sent, error) {
	var in jsonPictures
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	var list []sent
	for i, p := range in.Pictures {
		if (len(p.Data) == 0) == (len(p.Raw) == 0) {
			return nil, bad("%s must have either data, the bytes of a picture file as base64, or raw, its pixels as base64.",
				where(i, len(in.Pictures)))
		}
		list = append(list, sent{p.Data, p.Raw, p.ID, p.Label})
	}
	return list, nil
}

// decode reads one JSON value of known fields.
func decode(body []byte, v any) error {
	if err := checkText(body); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			return bad("There is something after the JSON value. Send one value.")
		}
		return once(body)
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return bad("The body is empty. Send JSON.")
	case errors.As(err, &syntax):
		return bad("The JSON is wrong at byte %d: %.200s. Correct it.", syntax.Offset, syntax.Error())
	case errors.As(err, &kind):
		return bad("%.80q of the JSON cannot be a %.40s. docs/serve.md and /v1/openapi.yaml say what it is.", kind.Field,
			kind.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return bad("The JSON ends in its middle. Send all of it.")
	}
	return bad("The JSON cannot be read: %.200s. /v1/openapi.yaml says what it may have.",
		strings.TrimPrefix(err.Error(), "json: "))
}

// once refuses valid JSON in which an object has a key twice: it says two things, of which package json would take the
// last.
func once(text []byte) error {
	if key, twice := input.Twice(text); twice {
		return bad("The JSON has the key %.80q twice. Write it once.", key)
	}
	return nil
}

// checkText refuses text in JSON that package json would read as another one, so that two names would become one: bytes
// that are no UTF-8, and halves of characters, which JSON can write alone.
func checkText(body []byte) error {
	if !utf8.Valid(body) {
		return bad("The JSON is no UTF-8. Write it as UTF-8.")
	}
	for at := 0; ; {
		i := bytes.IndexByte(body[at:], '\\') // outside of strings there is none in JSON
		if i < 0 {
			return nil
		}
		first := unit(body[at+i:])
		if !utf16.IsSurrogate(first) {
			at = min(at+i+2, len(body))
			continue
		}
		if utf16.DecodeRune(first, unit(body[at+i+6:])) == utf8.RuneError {
			return bad("The JSON has %s at byte %d, which is half of a character. Write both halves, or the character itself.",
				body[at+i:at+i+6], at+i)
		}
		at += i + 12
	}
}

// unit returns the unit of UTF-16 with which text begins, written as \u and four hexadecimal digits; -1 if there is
// none.
func unit(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	v, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(v)
}

// fromForm reads the parts of a form: a picture in each part that is called picture, and its label and id in parts of
// these names before or after it. One label is that of all pictures.
func fromForm(body []byte, boundary string) ([]sent, error) {
	if boundary == "" {
		return nil, bad("The content type names no boundary of the parts. Let the client's library write the header.")
	}
	var list []sent
	fields := map[string][]string{}
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for n := 0; ; n++ {
		part, err := parts.NextRawPart() // no coding of parts is undone
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, bad("The form is broken: %.200s. Send it again.", strings.TrimPrefix(err.Error(), "multipart: "))
		}
		if n >= 3*limit.ServePictures {
			return nil, problem(http.StatusRequestEntityTooLarge,
				"The form has too many parts. Send at most %d pictures at once.", limit.ServePictures)
		}
		text, err := io.ReadAll(part) // the body is bounded
		if err != nil {
			return nil, bad("The form ends in the middle of a part. Send all of it.")
		}
		switch name := part.FormName(); name {
		case "picture":
			p := sent{file: text}
			if part.Header.Get("Content-Type") == typeRaw && part.FileName() == "" {
				p = sent{raw: text}
			}
			list = append(list, p)
		case "label", "id":
			fields[name] = append(fields[name], string(text))
		default:
			return nil, bad("The form has a part that is called %.60q. Use picture, label and id.", name)
		}
	}
	for name, values := range fields {
		if len(values) != len(list) && (name == "id" || len(values) != 1) {
			return nil, bad("The form has %s and %s. Give each picture its own.", count.Of(len(list), "picture"),
				count.Of(len(values), name))
		}
		for i := range list {
			if v := values[min(i, len(values)-1)]; name == "id" {
				list[i].id = v
			} else {
				list[i].label = v
			}
		}
	}
	return list, nil
}

// pixels makes of each picture the image that the network sees: uint8 [C,H,W].
func (s *server) pixels(r *http.Request, list []sent, memory *held) ([][]byte, error) {
	ctx := r.Context()
	c, h, w := s.model.Shape()
	out, size := make([][]byte, len(list)), c*h*w
	for i, p := range list {
		if p.raw != nil {
			if len(p.raw) != size {
				return nil, bad("%s has %s, and a raw picture here has %d×%d×%d = %d.", where(i, len(list)),
					count.Of(len(p.raw), "byte"), c, h, w, size)
			}
			out[i] = p.raw
			continue
		}
		if err := memory.take(ctx, int64(size)); err != nil {
			return nil, err
		}
		out[i] = make([]byte, size)
		if err := s.draw(ctx, who(r), out[i], p.file); err != nil {
			var own *Problem
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if errors.As(err, &own) {
				return nil, err
			}
			return nil, problem(http.StatusUnprocessableEntity, "%s cannot be read: %s", where(i, len(list)), ended(err.Error()))
		}
	}
	return out, nil
}

// draw decodes one picture file, if it has few enough pixels. As many decode at once as there are slots, and of large
// ones one.
func (s *server) draw(ctx context.Context, who string, dst, file []byte) error {
	width, height, err := s.o.Decoder.Size(file)
	if err != nil {
		return err
	}
	if n := int64(width) * int64(height); n > s.o.Limits.Pixels {
		return problem(http.StatusRequestEntityTooLarge, "A picture is %d×%d pixels, more than %s. Make it smaller.", width,
			height, count.Number(s.o.Limits.Pixels))
	}
	turns := s.decoding
	if int64(width)*int64(height) > limit.ServeManyPixels {
		turns = s.large
	}
	if err := turns.take(ctx, who, 1); err != nil {
		return err
	}
	defer turns.back(1)
	return s.o.Decoder.Decode(ctx, file, dst)
}

// ended is a message with a full stop.
func ended(text string) string {
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
