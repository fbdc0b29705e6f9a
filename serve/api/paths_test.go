package api_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/internal/exiftest"
	"ocl/serve/api"
)

type predictions struct {
	Version     int64
	Measure     string
	Predictions []struct {
		ID         string
		Remembered bool
		Guesses    []struct {
			Class       string
			Probability float64
		}
	}
}

type samples struct {
	Samples []struct{ ID, Label, State string }
}

// TestAPictureIsPredictedInFourWays: a raw picture, a file, a form and JSON.
func TestAPictureIsPredictedInFourWays(t *testing.T) {
	r := taught(t, daemonOptions(), api.Options{})
	file := pngOf(t, 20)
	form, kind := formOf(t, []part{{"picture", "a.png", file}, {"picture", "b.png", file}})
	b64 := base64.StdEncoding.EncodeToString
	for _, ask := range []struct {
		kind string
		body []byte
		n    int
	}{
		{raw, pixels(0, 0), 1},
		{raw, append(pixels(0, 0), pixels(1, 0)...), 2},
		{"", file, 1},
		{"application/x-www-form-urlencoded", file, 1},
		{"image/jpeg", jpegOf(t, 30, 20), 1},
		{kind, form, 2},
		{jsonT, fmt.Appendf(nil, `{"pictures":[{"data":%q},{"raw":%q,"id":"mine"}]}`, b64(file), b64(pixels(0, 0))), 2},
	} {
		p := read[predictions](t, r.want(http.StatusOK, "POST", "/v1/predictions?k=2", ask.kind, ask.body))
		if len(p.Predictions) != ask.n || len(p.Predictions[0].Guesses) != 2 || p.Measure != "probability" ||
			p.Predictions[0].ID == "" {
			t.Errorf("%s: %+v", ask.kind, p)
			continue
		}
		g := p.Predictions[0].Guesses
		if sum := g[0].Probability + g[1].Probability; g[0].Probability < g[1].Probability || sum < 0.99 || sum > 1.01 {
			t.Errorf("%s: the guesses are %v", ask.kind, g)
		}
	}
	if p := read[predictions](t, r.want(http.StatusOK, "POST", "/v1/predictions?k=1", raw,
		pixels(1, 1))); p.Predictions[0].Guesses[0].Class != "b" {
		t.Errorf("a picture of b is %+v", p)
	}
}

// TestPhotographsAreTurned: one that is stored on its side is predicted as it is seen, however it is sent.
func TestPhotographsAreTurned(t *testing.T) {
	r := taught(t, daemonOptions(), api.Options{})
	b64 := base64.StdEncoding.EncodeToString
	var guesses []string
	for _, file := range [][]byte{exiftest.Photo(t), exiftest.Sideways(t)} {
		form, kind := formOf(t, []part{{"picture", "a.jpg", file}})
		for _, ask := range []struct {
			kind string
			body []byte
		}{{"image/jpeg", file}, {kind, form}, {jsonT, fmt.Appendf(nil, `{"pictures":[{"data":%q}]}`, b64(file))}} {
			p := read[predictions](t, r.want(http.StatusOK, "POST", "/v1/predictions?k=2", ask.kind, ask.body))
			guesses = append(guesses, fmt.Sprint(p.Predictions[0].Guesses))
		}
	}
	if len(slices.Compact(guesses)) != 1 {
		t.Errorf("guesses %q", guesses)
	}
	other := read[predictions](t, r.want(http.StatusOK, "POST", "/v1/predictions?k=2", "", pngOf(t, 30)))
	if fmt.Sprint(other.Predictions[0].Guesses) == guesses[0] {
		t.Error("another picture has the same guesses, so the test shows nothing")
	}
}

// part is one of a form.
type part struct {
	name, file string
	text       []byte
}

