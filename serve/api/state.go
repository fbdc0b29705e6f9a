package api

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ocl/internal/limit"
	"ocl/serve/daemon"
)

// status answers GET /v1/status: what the page and the metrics show, too.
func (s *server) status(http.ResponseWriter, *http.Request) (int, any, error) {
	return http.StatusOK, s.now(), nil
}

// now is the status as it is.
func (s *server) now() daemon.Status {
	v := s.model.Status()
	v.Problem = cmp.Or(v.Problem, s.o.LabelStudio.Problem())
	return v
}

// boundary answers POST /v1/tasks: a task ends, for methods that use that.
func (s *server) boundary(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	return http.StatusAccepted, map[string]any{"durable": true}, s.daemon.Boundary(r.Context(), who(r))
}

// weights answers GET /v1/model: the model that answers now, with an ETag by which a replica asks whether there is
// another one.
func (s *server) weights(to http.ResponseWriter, r *http.Request) (int, any, error) {
	if err := query(r, "format"); err != nil {
		return 0, nil, err
	}
	format := cmp.Or(r.URL.Query().Get("format"), "ocl")
	if !slices.Contains([]string{"ocl", "safetensors", "onnx"}, format) {
		return 0, nil, bad("There is no format %.40q. Use ocl, safetensors or onnx.", format)
	}
	h := to.Header()
	h.Set("Cache-Control", "no-cache")
	tagged := func(version int64) (tag string) {
		tag = fmt.Sprintf(`"%s-%d-%s"`, s.instance, version, format)
		h.Set("ETag", tag)
		h.Set("Ocl-Version", strconv.FormatInt(version, 10))
		return tag
	}
	if tag := tagged(s.model.Version()); known(r.Header.Get("If-None-Match"), tag) {
		to.WriteHeader(http.StatusNotModified)
		return 0, nil, nil
	}
	if !s.models.take(r.Context(), who(r), 1) {
		return 0, nil, problem(http.StatusServiceUnavailable,
			"The model is sent to as many as there is memory for. Send this again after the time of Retry-After.").
			later(shareWait)
	}
	defer s.models.back(who(r), 1)
	var model bytes.Buffer // half a model must not look like a whole one
	version, err := s.model.Model(r.Context(), format, &model)
	if err != nil {
		return 0, nil, err
	}
	tagged(version)
	h.Set("Content-Type", typeRaw)
	h.Set("Content-Disposition", `attachment; filename="model.`+format+`"`)
	h.Set("Content-Length", strconv.Itoa(model.Len()))
	c := http.NewResponseController(to)
	for model.Len() > 0 {
		_ = c.SetWriteDeadline(time.Now().Add(writeTime)) // for each part; a test's recorder has none
		if _, err := to.Write(model.Next(1 << 16)); err != nil {
			break // who asked may have gone
		}
	}
	return 0, nil, nil
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
func (s *server) versions(http.ResponseWriter, *http.Request) (int, any, error) {
	return http.StatusOK, map[string]any{"versions": append([]daemon.VersionInfo{}, s.daemon.Versions()...)}, nil
}

// accuracy answers GET /v1/versions/{version}/accuracy: what a version, or the one that answers now, predicts of the
// samples that are held out.
func (s *server) accuracy(to http.ResponseWriter, r *http.Request) (int, any, error) {
	version := int64(0)
	if text := r.PathValue("version"); text != "now" {
		var err error
		if version, err = strconv.ParseInt(text, 10, 64); err != nil || version < 1 {
			return 0, nil, bad("There is no version %.40q. Use a number of GET /v1/versions, or now.", text)
		}
	}
	hurry := unhurried(to)
	defer hurry()
	a, err := s.daemon.Test(r.Context(), version)
	return http.StatusOK, a, err
}

// named is the body of a request that names something.
type named struct {
	Name string `json:"name"`
}

// keep answers POST /v1/versions: the weights as they are now stay, under a name.
func (s *server) keep(to http.ResponseWriter, r *http.Request) (int, any, error) {
	var in named
	err := s.readJSON(to, r, &in)
	if err == nil && in.Name == "" {
		err = bad("The body has no name for the version. Send {\"name\": \"before summer\"}.")
	}
	if err != nil {
		return 0, nil, err
	}
	v, err := s.daemon.Keep(r.Context(), in.Name, who(r))
	return http.StatusCreated, v, err
}

// rollback answers POST /v1/rollback: back to the weights of a version. The memory stays.
func (s *server) rollback(to http.ResponseWriter, r *http.Request) (int, any, error) {
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
	return http.StatusAccepted, in, err
}

// classes answers GET /v1/classes.
func (s *server) classes(http.ResponseWriter, *http.Request) (int, any, error) {
	if s.daemon != nil {
		return http.StatusOK, map[string]any{"classes": append([]daemon.ClassInfo{}, s.daemon.Classes()...)}, nil
	}
	list := []named{}
	for _, name := range s.model.Names() {
		list = append(list, named{name})
	}
	return http.StatusOK, map[string]any{"classes": list}, nil
}

// addClass answers POST /v1/classes. A class that is there already stays as it is.
func (s *server) addClass(to http.ResponseWriter, r *http.Request) (int, any, error) {
	var in named
	err := s.readJSON(to, r, &in)
	if err == nil {
		err = s.daemon.AddClass(r.Context(), in.Name, who(r))
	}
	return http.StatusAccepted, in, err
}

// changeClass answers PATCH /v1/classes/{name}: another name, or the class that this one becomes a part of.
func (s *server) changeClass(to http.ResponseWriter, r *http.Request) (int, any, error) {
	var in struct {
		Name *string `json:"name"`
		Into *string `json:"into"`
	}
	if err := s.readJSON(to, r, &in); err != nil {
		return 0, nil, err
	}
	if (in.Name == nil) == (in.Into == nil) {
		return 0, nil, bad("A class gets a name or goes into another one. Give either name or into.")
	}
	name := r.PathValue("name")
	if in.Name != nil {
		c, err := s.daemon.RenameClass(r.Context(), name, *in.Name, who(r))
		return http.StatusOK, c, noClass(err)
	}
	c, err := s.daemon.MergeClass(r.Context(), name, *in.Into, who(r))
	return http.StatusOK, c, noClass(err)
}

// noClass is an error about a change of a class that is not there.
func noClass(err error) error {
	var unknown *daemon.UnknownClassError
	if !errors.As(err, &unknown) {
		return err
	}
	p := problem(http.StatusNotFound, "There is no class %.80q. Look for those that are by GET /v1/classes.", unknown.Name)
	if p.Nearest = unknown.Nearest; p.Nearest != "" {
		p.Detail = fmt.Sprintf("There is no class %.80q. Did you mean %.80q?", unknown.Name, unknown.Nearest)
	}
	return p
}

// removeClass answers DELETE /v1/classes/{name}.
func (s *server) removeClass(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	c, err := s.daemon.RemoveClass(r.Context(), r.PathValue("name"), who(r))
	return http.StatusOK, c, noClass(err)
}

// splitClass answers POST /v1/classes/{name}/split.
func (s *server) splitClass(to http.ResponseWriter, r *http.Request) (int, any, error) {
	var in struct {
		IDs  []string `json:"ids"`
		Name string   `json:"name"`
	}
	if err := s.readJSONOf(to, r, limit.ServeBody, &in); err != nil {
		return 0, nil, err
	}
	if n := len(in.IDs); n > limit.ServePictures {
		return 0, nil, problem(http.StatusRequestEntityTooLarge, "There are %d ids. Send at most %d at once.", n,
			limit.ServePictures)
	}
	c, err := s.daemon.SplitClass(r.Context(), r.PathValue("name"), in.Name, in.IDs, who(r))
	return http.StatusOK, c, noClass(err)
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
