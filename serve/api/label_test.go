package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"ocl/serve/api"
)

// listing is a list of samples.
type listing struct {
	Samples []struct{ ID, Label, State, Mark, Who string }
	Total   int
}

// TestLabellingBeginsEmpty: a daemon without a class and without a model remembers pictures. They are listed, skipped,
// labelled, and lose their label again, and the history says so.
func TestLabellingBeginsEmpty(t *testing.T) {
	r := start(t, daemonOptions(), api.Options{})
	var ids []string
	for i := range 3 {
		p := read[predictions](t, r.want(http.StatusOK, "POST", "/v1/predictions?remember=true", raw, pixels(0, i)))
		if one := p.Predictions[0]; !one.Remembered || len(one.Guesses) != 0 || p.Version != 0 {
			t.Fatalf("%+v", p)
		}
		ids = append(ids, p.Predictions[0].ID)
	}
	list := func(query string) listing {
		t.Helper()
		return read[listing](t, r.want(http.StatusOK, "GET", "/v1/samples?"+query, "", nil))
	}
	if l := list("count=2"); l.Total != 3 || len(l.Samples) != 2 {
		t.Errorf("%+v", l)
	}
	if l := list("count=2&offset=2"); l.Total != 3 || len(l.Samples) != 1 {
		t.Errorf("%+v", l)
	}
	mark := "/v1/samples/" + ids[0] + "/mark"
	r.want(http.StatusAccepted, "PUT", mark, jsonT, []byte(`{"mark":"skipped"}`))
	if l := list("filter=skipped"); l.Total != 1 || l.Samples[0].ID != ids[0] || l.Samples[0].Mark != "skipped" {
		t.Errorf("%+v", l)
	}
	r.want(http.StatusAccepted, "PUT", mark, jsonT, []byte(`{"mark":""}`))
	r.refused(http.StatusBadRequest, "skipped", "PUT", mark, jsonT, []byte(`{"mark":"blue"}`))
	r.refused(http.StatusBadRequest, "skipped", "PUT", mark, jsonT, []byte(`{}`))
	label := "/v1/samples/" + ids[1] + "/label"
	r.want(http.StatusOK, "PUT", label+"?wait=learned", jsonT, []byte(`{"label":"cat"}`))
	r.refused(http.StatusConflict, "Take the label away first", "PUT", "/v1/samples/"+ids[1]+"/mark", jsonT,
		[]byte(`{"mark":"deleted"}`))
	if l := list("filter=labelled&class=cat"); l.Total != 1 || l.Samples[0].Label != "cat" || l.Samples[0].Who != "anybody" {
		t.Errorf("%+v", l)
	}
	list("filter=doubted")
	if l := list("like=" + ids[0]); l.Total == 0 || l.Samples[0].ID != ids[0] {
		t.Errorf("%+v", l)
	}
	if got := r.want(http.StatusOK, "GET", "/v1/samples/"+ids[1]+"/picture", "", nil); !bytes.HasPrefix(got, []byte("\x89PNG")) {
		t.Errorf("the picture of one that was learned: %.20q", got)
	}
	if u := read[struct{ State, Was string }](t, r.want(http.StatusAccepted, "DELETE", label, "",
		nil)); u.State != "remembered" || u.Was != "cat" {
		t.Errorf("%+v", u)
	}
	if l := list(""); l.Total != 3 {
		t.Errorf("%+v", l)
	}
	h := read[struct {
		Deeds []struct {
			Number                    int
			Kind, ID, Label, Was, Who string
			Last                      bool
		}
	}](t, r.want(http.StatusOK, "GET", "/v1/history?count=4", "", nil))
	if len(h.Deeds) != 4 || h.Deeds[0].Kind != "unlabel" || h.Deeds[0].Was != "cat" || !h.Deeds[0].Last || h.Deeds[1].Last {
		t.Errorf("%+v", h)
	}
	r.want(http.StatusOK, "GET", fmt.Sprint("/v1/history?before=", h.Deeds[3].Number), "", nil)
	for _, bad := range []string{"filter=blue", "like=x&filter=labelled", "count=0", "count=1001", "offset=-1", "class=a&class=b", "uncertain=3"} {
		r.refused(http.StatusBadRequest, "", "GET", "/v1/samples?"+bad, "", nil)
	}
	r.refused(http.StatusNotFound, "", "GET", "/v1/samples?like=nobody", "", nil)
	r.refused(http.StatusBadRequest, "", "GET", "/v1/history?count=1001", "", nil)
	r.refused(http.StatusNotFound, "", "DELETE", "/v1/samples/nobody/label", "", nil)
	r.refused(http.StatusNotFound, "", "PUT", "/v1/samples/nobody/mark", jsonT, []byte(`{"mark":"skipped"}`))
}

