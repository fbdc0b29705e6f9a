package labelstudio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/limit"
)

// answerTime is how long Label Studio has for an answer, a picture too.
const answerTime = 30 * time.Second

// hopeless is an error that another try does not mend.
type hopeless struct{ error }

func (h hopeless) Unwrap() error { return h.error }

// refusal is an answer of Label Studio that is no success.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// own says whether an address is one of the Label Studio that was configured.
func (p *Project) own(u *url.URL) bool {
	return u.Scheme == p.base.Scheme && u.Host == p.base.Host && u.User == nil
}

// redirected lets no redirect lead elsewhere.
func (p *Project) redirected(r *http.Request, via []*http.Request) error {
	switch {
	case !p.own(r.URL):
		return hopeless{fmt.Errorf("it is sent on to %s, and everything is fetched from %s alone. Let Label Studio send the pictures itself: in the settings of its storage, turn pre-signed URLs off",
			cause.Shown(r.URL.Scheme+"://"+r.URL.Host), p.base)}
	case len(via) > 4:
		return errors.New("the request is sent on too often. Check the address of Label Studio")
	}
	return nil
}

// get asks for something at an address of Label Studio, and returns an answer of at most so many bytes.
func (p *Project) get(ctx context.Context, at *url.URL, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for first := true; ; first = false {
		grant, fresh, err := p.grant(ctx)
		if err != nil {
			return nil, err
		}
		text, err := p.send(ctx, http.MethodGet, at, grant, nil, most)
		var refused *refusal
		if first && !fresh && errors.As(err, &refused) && refused.status == http.StatusUnauthorized {
			p.granting.Lock() // a personal token is exchanged for one that holds for minutes
			p.access = ""
			p.granting.Unlock()
			continue
		}
		return text, err
	}
}

