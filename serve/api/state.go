package api

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ocl/internal/limit"
	"ocl/serve/daemon"
)

// status answers GET /v1/status: what the page and the metrics show, too.
func (s *server) status(to http.ResponseWriter, _ *http.Request) {
	answer(to, http.StatusOK, s.model.Status())
}

// boundary answers POST /v1/tasks: a task ends, for methods that use that.
func (s *server) boundary(to http.ResponseWriter, r *http.Request) {
	if err := s.daemon.Boundary(r.Context(), who(r)); err != nil {
		s.refuse(to, r, err)
		return
	}
	answer(to, http.StatusAccepted, struct {
		Durable bool `json:"durable"`
	}{true})
}

// formats has the content type of each format of GET /v1/model.
var formats = map[string]string{"ocl": typeRaw, "safetensors": typeRaw, "onnx": typeRaw}

// weights answers GET /v1/model: the model that answers now, with an ETag by which a replica asks whether there is
// another one.
func (s *server) weights(to http.ResponseWriter, r *http.Request) {
	if err := query(r, "format"); err != nil {
		s.refuse(to, r, err)
		return
	}
	format := r.URL.Query().Get("format")
	if format == "" {
		format = "ocl"
	}
	kind, ok := formats[format]
	if !ok {
		s.refuse(to, r, bad("There is no format %.40q. Use ocl, safetensors or onnx.", format))
		return
	}
	h := to.Header()
	h.Set("Cache-Control", "no-cache")
	named := func(version int64) (tag string) {
		tag = fmt.Sprintf(`"%s-%d-%s"`, s.instance, version, format)
		h.Set("ETag", tag)
		h.Set("Ocl-Version", strconv.FormatInt(version, 10))
		return tag
	}
	if tag := named(s.model.Version()); known(r.Header.Get("If-None-Match"), tag) {
		to.WriteHeader(http.StatusNotModified)
		return
	}
	if !s.models.take(r.Context(), who(r), 1) {
		p := problem(http.StatusServiceUnavailable,
			"The model is sent to as many as there is memory for. Send this again after the time of Retry-After.")
		p.after = shareWait
		s.refuse(to, r, p)
		return
	}
	defer s.models.back(who(r), 1)
	var model bytes.Buffer // half a model must not look like a whole one
	version, err := s.model.Model(r.Context(), format, &model)
	if err != nil {
		s.refuse(to, r, err)
		return
	}
	named(version)
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", `attachment; filename="model.`+format+`"`)
	h.Set("Content-Length", strconv.Itoa(model.Len()))
	c := http.NewResponseController(to)
	for model.Len() > 0 {
		_ = c.SetWriteDeadline(time.Now().Add(writeTime)) // for each part; a test's recorder has none
		if _, err := to.Write(model.Next(1 << 16)); err != nil {
			return // who asked may have gone
		}
	}
}

// known says whether a list of tags has one.
func known(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
			return true
		}
	}
	return false
}

// versions answers GET /v1/versions: the versions to which one can go back.
func (s *server) versions(to http.ResponseWriter, _ *http.Request) {
	list := s.daemon.Versions()
	if list == nil {
		list = []daemon.VersionInfo{}
	}
	answer(to, http.StatusOK, struct {
		Versions []daemon.VersionInfo `json:"versions"`
	}{list})
}

// keep answers POST /v1/versions: the weights as they are now stay, under a name.
func (s *server) keep(to http.ResponseWriter, r *http.Request) {
	var in struct {
		Name string `json:"name"`
	}
	var v daemon.VersionInfo
	err := s.readJSON(to, r, &in)
	if err == nil && in.Name == "" {
		err = bad("The body has no name for the version. Send {\"name\": \"before summer\"}.")
	}
	if err == nil {
		v, err = s.daemon.Keep(r.Context(), in.Name, who(r))
	}
	if err != nil {
		s.refuse(to, r, err)
		return
	}
	answer(to, http.StatusCreated, v)
}

// rollback answers POST /v1/rollback: back to the weights of a version. The memory stays.
func (s *server) rollback(to http.ResponseWriter, r *http.Request) {
	var in struct {
		Version *int64 `json:"version"`
	}
	err := s.readJSON(to, r, &in)
	if err == nil && in.Version == nil {
		err = bad("The body names no version. Send {\"version\": N}; GET /v1/versions lists them.")
	}
	if err == nil {
		err = s.daemon.Rollback(r.Context(), *in.Version, who(r))
	}
	if err != nil {
		s.refuse(to, r, err)
		return
	}
	answer(to, http.StatusAccepted, struct {
		Version int64 `json:"version"`
	}{*in.Version})
}

// classes answers GET /v1/classes.
func (s *server) classes(to http.ResponseWriter, _ *http.Request) {
	var list any = []daemon.ClassInfo{}
	if s.daemon == nil {
		type name struct {
			Name string `json:"name"`
		}
		names := []name{}
		for _, n := range s.model.Names() {
			names = append(names, name{n})
		}
		list = names
	} else if known := s.daemon.Classes(); len(known) > 0 {
		list = known
	}
	answer(to, http.StatusOK, struct {
		Classes any `json:"classes"`
	}{list})
}

// addClass answers POST /v1/classes. A class that is there already stays as it is.
func (s *server) addClass(to http.ResponseWriter, r *http.Request) {
	var in struct {
		Name string `json:"name"`
	}
	err := s.readJSON(to, r, &in)
	if err == nil {
		err = s.daemon.AddClass(r.Context(), in.Name, who(r))
	}
	if err != nil {
		s.refuse(to, r, err)
		return
	}
	answer(to, http.StatusAccepted, in)
}

// checkID refuses ids that could not stand in a path or a log, or that look like others: marks of direction do not
// show.
func checkID(id string) error {
	other := func(r rune) bool { return !unicode.IsGraphic(r) || r == '\uFFFD' }
	if len(id) > limit.ServeID || strings.ContainsFunc(id, other) || strings.TrimSpace(id) != id || id == "." ||
		id == ".." {
		return bad("The id %s is not possible. Use at most %d bytes of UTF-8 whose characters all show, and no space at its ends.",
			strconv.QuoteToASCII(cut(id)), limit.ServeID)
	}
	return nil
}

// cut is the beginning of a long text.
func cut(text string) string { return text[:min(len(text), 60)] }