// TestAPictureAtItsOwnSize: the file that came is sent as it is, where it is kept, as what it is and nothing else.
func TestAPictureAtItsOwnSize(t *testing.T) {
	o := daemonOptions()
	o.Live.Size = 32
	r := start(t, o, api.Options{})
	for _, file := range [][]byte{pngOf(t, 9), jpegOf(t, 30, 20)} {
		id := read[predictions](t, r.want(http.StatusOK, "POST", "/v1/predictions?remember=true", "", file)).Predictions[0].ID
		at := "/v1/samples/" + id + "/picture"
		if got := r.want(http.StatusOK, "GET", at+"?kept=true", "", nil); !bytes.Equal(got, file) {
			t.Errorf("%d bytes came, and %d are sent", len(file), len(got))
		}
		if got := r.want(http.StatusOK, "GET", at, "", nil); bytes.Equal(got, file) || !bytes.HasPrefix(got, []byte("\x89PNG")) {
			t.Errorf("as the network sees it: %.20q", got)
		}
		answer, err := http.Get(r.url + at + "?kept=true")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if h := answer.Header; h.Get("Content-Type") != http.DetectContentType(file) || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Content-Security-Policy") != "default-src 'none'; sandbox" {
			t.Errorf("the headers are %v", h)
		}
	}
	p := read[predictions](t, r.want(http.StatusOK, "POST", "/v1/predictions?remember=true", raw, make([]byte, 3*32*32)))
	id := p.Predictions[0].ID
	if got := r.want(http.StatusOK, "GET", "/v1/samples/"+id+"/picture?kept=true", "", nil); !bytes.HasPrefix(got, []byte("\x89PNG")) {
		t.Errorf("of pixels: %.20q", got)
	}
	r.refused(http.StatusBadRequest, "true or false", "GET", "/v1/samples/"+id+"/picture?kept=yes", "", nil)
}

// TestVersionsAreTested: a version and the one that answers are tested on what is held out.
func TestVersionsAreTested(t *testing.T) {
	r := taught(t, daemonOptions(), api.Options{})
	v := read[struct{ Number int64 }](t, r.want(http.StatusCreated, "POST", "/v1/versions", jsonT, []byte(`{"name":"x"}`)))
	for _, of := range []string{"now", fmt.Sprint(v.Number)} {
		a := read[struct {
			Version  int64
			Samples  int
			Accuracy *float64
		}](t, r.want(http.StatusOK, "GET", "/v1/versions/"+of+"/accuracy", "", nil))
		if a.Version == 0 || a.Samples != 0 || a.Accuracy != nil {
			t.Errorf("%s: %+v", of, a)
		}
	}
	r.refused(http.StatusNotFound, "", "GET", "/v1/versions/999999/accuracy", "", nil)
	r.refused(http.StatusBadRequest, "or now", "GET", "/v1/versions/0/accuracy", "", nil)
	r.refused(http.StatusBadRequest, "or now", "GET", "/v1/versions/blue/accuracy", "", nil)
}