// send sends one request.
func (p *Project) send(ctx context.Context, method string, at *url.URL, grant string, body []byte, most int64) ([]byte,
	error) {
	r, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if grant != "" {
		r.Header.Set("Authorization", grant)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := p.http.Do(r)
	if err != nil {
		var of *url.Error
		switch {
		case errors.As(err, new(hopeless)) && errors.As(err, &of):
			return nil, of.Err
		case ctx.Err() != nil:
			return nil, fmt.Errorf("there is no answer of Label Studio at %s in time", p.base)
		case errors.As(err, &of):
			err = of.Err
		}
		return nil, fmt.Errorf("there is no answer of Label Studio at %s: %w", p.base, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	switch {
	case answer.StatusCode != http.StatusOK:
		return nil, refused(answer, text)
	case err != nil:
		return nil, fmt.Errorf("the answer of Label Studio ends early: %w", err)
	case int64(len(text)) > most:
		return nil, hopeless{fmt.Errorf("the answer of Label Studio has more than %s", count.Of(most, "byte"))}
	}
	return text, nil
}

// refused is the error of an answer that is no success.
func refused(answer *http.Response, text []byte) error {
	says := fmt.Sprintf("Label Studio answers %s to %s %s", answer.Status, answer.Request.Method,
		cause.Shown(answer.Request.URL.Path))
	var why struct {
		Detail string `json:"detail"`
	}
	if json.Unmarshal(text, &why) == nil && why.Detail != "" {
		says += ", as it says: " + cause.Shown(why.Detail)
	}
	if answer.StatusCode == http.StatusUnauthorized {
		says += ". Give another access token"
	}
	return &refusal{answer.StatusCode, says}
}

// grant is what Authorization says, and whether it was made just now. A personal token is a JWT, which Label Studio
// exchanges for another one that it takes.
func (p *Project) grant(ctx context.Context) (text string, fresh bool, err error) {
	if strings.Count(p.o.Token, ".") != 2 {
		return "Token " + p.o.Token, true, nil
	}
	p.granting.Lock()
	defer p.granting.Unlock()
	if p.access != "" {
		return "Bearer " + p.access, false, nil
	}
	body, err := json.Marshal(map[string]string{"refresh": p.o.Token})
	if err != nil {
		return "", false, err
	}
	answer, err := p.send(ctx, http.MethodPost, p.base.JoinPath("api/token/refresh"), "", body, limit.ServeKeyFile)
	if err != nil {
		return "", false, err
	}
	var got struct {
		Access string `json:"access"`
	}
	if err := json.Unmarshal(answer, &got); err != nil || got.Access == "" {
		return "", false, errors.New("the token is exchanged for nothing by Label Studio. Give another access token")
	}
	p.access = got.Access
	return "Bearer " + p.access, true, nil
}

// pageTasks is the number of tasks that are asked for at once.
const pageTasks = 100

// Tasks returns tasks of the project, of those with these ids that are there.
func (p *Project) Tasks(ctx context.Context, ids []int64) (list []Task, err error) {
	for len(ids) > 0 {
		some := ids[:min(len(ids), pageTasks)]
		ids = ids[len(some):]
		page, _, err := p.page(ctx, 1, map[string]any{"selectedItems": map[string]any{"all": false, "included": some}})
		if err != nil {
			return nil, fmt.Errorf("labelstudio: %w", err)
		}
		list = append(list, page...)
	}
	return list, nil
}

// page returns a page of the tasks that a query means, from 1, and how many tasks it means. A page behind the last one
// is empty.
func (p *Project) page(ctx context.Context, n int, query map[string]any) (list []Task, total int, err error) {
	query["ordering"] = []string{"tasks:id"}
	text, err := json.Marshal(query)
	if err != nil {
		return nil, 0, err
	}
	at := p.base.JoinPath("api/tasks/")
	at.RawQuery = url.Values{
		"project": {strconv.FormatInt(p.id, 10)}, "query": {string(text)}, "page": {strconv.Itoa(n)},
		"page_size": {strconv.Itoa(pageTasks)}, "fields": {"all"},
		"include": {"id,data,annotations,result,was_cancelled,updated_at"}, // no predictions
		// else Label Studio may predict them all, and ask the daemon
		"review": {"true"},
	}.Encode()
	text, err = p.get(ctx, at, limit.LabelStudioPage)
	var refused *refusal
	if n > 1 && errors.As(err, &refused) && refused.status == http.StatusNotFound {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var got struct {
		Total int    `json:"total"`
		Tasks []Task `json:"tasks"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return nil, 0, fmt.Errorf("the list of tasks of Label Studio cannot be read: %w", err)
	}
	return got.Tasks, got.Total, nil
}

// settings asks for the labelling config of the project.
func (p *Project) settings(ctx context.Context) (Config, error) {
	text, err := p.get(ctx, p.base.JoinPath("api/projects", strconv.FormatInt(p.id, 10)+"/"), limit.LabelStudioPage)
	if err != nil {
		return Config{}, err
	}
	var got struct {
		Config string `json:"label_config"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return Config{}, fmt.Errorf("the project of Label Studio cannot be read: %w", err)
	}
	return ParseConfig(got.Config)
}

// Picture fetches the picture of a task.
func (p *Project) Picture(ctx context.Context, c Config, t Task) ([]byte, error) {
	var address string
	if err := json.Unmarshal(t.Data[c.Field], &address); err != nil || address == "" {
		return nil, hopeless{fmt.Errorf("labelstudio: the data of the task have no address of a picture as %s. Import it as the labelling config says",
			cause.Shown(c.Field))}
	}
	at, err := p.base.Parse(address)
	if err != nil || !p.own(at) {
		return nil, hopeless{fmt.Errorf("labelstudio: the picture is at %s, and everything is fetched from %s alone. Import the picture into Label Studio, or let its storage send it",
			cause.Shown(address), p.base)}
	}
	file, err := p.get(ctx, at, limit.ServeBody)
	if err != nil {
		return nil, fmt.Errorf("labelstudio: the picture: %w", err)
	}
	return file, nil
}
