package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"ocl/internal/limit"
	"ocl/live"
	"ocl/serve/labelstudio"
)

// studioAt answers for a Label Studio whose pictures are one pixel; list is called before tasks are listed.
func studioAt(t testing.TB, list func()) *labelstudio.Project {
	t.Helper()
	there := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/tasks/" {
			_, _ = to.Write([]byte{1})
			return
		}
		list()
		var query struct {
			SelectedItems struct {
				Included []int64 `json:"included"`
			} `json:"selectedItems"`
		}
		if err := json.Unmarshal([]byte(r.URL.Query().Get("query")), &query); err != nil {
			t.Error(err)
		}
		tasks := []map[string]any{}
		for _, id := range query.SelectedItems.Included {
			tasks = append(tasks, map[string]any{"id": id, "data": map[string]string{"image": "/p"}})
		}
		_ = json.NewEncoder(to).Encode(map[string]any{"total": len(tasks), "tasks": tasks})
	}))
	t.Cleanup(there.Close)
	p, err := labelstudio.New(labelstudio.Options{URL: there.URL + "/projects/1", Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const studioConfig = `<View><Image name="i" value="$image"/><Choices name="c" toName="i"/></View>`

// TestLateTasksGetNoPrediction: what is there when the time is over is answered, so that the next request has less to
// do.
func TestLateTasksGetNoPrediction(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	p := studioAt(t, func() {
		if asked++; asked == 2 {
			cancel()
		}
	})
	s := newServer(still{}, nil, Options{Decoder: still{}, LabelStudio: p})
	var tasks []string
	for id := range live.MaxPictures + 3 {
		tasks = append(tasks, fmt.Sprintf(`{"id":%d}`, id+1))
	}
	body := fmt.Sprintf(`{"project":"1.1","label_config":%q,"tasks":[%s]}`, studioConfig, strings.Join(tasks, ","))
	to := httptest.NewRecorder()
	s.answers(s.studioPredict)(to, httptest.NewRequestWithContext(ctx, http.MethodPost, "/predict", strings.NewReader(body)))
	var got struct {
		Results [][]studioPrediction `json:"results"`
	}
	if err := json.Unmarshal(to.Body.Bytes(), &got); to.Code != http.StatusOK || err != nil ||
		len(got.Results) != len(tasks) {
		t.Fatalf("%d %s", to.Code, to.Body)
	}
	for i, list := range got.Results {
		if want := i < live.MaxPictures; want != (len(list) == 1 && list[0].Version == "ocl-0" && *list[0].Score == 1) {
			t.Errorf("task %d gets %+v", i+1, list)
		}
	}
	if s.memory.free != newServer(still{}, nil, Options{}).memory.free {
		t.Error("memory is held after the answer")
	}
}

// TestPicturesOfLabelStudioAreHeld: memory for the largest picture is held before it is fetched.
func TestPicturesOfLabelStudioAreHeld(t *testing.T) {
	p := studioAt(t, func() {})
	s := newServer(still{}, nil, Options{Decoder: still{}, LabelStudio: p})
	s.memory.free = limit.ServeBody - 1
	synctest.Test(t, func(t *testing.T) {
		s.memory.moved = make(chan struct{})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/predict", nil)
		_, err := s.studioPixels(r, labelstudio.Config{Field: "image"}, labelstudio.Task{ID: 1}, &held{s: s.memory})
		if err == nil || !strings.Contains(err.Error(), "have all the memory") {
			t.Errorf("%v, want that there is no memory", err)
		}
	})
	if s.memory.free != limit.ServeBody-1 {
		t.Errorf("%d bytes are free, want %d", s.memory.free, limit.ServeBody-1)
	}
}

// FuzzLabelStudio: whatever Label Studio sends is answered.
func FuzzLabelStudio(f *testing.F) {
	f.Add("/setup", []byte(`{"project":"1.1","schema":"`+strings.ReplaceAll(studioConfig, `"`, `\"`)+`"}`))
	f.Add("/predict", []byte(`{"project":"1.1","label_config":"`+strings.ReplaceAll(studioConfig, `"`, `\"`)+`","tasks":[{"id":7}]}`))
	f.Add("/webhook", []byte(`{"action":"ANNOTATION_CREATED","project":{"id":1},"task":{"id":7}}`))
	p := studioAt(f, func() {})
	s := newServer(still{}, nil, Options{Decoder: still{}, LabelStudio: p})
	do := map[string]does{"/setup": s.studioSetup, "/predict": s.studioPredict, "/webhook": s.studioWebhook}
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		if do[path] == nil {
			return
		}
		to := httptest.NewRecorder()
		s.answers(do[path])(to, httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body)))
		if to.Code >= 500 && !strings.Contains(to.Body.String(), "Label Studio") || !json.Valid(to.Body.Bytes()) {
			t.Errorf("%s: %d %s", path, to.Code, to.Body)
		}
	})
}
