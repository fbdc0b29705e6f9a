package api

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"ocl/internal/limit"
	"ocl/internal/listen"
	"ocl/serve/daemon"
)

// learn answers POST /v1/samples: 202 when the samples are durable, and with wait=learned 200 when the published model
// has learned them. All are taken, or none.
func (s *server) learn(to http.ResponseWriter, r *http.Request) (int, any, error) {
	if err := query(r, "label", "id", "wait"); err != nil {
		return 0, nil, err
	}
	q := r.URL.Query()
	wait, err := s.waits(r)
	if err != nil {
		return 0, nil, err
	}
	body, memory, err := s.readBody(to, r, s.o.Limits.Body)
	if err != nil {
		return 0, nil, err
	}
	defer memory.back()
	list, err := s.readPictures(r, body, memory)
	if err != nil {
		return 0, nil, err
	}
	if q.Has("id") && len(list) != 1 {
		return 0, nil, bad("id=%.40q names one picture, and there are %d. Give each its own in JSON or a form.", q.Get("id"),
			len(list))
	}
	for i := range list {
		p := &list[i]
		if p.label != "" && q.Has("label") || p.id != "" && q.Has("id") {
			return 0, nil, bad("The path and the body both say the label or the id. Leave one out.")
		}
		if q.Has("label") {
			p.label = q.Get("label")
		}
		if q.Has("id") {
			p.id = q.Get("id")
		}
		if p.label == "" {
			return 0, nil, bad("%s has no label. Send label=NAME.", where(i, len(list)))
		}
		if err := checkID(p.id); err != nil {
			return 0, nil, err
		}
	}
	pixels, err := s.pixels(r, list, memory)
	if err != nil {
		return 0, nil, err
	}
	samples := make([]daemon.Sample, len(list))
	for i, p := range list {
		samples[i] = daemon.Sample{ID: p.id, Label: p.label, Pixels: pixels[i], File: p.file}
	}
	if err := s.fair(r, len(list)); err != nil {
		return 0, nil, err
	}
	came, err := s.daemon.Learn(r.Context(), samples, who(r))
	var full *daemon.FullError
	if most := s.daemon.Options().Queue; errors.As(err, &full) && len(list) > most {
		return 0, nil, problem(http.StatusRequestEntityTooLarge,
			"There are %d pictures, and %d may wait to be learned. Send at most so many at once, or start the daemon with a larger --queue.",
			len(list), most)
	}
	memory.back() // the daemon has its own now
	status, err := s.came(to, r, wait, err, came)
	return status, map[string]any{"samples": came}, err
}

// fair refuses n more pictures for the queue where who sends them has its part of it.
func (s *server) fair(r *http.Request, n int) error {
	if !s.queued.fair(who(r), n, s.daemon.Waiting(), s.daemon.Options().Queue) {
		return &daemon.FullError{After: time.Second}
	}
	return nil
}

// came notes whose pictures came into the queue by a request that had the error err, and waits until predictions use
// them where the request wants that. The receipts then have their states.
func (s *server) came(to http.ResponseWriter, r *http.Request, wait bool, err error, list []daemon.Receipt) (int,
	error) {
	n := 0
	var ids []string
	for _, receipt := range list {
		if ids = append(ids, receipt.ID); receipt.Queued {
			n++
		}
	}
	s.queued.add(who(r), n)
	if err != nil || !wait {
		return http.StatusAccepted, err
	}
	hurry := unhurried(to)
	defer hurry()
	if err := s.daemon.Wait(r.Context(), ids); err != nil {
		return 0, err
	}
	for i, id := range ids {
		if info, ok := s.daemon.Sample(id); ok {
			list[i].State = info.State
		}
	}
	return http.StatusOK, nil
}

// waits says whether a request waits until its samples are learned.
func (s *server) waits(r *http.Request) (bool, error) {
	switch text := r.URL.Query().Get("wait"); text {
	case "":
		return false, nil
	case "learned":
		if s.daemon.Options().Age < 0 {
			return false, bad("The daemon learns full batches alone, as --age is negative, so this could wait for ever. Leave wait out, and ask for the state by GET /v1/samples/ID.")
		}
		return true, nil
	default:
		return false, bad("wait cannot be %.40q. Use learned, or leave it out.", text)
	}
}