func formOf(t testing.TB, parts []part) (body []byte, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		disposition := fmt.Sprintf(`form-data; name=%q`, p.name)
		if p.file != "" {
			disposition += fmt.Sprintf(`; filename=%q`, p.file)
		}
		h.Set("Content-Disposition", disposition)
		to, err := w.CreatePart(h)
		if err == nil {
			_, err = to.Write(p.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// TestNothingIsKnownAtFirst: an empty learner says so, and how to begin.
func TestNothingIsKnownAtFirst(t *testing.T) {
	r := start(t, daemonOptions(), api.Options{})
	r.refused(http.StatusConflict, "Learn an image first", "POST", "/v1/predictions", raw, pixels(0, 0))
}

// TestASampleIsTakenOnce: an id again is the first answer, with the state of now, and with another content it is
// refused.
func TestASampleIsTakenOnce(t *testing.T) {
	r := start(t, daemonOptions(), api.Options{})
	first := read[samples](t, r.want(http.StatusAccepted, "POST", "/v1/samples?label=a&id=x%2Fy", raw, pixels(0, 0)))
	again := read[samples](t, r.want(http.StatusAccepted, "POST", "/v1/samples?label=a&id=x%2Fy", raw, pixels(0, 0)))
	again.Samples[0].State = first.Samples[0].State // it may be learned by now
	if len(first.Samples) != 1 || first.Samples[0].ID != "x/y" || first.Samples[0] != again.Samples[0] {
		t.Errorf("%+v, and again %+v", first, again)
	}
	r.refused(http.StatusConflict, "", "POST", "/v1/samples?label=b&id=x%2Fy", raw, pixels(0, 0))
	r.refused(http.StatusConflict, "", "POST", "/v1/samples?label=a&id=x%2Fy", raw, pixels(1, 0))
	r.want(http.StatusOK, "GET", "/v1/samples/x%2Fy", "", nil)
	r.refused(http.StatusNotFound, "Send the picture with its label", "GET", "/v1/samples/other", "", nil)
	r.refused(http.StatusBadRequest, "has no label", "POST", "/v1/samples", raw, pixels(0, 0))
	r.refused(http.StatusBadRequest, "names one picture", "POST", "/v1/samples?label=a&id=q", raw,
		append(pixels(0, 0), pixels(0, 0)...))
	r.refused(http.StatusBadRequest, "Use learned", "POST", "/v1/samples?label=a&wait=long", raw, pixels(0, 0))

	form, kind := formOf(t, []part{{"label", "", []byte("a")}, {"picture", "p.png", pngOf(t, 9)}, {"id", "", []byte("f1")},
		{"picture", "q.png", pngOf(t, 9)}, {"id", "", []byte("f2")}})
	if s := read[samples](t, r.want(http.StatusOK, "POST", "/v1/samples?wait=learned", kind, form)); len(s.Samples) != 2 ||
		s.Samples[1].ID != "f2" || s.Samples[1].State != "learned" {
		t.Errorf("of a form: %+v", s)
	}
	body := fmt.Appendf(nil, `{"pictures":[{"raw":%q,"label":"a","id":"j1"},{"raw":%q,"label":"b"}]}`,
		base64.StdEncoding.EncodeToString(pixels(0, 1)), base64.StdEncoding.EncodeToString(pixels(1, 1)))
	if s := read[samples](t, r.want(http.StatusAccepted, "POST", "/v1/samples", jsonT, body)); len(s.Samples) != 2 ||
		s.Samples[0].ID != "j1" || s.Samples[1].ID == "" {
		t.Errorf("of JSON: %+v", s)
	}
}

// TestALabelComesLater: a remembered picture is shown, and gets its label; then its label is corrected.
func TestALabelComesLater(t *testing.T) {
	r := taught(t, daemonOptions(), api.Options{})
	p := read[predictions](t, r.want(http.StatusOK, "POST", "/v1/predictions?remember=true", raw, pixels(0, 7)))
	id := p.Predictions[0].ID
	if !p.Predictions[0].Remembered {
		t.Errorf("%+v", p)
	}
	list := read[samples](t, r.want(http.StatusOK, "GET", "/v1/samples?count=3", "", nil))
	if len(list.Samples) != 1 || list.Samples[0].ID != id {
		t.Errorf("the list is %+v, want %s", list, id)
	}
	img, err := png.Decode(bytes.NewReader(r.want(http.StatusOK, "GET", "/v1/samples/"+id+"/picture", "", nil)))
	if err != nil {
		t.Fatal(err)
	}
	if red, _, _, _ := img.At(0, 0).RGBA(); img.Bounds().Dx() != size || byte(red>>8) != pixels(0, 7)[0] {
		t.Errorf("the picture has %v at its corner", img.At(0, 0))
	}
	r.want(http.StatusOK, "PUT", "/v1/samples/"+id+"/label?wait=learned", jsonT, []byte(`{"label":"a"}`))
	r.want(http.StatusAccepted, "PUT", "/v1/samples/"+id+"/label", jsonT, []byte(`{"label":"b"}`))
	r.refused(http.StatusNotFound, "", "PUT", "/v1/samples/none/label", jsonT, []byte(`{"label":"b"}`))
	r.refused(http.StatusBadRequest, "names no label", "PUT", "/v1/samples/"+id+"/label", jsonT, []byte(`{}`))
	r.refused(http.StatusNotFound, "", "PUT", "/v1/samples/"+read[predictions](t,
		r.want(http.StatusOK, "POST", "/v1/predictions", raw, pixels(0, 8))).Predictions[0].ID+"/label", jsonT,
		[]byte(`{"label":"a"}`))
}

// TestClassesAreMade: an unknown label is refused with the nearest name, until the class is made.
func TestClassesAreMade(t *testing.T) {
	o := daemonOptions()
	o.NewClasses = false
	r := start(t, o, api.Options{})
	for range 2 {
		r.want(http.StatusAccepted, "POST", "/v1/classes", jsonT, []byte(`{"name":"kitten"}`))
	}
	answer, text := r.send("POST", "/v1/samples?label=kiten", raw, pixels(0, 0))
	if p := read[api.Problem](t, text); answer.StatusCode != http.StatusUnprocessableEntity || p.Nearest != "kitten" ||
		!strings.Contains(p.Detail, `Did you mean "kitten"?`) {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	r.want(http.StatusAccepted, "POST", "/v1/samples?label=kitten", raw, pixels(0, 0))
	got := read[struct{ Classes []struct{ Name string } }](t, r.want(http.StatusOK, "GET", "/v1/classes", "", nil))
	if len(got.Classes) != 1 || got.Classes[0].Name != "kitten" {
		t.Errorf("%+v", got)
	}
	r.refused(http.StatusUnprocessableEntity, "", "POST", "/v1/classes", jsonT, []byte(`{"name":"a\u0000"}`))
	r.refused(http.StatusUnprocessableEntity, "", "POST", "/v1/classes", jsonT, []byte(`{"name":""}`))
}

// TestClassesAreChanged: a class is renamed, goes into another one, and goes.
func TestClassesAreChanged(t *testing.T) {
	r := taught(t, daemonOptions(), api.Options{})
	type changed struct {
		Class, Was string
		Samples    int
	}
	c := read[changed](t, r.want(http.StatusOK, "PATCH", "/v1/classes/a", jsonT, []byte(`{"name":"x/y"}`)))
	if c.Class != "x/y" || c.Was != "a" || c.Samples == 0 {
		t.Errorf("renamed: %+v", c)
	}
	r.refused(http.StatusNotFound, "There is no class", "PATCH", "/v1/classes/a", jsonT, []byte(`{"name":"z"}`))
	r.refused(http.StatusConflict, "Another class has the name", "PATCH", "/v1/classes/x%2Fy", jsonT, []byte(`{"name":"B"}`))
	r.refused(http.StatusUnprocessableEntity, "", "PATCH", "/v1/classes/b", jsonT, []byte(`{"name":""}`))
	r.refused(http.StatusUnprocessableEntity, "It is one class", "PATCH", "/v1/classes/b", jsonT, []byte(`{"into":"b"}`))
	for _, body := range []string{`{}`, `{"name":"c","into":"b"}`} {
		r.refused(http.StatusBadRequest, "either name or into", "PATCH", "/v1/classes/b", jsonT, []byte(body))
	}
	r.want(http.StatusAccepted, "POST", "/v1/classes", jsonT, []byte(`{"name":"spider"}`))
	r.refused(http.StatusNotFound, `Did you mean "spider"?`, "DELETE", "/v1/classes/spyder", "", nil)
	r.want(http.StatusOK, "DELETE", "/v1/classes/spider", "", nil)
	split := "/v1/classes/x%2Fy/split"
	r.refused(http.StatusUnprocessableEntity, "No sample is given", "POST", split, jsonT, []byte(`{"name":"half"}`))
	r.refused(http.StatusConflict, "The sample is not of the class", "POST", split, jsonT, []byte(`{"name":"half","ids":["b1"]}`))
	r.refused(http.StatusNotFound, `Did you mean "x/y"?`, "POST", "/v1/classes/x%2Fz/split", jsonT,
		[]byte(`{"name":"half","ids":["a1"]}`))
	c = read[changed](t, r.want(http.StatusOK, "POST", split, jsonT, []byte(`{"name":"half","ids":["a1"]}`)))
	if c.Class != "half" || c.Was != "x/y" || c.Samples != 1 {
		t.Errorf("split: %+v", c)
	}
	r.want(http.StatusOK, "PATCH", "/v1/classes/half", jsonT, []byte(`{"into":"b"}`))
	r.want(http.StatusOK, "PATCH", "/v1/classes/x%2Fy", jsonT, []byte(`{"into":"b"}`))
	r.refused(http.StatusConflict, "the only class", "DELETE", "/v1/classes/b", "", nil)
	got := read[struct{ Classes []struct{ Name string } }](t, r.want(http.StatusOK, "GET", "/v1/classes", "", nil))
	if len(got.Classes) != 1 || got.Classes[0].Name != "b" {
		t.Errorf("%+v", got)
	}
}

// TestTheModelHasATag: who has the model is not sent it again.
func TestTheModelHasATag(t *testing.T) {
	r := taught(t, daemonOptions(), api.Options{})
	for _, format := range []string{"ocl", "safetensors", "onnx"} {
		answer, text := r.send("GET", "/v1/model?format="+format, "", nil)
		tag := answer.Header.Get("ETag")
		if answer.StatusCode != http.StatusOK || tag == "" || len(text) == 0 {
			t.Fatalf("%s: %d, tag %s, %d bytes", format, answer.StatusCode, tag, len(text))
		}
		r.want(http.StatusNotModified, "GET", "/v1/model?format="+format, "", nil, "If-None-Match", `"other", W/`+tag)
		r.want(http.StatusOK, "GET", "/v1/model?format="+format, "", nil, "If-None-Match", `"other"`)
	}
	r.refused(http.StatusBadRequest, "Use ocl, safetensors or onnx", "GET", "/v1/model?format=pickle", "", nil)
	tag := func() string { answer, _ := r.send("GET", "/v1/model", "", nil); return answer.Header.Get("ETag") }
	before := tag()
	r.want(http.StatusOK, "POST", "/v1/samples?label=a&wait=learned", raw, pixels(0, 30))
	if after := tag(); after == before {
		t.Errorf("the tag is %s before and after a step", after)
	}
}

// TestForgettingAndGoingBack are what an administrator does.
func TestForgettingAndGoingBack(t *testing.T) {
	r := taught(t, daemonOptions(), api.Options{})
	r.want(http.StatusOK, "DELETE", "/v1/samples/a1", "", nil)
	r.refused(http.StatusGone, "was erased before. Nothing is left to do.", "DELETE", "/v1/samples/a1", "", nil)
	r.refused(http.StatusNotFound, "nothing was erased", "DELETE", "/v1/samples/none", "", nil)
	aside := filepath.Join(r.dir, "journal.db.damaged")
	if err := os.WriteFile(aside, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.refused(http.StatusConflict, "Remove journal.db.damaged in the folder of the daemon", "DELETE", "/v1/samples/none",
		"", nil)
	r.refused(http.StatusConflict, "Remove journal.db.damaged in the folder of the daemon", "POST", "/v1/forget", jsonT,
		[]byte(`{"ids":["none"]}`))
	if err := os.Remove(aside); err != nil {
		t.Fatal(err)
	}
	r.refused(http.StatusNotFound, "", "DELETE", "/v1/samples/none", "", nil)
	r.refused(http.StatusGone, "", "PUT", "/v1/samples/a1/label", jsonT, []byte(`{"label":"b"}`))
	got := read[struct{ Matched int }](t, r.want(http.StatusOK, "POST", "/v1/forget", raw, pixels(1, 2)))
	if got.Matched != 1 {
		t.Errorf("%d pictures are found by a picture, want 1", got.Matched)
	}
	r.want(http.StatusOK, "POST", "/v1/forget", jsonT, []byte(`{"ids":["b3"]}`))
	r.refused(http.StatusNotFound, "", "POST", "/v1/forget", jsonT,
		[]byte(`{"who":"anybody","from":"2020-01-01T00:00:00Z","to":"2020-01-02T00:00:00Z"}`))
	r.refused(http.StatusBadRequest, "0 ways", "POST", "/v1/forget", jsonT, []byte(`{}`))
	r.refused(http.StatusBadRequest, "2 ways", "POST", "/v1/forget", jsonT, []byte(`{"ids":["a"],"who":"b"}`))
	r.want(http.StatusOK, "GET", "/v1/versions", "", nil)
	r.want(http.StatusCreated, "POST", "/v1/versions", jsonT, []byte(`{"name":"before"}`))
	r.refused(http.StatusConflict, "has the name", "POST", "/v1/versions", jsonT, []byte(`{"name":"before"}`))
	r.refused(http.StatusBadRequest, "no name for the version", "POST", "/v1/versions", jsonT, []byte(`{}`))
	r.refused(http.StatusBadRequest, "names no version", "POST", "/v1/rollback", jsonT, []byte(`{}`))
	r.refused(http.StatusNotFound, "", "POST", "/v1/rollback", jsonT, []byte(`{"version":999999}`))
	r.want(http.StatusAccepted, "POST", "/v1/tasks", "", nil)
}

// TestEventsArrive: a stream has a status at once, and tells of what happens, and of versions that answer.
func TestEventsArrive(t *testing.T) {
	r := taught(t, daemonOptions(), api.Options{Limits: api.Limits{Streams: 1}})
	answer, err := http.Get(r.url + "/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("the type is %s", answer.Header.Get("Content-Type"))
	}
	lines := bufio.NewScanner(answer.Body)
	next := func() (kind string, data []byte) {
		for lines.Scan() {
			if text, is := strings.CutPrefix(lines.Text(), "event: "); is {
				kind = text
			} else if text, is := strings.CutPrefix(lines.Text(), "data: "); is {
				return kind, []byte(text)
			}
		}
		t.Fatalf("the stream has ended: %v", lines.Err())
		return "", nil
	}
	kind, text := next()
	if !json.Valid(text) || kind != "status" {
		t.Errorf("the first event is %s %s", kind, text)
	}
	r.refused(http.StatusServiceUnavailable, "1 streams", "GET", "/v1/events", "", nil)
	r.want(http.StatusAccepted, "POST", "/v1/classes", jsonT, []byte(`{"name":"new"}`))
	for kind == "status" {
		kind, text = next()
	}
	if !json.Valid(text) || kind != "class" {
		t.Errorf("an event is %s %s", kind, text)
	}
	r.want(http.StatusOK, "POST", "/v1/samples?label=new&wait=learned", raw, pixels(0, 9))
	var v, now struct{ Version, Learned, Answering int64 }
	if err := json.Unmarshal(r.want(http.StatusOK, "GET", "/v1/status", "", nil), &now); err != nil {
		t.Fatal(err)
	}
	for v.Version < now.Version {
		for kind, text = next(); kind != "published"; kind, text = next() {
		}
		if err := json.Unmarshal(text, &v); err != nil || v.Answering == 0 || v.Learned < v.Answering {
			t.Errorf("%s (%v)", text, err)
		}
	}
}

// TestOthersAreServed: the document, the metrics, and whether the daemon lives.
func TestOthersAreServed(t *testing.T) {
	r := taught(t, daemonOptions(), api.Options{})
	for _, path := range []string{"/livez", "/readyz", "/v1/status", "/v1/openapi.yaml", "/v1/openapi.json", "/metrics",
		"/v2", "/v2/health/live", "/v2/health/ready"} {
		if text := r.want(http.StatusOK, "GET", path, "", nil); len(text) == 0 {
			t.Errorf("%s is empty", path)
		}
	}
	if text := string(r.want(http.StatusOK, "GET", "/metrics", "", nil)); !strings.Contains(text,
		`ocl_request_seconds_count{code="202",path="/v1/samples"} 6`) {
		t.Errorf("the metrics do not count the samples:\n%.2000s", text)
	}
	r.refused(http.StatusNotFound, "/v1/openapi.yaml", "GET", "/", "", nil)
	r.refused(http.StatusNotFound, "/v1/openapi.yaml", "GET", "/v1/nothing", "", nil)
	answer, _ := r.send("DELETE", "/v1/status", "", nil)
	if answer.StatusCode != http.StatusMethodNotAllowed || answer.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("DELETE of the status: %d, Allow %q", answer.StatusCode, answer.Header.Get("Allow"))
	}
	r.refused(http.StatusBadRequest, "There is no parameter", "POST", "/v1/predictions?rembember=true", raw, pixels(0, 0))
}

// TestTheNumberOfAGuessIsNamedByWhatItIs: a probability or a distance, by the same word in all forms of an answer.
func TestTheNumberOfAGuessIsNamedByWhatItIs(t *testing.T) {
	for method, word := range map[string]string{"er": "probability", "er+ncm": "distance"} {
		o := daemonOptions()
		o.Live.Method = method
		r := taught(t, o, api.Options{})
		for _, ask := range []struct {
			verb, path, kind string
			body             []byte
			want             string
		}{
			{"POST", "/v1/predictions?k=1", raw, pixels(1, 1), `"guesses":[{"class":"b","` + word + `":`},
			{"GET", "/v2/models/ocl", "", nil, `{"name":"` + word + `","datatype":"FP32"`},
			{"POST", "/v2/models/ocl/infer", jsonT, fmt.Appendf(nil,
				`{"inputs":[{"name":"file","datatype":"BYTES","shape":[1],"data":[%q]}]}`,
				base64.StdEncoding.EncodeToString(pngOf(t, 20))),
				`{"name":"` + word + `","datatype":"FP32"`},
		} {
			text := string(r.want(http.StatusOK, ask.verb, ask.path, ask.kind, ask.body))
			if flat := strings.NewReplacer(" ", "", "\n", "").Replace(text); !strings.Contains(flat, ask.want) ||
				strings.Contains(flat, `"value"`) {
				t.Errorf("%s, %s: %s does not have %s", method, ask.path, text, ask.want)
			}
		}
	}
}
