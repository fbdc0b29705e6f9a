package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ocl/internal/lifecycle/lifecycletest"
	"ocl/internal/limit"
	"ocl/serve"
	"ocl/serve/api"
	"ocl/serve/client"
)

const studioToken = "0123456789abcdef"

// studio is a small Label Studio of one project, of the number 3: what of its API the daemon asks.
type studio struct {
	t      *testing.T
	server *httptest.Server
	at     string // of the daemon, which gets webhooks; "" is none

	mu     sync.Mutex
	config string
	tasks  map[int64]*studioTask
	made   int64  // annotations
	access string // that is taken beside the token; "" is none
	down   bool
	more   int // tasks that the list counts and does not have
	asked  []string
}

type studioTask struct {
	image       string
	annotations []map[string]any
}

func choices(classes ...string) string {
	text := `<View><Image name="img" value="$image"/><Choices name="kind" toName="img">`
	for _, c := range classes {
		text += `<Choice value="` + c + `"/>`
	}
	return text + `</Choices><TextArea name="note" toName="img"/></View>`
}

// newStudio has n tasks with the numbers from 1, whose pictures are dark, bright, dark and so on.
func newStudio(t *testing.T, n int64) *studio {
	s := &studio{t: t, config: choices("dark", "bright"), tasks: map[int64]*studioTask{}}
	for id := int64(1); id <= n; id++ {
		s.tasks[id] = &studioTask{image: fmt.Sprintf("/data/upload/3/%d.png", id)}
	}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

// ServeHTTP implements [http.Handler].
func (s *studio) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	says := r.Header.Get("Authorization")
	switch {
	case s.down:
		to.WriteHeader(http.StatusServiceUnavailable)
		return
	case r.URL.Path == "/api/token/refresh":
		var in struct{ Refresh string }
		if json.NewDecoder(r.Body).Decode(&in) != nil || in.Refresh != "a.b.c" {
			to.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.access = fmt.Sprint("access", len(s.asked))
		_ = json.NewEncoder(to).Encode(map[string]string{"access": s.access})
		return
	case says != "Token "+studioToken && (s.access == "" || says != "Bearer "+s.access):
		to.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(to, `{"detail":"Invalid token."}`)
		return
	}
	switch name, isPicture := strings.CutPrefix(r.URL.Path, "/data/upload/3/"); {
	case r.URL.Path == "/api/projects/3/":
		_ = json.NewEncoder(to).Encode(map[string]any{"id": 3, "label_config": s.config})
	case r.URL.Path == "/api/tasks/":
		s.list(to, r)
	case isPicture:
		id, err := strconv.ParseInt(strings.TrimSuffix(name, ".png"), 10, 64)
		if err != nil {
			to.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = to.Write(shade(s.t, id))
	default:
		to.WriteHeader(http.StatusNotFound)
	}
}

func (s *studio) list(to http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var query struct {
		SelectedItems *struct{ Included []int64 }
	}
	size, _ := strconv.Atoi(q.Get("page_size"))
	n, _ := strconv.Atoi(q.Get("page"))
	if q.Get("project") != "3" || q.Get("review") != "true" || size == 0 || n == 0 ||
		json.Unmarshal([]byte(q.Get("query")), &query) != nil {
		s.t.Errorf("the list is asked for by %s", r.URL)
	}
	tasks := []map[string]any{}
	ids := slices.Sorted(maps.Keys(s.tasks))
	if of := query.SelectedItems; of != nil {
		ids = slices.DeleteFunc(ids, func(id int64) bool { return !slices.Contains(of.Included, id) })
	}
	for _, id := range ids[min(len(ids), (n-1)*size):min(len(ids), n*size)] {
		tasks = append(tasks, map[string]any{"id": id, "data": map[string]any{"image": s.tasks[id].image, "other": 1},
			"annotations": s.tasks[id].annotations})
	}
	_ = json.NewEncoder(to).Encode(map[string]any{"total": len(ids) + s.more, "tasks": tasks})
}

// shade is a picture, dark where id is odd.
func shade(t *testing.T, id int64) []byte {
	img := image.NewNRGBA(image.Rect(0, 0, 12, 12))
	for i := range 144 {
		v := uint8(20 + id + int64(i%7) + 190*((id+1)%2))
		img.SetNRGBA(i%12, i/12, color.NRGBA{v, v, v, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// annotate adds an annotation to a task, and says its number. An empty label is a skip.
func (s *studio) annotate(task int64, label string) int {
	s.mu.Lock()
	s.made++
	id := int(s.made)
	result := []any{map[string]any{"from_name": "note", "type": "textarea", "value": map[string]any{"text": []string{"x"}}}}
	if label != "" {
		result = append(result, map[string]any{"from_name": "kind", "to_name": "img", "type": "choices",
			"value": map[string]any{"choices": []string{label}}})
	}
	a := map[string]any{"id": id, "result": result, "was_cancelled": label == "",
		"updated_at": time.Unix(1.7e9+int64(id), 0).Format(time.RFC3339Nano)}
	s.tasks[task].annotations = append(s.tasks[task].annotations, a)
	s.mu.Unlock()
	s.hook(`{"action":"ANNOTATION_CREATED","annotation":{"id":%d},"task":{"id":%d},"project":{"id":3}}`, id, task)
	return id
}

// change changes an annotation as edit says: nil deletes it. Label Studio does not say of which task a deleted one was.
func (s *studio) change(id int, edit map[string]any) {
	s.mu.Lock()
	var of int64
	for task, t := range s.tasks {
		i := slices.IndexFunc(t.annotations, func(a map[string]any) bool { return a["id"] == id })
		if i < 0 {
			continue
		}
		if of = task; edit == nil {
			t.annotations = slices.Delete(t.annotations, i, i+1)
		} else {
			maps.Copy(t.annotations[i], edit)
			s.made++
			t.annotations[i]["updated_at"] = time.Unix(1.7e9+s.made, 0).Format(time.RFC3339Nano)
		}
	}
	s.mu.Unlock()
	if edit == nil {
		s.hook(`{"action":"ANNOTATIONS_DELETED","annotations":[{"id":%d}],"project":{"id":3}}`, id)
	} else {
		s.hook(`{"action":"ANNOTATION_UPDATED","annotation":{"id":%d},"task":{"id":%d},"project":{"id":3}}`, id, of)
	}
}

// says is the result of an annotation.
func says(label string) map[string]any {
	return map[string]any{"was_cancelled": false, "result": []any{map[string]any{"from_name": "kind", "to_name": "img",
		"type": "choices", "value": map[string]any{"choices": []string{label}}}}}
}

// hook sends a webhook, if there is a daemon.
func (s *studio) hook(format string, args ...any) {
	s.t.Helper()
	if s.at == "" {
		return
	}
	if status, text := post(s.t, s.at+"/webhook", fmt.Sprintf(format, args...)); status != http.StatusAccepted {
		s.t.Errorf("a webhook: %d %s", status, text)
	}
}

func post(t *testing.T, address, body string) (status int, text string) {
	t.Helper()
	answer, err := http.Post(address, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(b)
}

// learning is a daemon that learns from a Label Studio.
type learning struct {
	t      *testing.T
	c      *client.Client
	log    *lines
	at     string
	end    func() error
	looked int // lines of the log that were waited for
}

// learn starts a daemon that learns from s.
func (s *studio) learn(o serve.Options) *learning {
	s.t.Helper()
	l := &learning{t: s.t, log: &lines{}}
	if o.Studio.Token == "" {
		o.Studio.Token = studioToken
	}
	o.Daemon.Age, o.Daemon.NewClasses = time.Millisecond, false
	o.Studio.URL = s.server.URL + "/projects/3/data?tab=1"
	o.Log = slog.New(slog.NewTextHandler(l.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	l.at, l.end = run(s.t, o)
	var err error
	if l.c, err = client.New(l.at, client.Options{}); err != nil {
		s.t.Fatal(err)
	}
	s.at = l.at
	return l
}

// until waits until a sample has a label and one of some states; "" as label is an unknown one.
func (l *learning) until(id, label string, states ...string) {
	l.t.Helper()
	for {
		s, err := l.c.Sample(l.t.Context(), id)
		var refused *client.Error
		switch {
		case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
			if label == "" {
				return
			}
		case err != nil:
			l.t.Fatal(err)
		case s.Label == label && (len(states) == 0 || slices.Contains(states, s.State)),
			label == "" && slices.Contains(states, s.State):
			return
		}
		l.looked++
		l.log.wait(l.t, "was looked at", l.looked)
	}
}

// TestAnnotationsAreLearned: an annotation that comes, is changed, is skipped or goes, is a sample that is learned,
// corrected or forgotten; what comes after that is another sample.
func TestAnnotationsAreLearned(t *testing.T) {
	s := newStudio(t, 6)
	l := s.learn(options(t))
	first := s.annotate(1, "dark")
	l.until("label-studio-3-1", "dark")
	s.annotate(2, "bright")
	l.until("label-studio-3-2", "bright")
	s.change(first, says("bright"))
	l.until("label-studio-3-1", "bright")
	second := s.annotate(1, "dark") // of another person: the last one holds
	l.until("label-studio-3-1", "dark")
	s.change(first, says("bright"))
	l.until("label-studio-3-1", "bright")
	s.change(second, says("dark"))
	l.until("label-studio-3-1", "dark")
	s.change(second, nil)
	l.until("label-studio-3-1", "bright")
	s.change(first, map[string]any{"was_cancelled": true})
	l.until("label-studio-3-1", "", "erased")
	s.change(first, says("dark"))
	l.until("label-studio-3-1-2", "dark")
	s.change(first, nil)
	l.until("label-studio-3-1-2", "", "erased")
	s.annotate(3, "")
	s.annotate(4, "dark")
	l.until("label-studio-3-4", "dark")
	l.until("label-studio-3-3", "")
	s.mu.Lock()
	delete(s.tasks, 4)
	s.mu.Unlock()
	s.hook(`{"action":"TASKS_DELETED","tasks":[{"id":4}],"project":{"id":3}}`)
	l.until("label-studio-3-4", "", "erased")
	s.hook(`{"action":"START_TRAINING","project":{"id":3}}`)
	s.annotate(5, "dark")
	l.until("label-studio-3-5", "dark")
	if status, text := post(t, l.at+"/v1/forget", `{"who":"label-studio"}`); status != http.StatusOK ||
		!strings.Contains(text, `"matched":2`) {
		t.Errorf("what label-studio has sent: %d %s", status, text)
	}
	var v struct{ Classes []struct{ Name string } }
	if err := l.c.Status(t.Context(), &v); err != nil || len(v.Classes) != 2 {
		t.Errorf("%+v (%v), want the two classes that were chosen", v, err)
	}
	if text := l.log.text.String(); strings.Contains(text, studioToken) || strings.Contains(text, "level=WARN") {
		t.Errorf("the log has\n%s", text)
	}
}

// TestAnnotatedMeanwhile: a start looks at all tasks, of several pages: what was annotated, changed and skipped while
// the daemon was away.
func TestAnnotatedMeanwhile(t *testing.T) {
	s, o := newStudio(t, 230), options(t)
	o.Daemon.Queue = 1000
	first := s.annotate(1, "dark")
	s.annotate(2, "bright")
	third := s.annotate(3, "dark")
	s.annotate(230, "bright")
	l := s.learn(o)
	for id, label := range map[string]string{"1": "dark", "2": "bright", "3": "dark", "230": "bright"} {
		l.until("label-studio-3-"+id, label)
	}
	if err := l.end(); err != nil {
		t.Fatal(err)
	}
	s.at = ""
	s.change(first, says("bright"))
	s.change(third, nil)
	s.annotate(101, "dark")
	s.mu.Lock()
	s.asked = nil
	s.mu.Unlock()
	l = s.learn(o)
	l.until("label-studio-3-1", "bright")
	l.until("label-studio-3-3", "", "erased")
	l.until("label-studio-3-101", "dark")
	l.log.wait(t, "was looked at", 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	pictures := slices.DeleteFunc(slices.Clone(s.asked), func(a string) bool { return !strings.Contains(a, "/data/") })
	if !slices.Equal(pictures, []string{"GET /data/upload/3/101.png"}) {
		t.Errorf("the second start fetches %q, want what is new alone", pictures)
	}
	if _, text := fetch(t, l.at+"/metrics"); !strings.Contains(text,
		`ocl_request_seconds_count{code="202",path="/v1/samples/{id}/label"} 1`) {
		t.Errorf("the second start corrects not just one label:\n%s", text)
	}
}

// TestLabelStudioIsAway: the daemon serves, says what is wrong, and learns when Label Studio is back. What is heard
// meanwhile is not lost.
func TestLabelStudioIsAway(t *testing.T) {
	s := newStudio(t, 3)
	s.annotate(3, "bright")
	s.down = true
	l := s.learn(options(t))
	l.log.wait(t, "is not learned from: Label Studio answers 503", 1)
	for path, words := range map[string]string{"/v1/status": "Label Studio answers 503", "/readyz": "Label Studio answers 503",
		"/metrics": "\nocl_problem 1\n"} {
		if status, text := fetch(t, l.at+path); status != http.StatusOK || !strings.Contains(text, words) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	s.annotate(1, "dark")
	s.mu.Lock()
	s.down = false
	s.mu.Unlock()
	l.until("label-studio-3-1", "dark")
	l.until("label-studio-3-3", "bright")
	s.mu.Lock()
	s.down = true
	s.mu.Unlock()
	s.annotate(2, "dark")
	l.log.wait(t, "is not learned from: Label Studio answers 503", 2)
	s.mu.Lock()
	s.down = false
	s.mu.Unlock()
	l.until("label-studio-3-2", "dark")
	l.log.wait(t, "is learned again", 2)
	if _, text := fetch(t, l.at+"/readyz"); strings.Contains(text, "Label Studio") {
		t.Errorf("readyz says %s", text)
	}
}

// TestPicturesThatCannotBeLearned: of another address, by a redirect too, too large, none, or no picture. The others
// are learned, and it is said which is not, and why.
func TestPicturesThatCannotBeLearned(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("another address was asked")
	}))
	t.Cleanup(elsewhere.Close)
	for image, words := range map[string]string{
		elsewhere.URL + "/cat.png":                      "the picture is at " + elsewhere.URL + "/cat.png, and everything is fetched from http://",
		"//" + elsewhere.Listener.Addr().String() + "/": "the picture is at //" + elsewhere.Listener.Addr().String() + "/, and",
		"/redirect":           "the picture: it is sent on to " + elsewhere.URL + ", and everything is fetched from http://",
		"s3://bucket/cat.png": "the picture is at s3://bucket/cat.png, and",
		"":                    "the data of the task have no address of a picture as image",
		"/large":              "the picture: the answer of Label Studio has more than 40,000,000 bytes",
		"/api/projects/3/":    "The picture cannot be read",
	} {
		s := newStudio(t, 2)
		s.tasks[1].image = image
		s.server.Config.Handler = http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/redirect":
				http.Redirect(to, r, elsewhere.URL+"/cat.png", http.StatusSeeOther)
			case "/large":
				_, _ = to.Write(make([]byte, limit.ServeBody+1))
			default:
				s.ServeHTTP(to, r)
			}
		})
		s.annotate(1, "dark")
		s.annotate(2, "dark")
		l := s.learn(options(t))
		l.until("label-studio-3-2", "dark")
		l.log.wait(t, "1 of the tasks could not be learned, such as task 1: "+words, 1)
		if err := l.end(); err != nil {
			t.Error(err)
		}
	}
}

// TestAPictureComesLater: one that Label Studio cannot give now is asked for again.
func TestAPictureComesLater(t *testing.T) {
	s := newStudio(t, 1)
	failed := false
	s.server.Config.Handler = http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		if !failed && strings.HasPrefix(r.URL.Path, "/data/") {
			failed = true
			to.WriteHeader(http.StatusInternalServerError)
			return
		}
		s.ServeHTTP(to, r)
	})
	s.annotate(1, "dark")
	l := s.learn(options(t))
	l.log.wait(t, "such as task 1: the picture: Label Studio answers 500", 1)
	l.until("label-studio-3-1", "dark")
	l.log.wait(t, "is learned again", 1)
}

// TestPersonalTokens: a personal token is exchanged for one that Label Studio takes for some minutes, and again when it
// does not take that any more.
func TestPersonalTokens(t *testing.T) {
	s, o := newStudio(t, 3), options(t)
	o.Studio.TokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(o.Studio.TokenFile, []byte("a.b.c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := s.learn(o)
	s.annotate(1, "dark")
	l.until("label-studio-3-1", "dark")
	s.mu.Lock()
	s.access = "another"
	s.mu.Unlock()
	s.annotate(2, "dark")
	l.until("label-studio-3-2", "dark")
	n := 0
	for _, a := range s.asked {
		if a == "POST /api/token/refresh" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("a token was exchanged %d times, want 2", n)
	}
}

// TestWrongTokens: it is said that Label Studio does not take the token.
func TestWrongTokens(t *testing.T) {
	for _, token := range []string{"wrong", "x.y.z"} {
		o := options(t)
		o.Studio.Token = token
		l := newStudio(t, 1).learn(o)
		l.log.wait(t, "Label Studio answers 401 Unauthorized to", 1)
		l.log.wait(t, "Give another access token", 1)
	}
}

// TestALargeWebhook: it is refused, and may be about any task. So all are looked at.
func TestALargeWebhook(t *testing.T) {
	s := newStudio(t, 1)
	l := s.learn(options(t))
	l.log.wait(t, "was looked at", 1)
	s.at = ""
	s.annotate(1, "dark")
	status, _ := post(t, l.at+"/webhook", strings.Repeat(" ", limit.ServeBody+1))
	if status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large webhook: %d", status)
	}
	l.until("label-studio-3-1", "dark")
}

// TestALargeProject: more tasks than the daemon knows samples would be learned twice.
func TestALargeProject(t *testing.T) {
	s := newStudio(t, 1)
	s.more = limit.LabelStudioTasks
	l := s.learn(options(t))
	l.log.wait(t, "is not learned from: the project has 50,001 tasks, and the daemon knows the last 50,000 samples", 1)
}

// predicted is the answer to /predict.
type predicted struct {
	Results [][]struct {
		Version string `json:"model_version"`
		Score   float64
		Result  []struct {
			From  string `json:"from_name"`
			To    string `json:"to_name"`
			Type  string
			Score float64
			Value struct{ Choices []string }
		}
	}
}

// predict asks for predictions of tasks of the project.
func (l *learning) predict(config string, ids ...int64) (status int, p predicted) {
	l.t.Helper()
	tasks := []map[string]any{}
	for _, id := range ids {
		tasks = append(tasks, map[string]any{"id": id, "data": map[string]string{"image": "http://elsewhere.example/"}})
	}
	body, err := json.Marshal(map[string]any{"tasks": tasks, "project": "3.1700000000", "label_config": config,
		"params": map[string]any{"context": nil}})
	if err != nil {
		l.t.Fatal(err)
	}
	status, text := post(l.t, l.at+"/predict", string(body))
	if err := json.Unmarshal([]byte(text), &p); status == http.StatusOK && err != nil {
		l.t.Fatal(err)
	}
	return status, p
}

// TestPredictionsForLabelStudio: as many as tasks, with the version that predicts, which is another one after learning.
func TestPredictionsForLabelStudio(t *testing.T) {
	s := newStudio(t, 40)
	l := s.learn(options(t))
	if status, text := fetch(t, l.at+"/health"); status != http.StatusOK || !strings.Contains(text, `"status":"UP"`) {
		t.Errorf("health: %d %s", status, text)
	}
	setup := func() string {
		status, text := post(t, l.at+"/setup", fmt.Sprintf(`{"project":"3.1700000000","schema":%q,"hostname":"x","access_token":"y","extra_params":null}`,
			s.config))
		var v struct {
			Version string `json:"model_version"`
		}
		if err := json.Unmarshal([]byte(text), &v); status != http.StatusOK || err != nil {
			t.Fatalf("setup: %d %s", status, text)
		}
		return v.Version
	}
	if status, _ := l.predict(s.config, 1, 2); status != http.StatusConflict {
		t.Errorf("before anything is learned: %d", status)
	}
	before := setup()
	for id := int64(1); id <= 8; id++ {
		s.annotate(id, []string{"bright", "dark"}[id%2])
	}
	for id := range int64(8) {
		l.until(fmt.Sprint("label-studio-3-", id+1), []string{"bright", "dark"}[(id+1)%2])
	}
	if _, err := l.c.Learn(t.Context(), shade(t, 1), "dark", client.Learn{Wait: true}); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.tasks[10].image = "/data/upload/3/none"
	s.mu.Unlock()
	var ids []int64
	for id := range int64(40) {
		ids = append(ids, id+1)
	}
	status, p := l.predict(s.config, append(ids, 77)...)
	if status != http.StatusOK || len(p.Results) != 41 {
		t.Fatalf("%d, %d results", status, len(p.Results))
	}
	now := setup()
	if before == now {
		t.Errorf("the version is %s before and after learning", now)
	}
	for i, list := range p.Results {
		if i == 9 || i == 40 {
			if len(list) != 0 {
				t.Errorf("a task without a picture gets %+v", list)
			}
			continue
		}
		if len(list) != 1 || len(list[0].Result) != 1 {
			t.Fatalf("task %d gets %+v", i+1, list)
		}
		r := list[0].Result[0]
		if list[0].Version != now || r.From != "kind" || r.To != "img" || r.Type != "choices" || len(r.Value.Choices) != 1 ||
			list[0].Score < 0.5 || list[0].Score > 1 || r.Score != list[0].Score {
			t.Errorf("task %d gets %+v, want version %s", i+1, list, now)
		}
	}
	status, p = l.predict(choices("Dark", "BRIGHT"), 1) // which are the classes of the daemon
	if name := p.Results[0][0].Result[0].Value.Choices[0]; status != http.StatusOK || name != "Dark" && name != "BRIGHT" {
		t.Errorf("in other capitals: %d %+v", status, p)
	}
	status, p = l.predict(choices("bright", "else"), 1) // dark cannot be chosen
	if status != http.StatusOK || p.Results[0][0].Result[0].Value.Choices[0] != "bright" || p.Results[0][0].Score > 0.5 {
		t.Errorf("among other choices: %d %+v", status, p)
	}
	if status, p = l.predict(s.config, 10); status != http.StatusBadGateway {
		t.Errorf("no picture at all: %d %+v", status, p)
	}
}

// TestOtherProjectsAreRefused: what is of another project, or of a config that has not one choice of one class.
func TestOtherProjectsAreRefused(t *testing.T) {
	s := newStudio(t, 1)
	l := s.learn(options(t))
	for _, c := range []struct {
		path, body, words string
		status            int
	}{
		{"/setup", `{"project":"4.17","schema":""}`, "learns from project 3 of Label Studio, and this is of project 4", 421},
		{"/predict", `{"project":"4.17","tasks":[]}`, "and this is of project 4", 421},
		{"/webhook", `{"action":"ANNOTATION_CREATED","project":{"id":4},"task":{"id":1}}`, "and this is of project 4", 421},
		{"/setup", `{"schema":""}`, "names no project", 400},
		{"/setup", `{"project":"3.1","schema":"<View/>"}`, "has 0 Choices", 422},
		{"/setup", `{`, "cannot be read", 400},
		{"/webhook", `[]`, "The webhook cannot be read", 400},
	} {
		if status, text := post(t, l.at+c.path, c.body); status != c.status || !strings.Contains(text, c.words) {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, text)
		}
	}
	l.log.wait(t, "another project of Label Studio asks", 3)
	s.mu.Lock()
	s.config = "<View/>"
	s.mu.Unlock()
	s.hook(`{"action":"PROJECT_UPDATED","project":{"id":3}}`)
	l.log.wait(t, "is not learned from: the labelling config has 0 Choices", 1)
	plain, _ := run(t, options(t))
	if status, text := post(t, plain+"/setup", "{}"); status != http.StatusNotFound || !strings.Contains(text, "--label-studio") {
		t.Errorf("a daemon without a project: %d %s", status, text)
	}
}

// TestLabelStudioShowsAToken: where the daemon has tokens, predictions need one, as the password of Basic; a webhook,
// which changes nothing itself, needs none, and what the daemon then learns it learns by itself.
func TestLabelStudioShowsAToken(t *testing.T) {
	s, o := newStudio(t, 2), options(t)
	token, secret, err := api.NewToken("studio", api.RolePredict, 0)
	if err != nil {
		t.Fatal(err)
	}
	o.Tokens = filepath.Join(t.TempDir(), "tokens")
	if err := serve.AddToken(o.Tokens, token); err != nil {
		t.Fatal(err)
	}
	l := s.learn(o)
	if l.c, err = client.New(l.at, client.Options{Token: secret}); err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"project":"3.1","schema":%q}`, s.config)
	if status, text := post(t, l.at+"/setup", body); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s", status, text)
	}
	with := strings.Replace(l.at, "://", "://any:"+secret+"@", 1)
	if status, text := post(t, with+"/setup", body); status != http.StatusOK {
		t.Errorf("with the token: %d %s", status, text)
	}
	s.annotate(1, "dark")
	l.log.wait(t, "was looked at", 2)
	var v struct {
		Samples struct{ Waiting, Learned, HeldOut int }
	}
	for v.Samples.Learned == 0 {
		if err := l.c.Status(t.Context(), &v); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAddressesOfProjects: what is no address of a project, or would send the access token in the clear.
func TestAddressesOfProjects(t *testing.T) {
	for address, words := range map[string]string{
		"localhost:8080/projects/1":              "no address of a project",
		"http://localhost:8080":                  "no address of a project",
		"http://localhost:8080/projects/x":       "no address of a project",
		"http://me:pw@localhost:8080/projects/1": "no address of a project",
		"http://studio.example/projects/1":       "Use an https address, or give --insecure",
	} {
		o := options(t)
		o.Studio = serve.Studio{URL: address, Token: studioToken}
		if err := serve.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestLifecycleWithLabelStudio: a process that learns from it ends as others do.
func TestLifecycleWithLabelStudio(t *testing.T) {
	s, o := newStudio(t, 1), options(t)
	o.Studio = serve.Studio{URL: s.server.URL + "/projects/3", Token: studioToken}
	lifecycletest.Serve(t, func(ctx context.Context, ready func()) error {
		o.Ready = func(string) { ready() }
		return serve.Run(ctx, o)
	})
}