// label answers PUT /v1/samples/{id}/label: a remembered picture gets its label, or a label is corrected.
func (s *server) label(to http.ResponseWriter, r *http.Request) (int, any, error) {
	var in struct {
		Label string `json:"label"`
	}
	id, wait := r.PathValue("id"), false
	err := query(r, "wait")
	if err == nil {
		wait, err = s.waits(r)
	}
	if err == nil {
		err = checkID(id)
	}
	if err == nil {
		err = s.readJSON(to, r, &in)
	}
	if err == nil && in.Label == "" {
		err = bad("The body names no label. Send {\"label\": \"NAME\"}.")
	}
	if err == nil {
		err = s.fair(r, 1)
	}
	if err != nil {
		return 0, nil, err
	}
	receipt, err := s.daemon.Label(r.Context(), id, in.Label, who(r))
	if err != nil {
		return 0, nil, err
	}
	list := []daemon.Receipt{receipt}
	status, err := s.came(to, r, wait, nil, list)
	return status, list[0], err
}

// sample answers GET /v1/samples/{id}.
func (s *server) sample(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	info, ok := s.daemon.Sample(r.PathValue("id"))
	if !ok {
		return 0, nil, problem(http.StatusNotFound, "There is no sample %.80q. It was never sent, or so long ago that its id is not kept, or it was lost by damage of the journal. Send the picture with its label to /v1/samples.",
			r.PathValue("id"))
	}
	return http.StatusOK, info, nil
}

// unlabel answers DELETE /v1/samples/{id}/label: the sample waits for another label.
func (s *server) unlabel(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	if err := checkID(r.PathValue("id")); err != nil {
		return 0, nil, err
	}
	receipt, err := s.daemon.Unlabel(r.Context(), r.PathValue("id"), who(r))
	return http.StatusAccepted, receipt, err
}

// mark answers PUT /v1/samples/{id}/mark: a picture that waits for its label is skipped or deleted, or neither.
func (s *server) mark(to http.ResponseWriter, r *http.Request) (int, any, error) {
	var in struct {
		Mark *string `json:"mark"`
	}
	err := checkID(r.PathValue("id"))
	if err == nil {
		err = s.readJSON(to, r, &in)
	}
	if err == nil && (in.Mark == nil || !slices.Contains([]string{"", daemon.MarkSkipped, daemon.MarkDeleted}, *in.Mark)) {
		err = bad("The body has no mark that is possible. Send {\"mark\": \"skipped\"}, or deleted, or an empty text to take it away.")
	}
	if err != nil {
		return 0, nil, err
	}
	receipt, err := s.daemon.Mark(r.Context(), r.PathValue("id"), *in.Mark, who(r))
	return http.StatusAccepted, receipt, err
}

// list answers GET /v1/samples: a part of the samples that a filter means.
func (s *server) list(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	if err := query(r, "filter", "class", "like", "offset", "count"); err != nil {
		return 0, nil, err
	}
	q := daemon.Query{Filter: r.URL.Query().Get("filter"), Class: r.URL.Query().Get("class"),
		Like: r.URL.Query().Get("like")}
	if q.Filter != "" && !slices.Contains(daemon.Filters, q.Filter) {
		return 0, nil, bad("There is no filter %.40q. Use %s.", q.Filter, strings.Join(daemon.Filters, ", "))
	}
	if q.Like != "" && q.Filter != "" && q.Filter != daemon.FilterUnlabelled {
		return 0, nil, bad("Only pictures that wait for their labels are compared. Leave filter or like out.")
	}
	var err error
	if q.Count, err = number(r, "count", 12, 1, limit.ServePictures); err != nil {
		return 0, nil, err
	}
	if q.Offset, err = number(r, "offset", 0, 0, math.MaxInt32); err != nil {
		return 0, nil, err
	}
	list, err := s.daemon.List(r.Context(), q)
	return http.StatusOK, list, err
}

// history answers GET /v1/history: what was done to pictures, classes and versions, and by whom, the last first.
func (s *server) history(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	if err := query(r, "count", "before"); err != nil {
		return 0, nil, err
	}
	n, err := number(r, "count", 50, 1, limit.ServeHistory)
	if err != nil {
		return 0, nil, err
	}
	before, err := number(r, "before", 0, 1, math.MaxInt)
	return http.StatusOK, map[string]any{"deeds": s.daemon.History(n, int64(before))}, err
}

// shownKinds are the kinds of picture files that all browsers show.
var shownKinds = map[string]bool{"image/jpeg": true, "image/png": true, "image/gif": true, "image/webp": true,
	"image/bmp": true}

// picture answers GET /v1/samples/{id}/picture: the pixels that the network sees, as PNG, or with kept=true the file
// that came, where that is kept and browsers show it.
func (s *server) picture(to http.ResponseWriter, r *http.Request) (int, any, error) {
	err := query(r, "kept")
	kept := false
	if err == nil {
		kept, err = truth(r, "kept")
	}
	if err != nil {
		return 0, nil, err
	}
	if kept {
		picture, file := s.daemon.Kept(r.PathValue("id"))
		if kind := http.DetectContentType(picture); file && shownKinds[kind] {
			to.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox") // others have made it
			listen.Send(to, kind, picture)
			return 0, nil, nil
		}
	}
	pixels, err := s.daemon.Pixels(r.Context(), r.PathValue("id"))
	if err == nil && pixels == nil {
		err = problem(http.StatusNotFound, "No picture is kept of %.80q. Pictures are shown that wait for their labels or to be learned, that are held out, and as long as the journal has them those that were learned.",
			r.PathValue("id"))
	}
	if err != nil {
		return 0, nil, err
	}
	c, h, w := s.model.Shape()
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			at := y*w + x
			rgb := [3]byte{pixels[at], pixels[at], pixels[at]}
			if c == 3 {
				rgb[1], rgb[2] = pixels[h*w+at], pixels[2*h*w+at]
			}
			img.SetNRGBA(x, y, color.NRGBA{rgb[0], rgb[1], rgb[2], 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return 0, nil, err
	}
	to.Header().Set("Content-Type", "image/png")
	_, _ = to.Write(b.Bytes()) // who asked may have gone
	return 0, nil, nil
}

// remove answers DELETE /v1/samples/{id}: the picture is erased everywhere when this is answered.
func (s *server) remove(to http.ResponseWriter, r *http.Request) (int, any, error) {
	return s.forgotten(to, r, daemon.Which{IDs: []string{r.PathValue("id")}})
}

// forget answers POST /v1/forget: by ids, by a picture, or by who sent it and when.
func (s *server) forget(to http.ResponseWriter, r *http.Request) (int, any, error) {
	which, err := s.which(to, r)
	if err != nil {
		return 0, nil, err
	}
	return s.forgotten(to, r, which)
}

func (s *server) which(to http.ResponseWriter, r *http.Request) (w daemon.Which, err error) {
	body, memory, err := s.readBody(to, r, s.o.Limits.Body)
	if err != nil {
		return w, err
	}
	defer memory.back()
	// the picture itself
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != typeJSON {
		list, err := s.readPictures(r, body, memory)
		if err != nil {
			return w, err
		}
		if len(list) != 1 || list[0].id != "" || list[0].label != "" {
			return w, bad("Send one picture without label and id, or JSON.")
		}
		pixels, err := s.pixels(r, list, memory)
		if err != nil {
			return w, err
		}
		w.Digest = daemon.Digest(pixels[0])
		return w, nil
	}
	var in struct {
		IDs    []string   `json:"ids"`
		Digest string     `json:"digest"`
		Who    string     `json:"who"`
		From   *time.Time `json:"from"`
		To     *time.Time `json:"to"`
	}
	if err := decode(body, &in); err != nil {
		return w, err
	}
	ways := 0
	for _, given := range []bool{len(in.IDs) > 0, in.Digest != "", in.Who != "" || in.From != nil || in.To != nil} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return w, bad("The body says %d ways to find samples. Send either ids, or digest, or who, from and to; who alone means all that they ever sent.",
			ways)
	}
	if len(in.IDs) > limit.ServeForget {
		return w, problem(http.StatusRequestEntityTooLarge, "There are %d ids. Send at most %d at once.", len(in.IDs),
			limit.ServeForget)
	}
	w = daemon.Which{IDs: in.IDs, Digest: in.Digest, Who: in.Who}
	for _, bound := range []struct {
		name string
		from *time.Time
		to   *time.Time
	}{{"from", in.From, &w.From}, {"to", in.To, &w.To}} {
		switch {
		case bound.from == nil:
		case bound.from.Before(time.Unix(0, 0)): // the zero time would mean all times
			return w, bad("%s is %s, before any sample. Use a time from 1970 on, or leave it out.", bound.name,
				bound.from.Format(time.RFC3339))
		default:
			*bound.to = *bound.from
		}
	}
	if in.From != nil && in.To != nil && in.To.Before(*in.From) {
		return w, bad("to is before from. Exchange them.")
	}
	return w, nil
}

// forgotten answers when samples are erased.
func (s *server) forgotten(to http.ResponseWriter, r *http.Request, which daemon.Which) (int, any, error) {
	hurry := unhurried(to)
	defer hurry()
	done, err := s.daemon.Forget(r.Context(), which, who(r))
	return http.StatusOK, done, err
}
