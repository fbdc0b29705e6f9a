package serve_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ocl/live"
	"ocl/serve"
	"ocl/serve/api"
	"ocl/serve/client"
)

// realStudio is a Label Studio of PyPI at work.
type realStudio struct {
	t  *testing.T
	at string
}

// startStudio starts the program, with a folder of its own.
func startStudio(t *testing.T, program string) *realStudio {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "start", "--no-browser", "--internal-host", "127.0.0.1", "-p", port,
		"--username", "me@example.com", "--password", "a password of the test", "--user-token", studioToken+studioToken)
	c.Env = append(os.Environ(), "LABEL_STUDIO_BASE_DATA_DIR="+dir, "LATEST_VERSION_CHECK=false", "COLLECT_ANALYTICS=false",
		"LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN=true", "ML_BLOCK_LOCAL_IP=false", "SSRF_PROTECTION_ENABLED=false")
	c.Dir, c.Stdout, c.Stderr, c.SysProcAttr = dir, log, log, &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		<-ended
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("Label Studio: %s", text[max(0, len(text)-5000):])
		}
		_ = log.Close()
	})
	s := &realStudio{t, "http://127.0.0.1:" + port}
	for {
		if answer, err := http.Get(s.at + "/health"); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return s
			}
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatal("Label Studio has ended:", err)
		case <-time.After(200 * time.Millisecond): // it takes a quarter of a minute, and says nothing to wait for
		}
	}
}

// call asks the API, and reads the answer into out, unless it is nil.
func (s *realStudio) call(method, path, kind string, body []byte, out any) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.at+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Token "+studioToken+studioToken)
	r.Header.Set("Content-Type", kind)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		s.t.Fatalf("%s %s: %s %.1000s (%v)", method, path, answer.Status, text, err)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(text, out); err != nil {
		s.t.Fatalf("%s %s: %v in %.1000s", method, path, err, text)
	}
}

func (s *realStudio) json(method, path string, in, out any) {
	s.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	s.call(method, path, "application/json", body, out)
}

// realTask is a task with what was predicted.
type realTask struct {
	ID          int64
	Data        struct{ Image string }
	Predictions []struct {
		Version string `json:"model_version"`
		Score   float64
		Result  []struct{ Value struct{ Choices []string } }
	}
}

// truth is what the picture of a task shows; its file is called so.
func (t realTask) truth() string {
	name := t.Data.Image[strings.LastIndex(t.Data.Image, "/")+1:]
	_, name, _ = strings.Cut(name, "-") // behind what Label Studio puts before it
	name, _, _ = strings.Cut(name, "_")
	return name
}

func (s *realStudio) tasks(project int64) []realTask {
	s.t.Helper()
	var v struct{ Tasks []realTask }
	s.call("GET", fmt.Sprintf("/api/tasks?project=%d&page_size=100&fields=all", project), "", nil, &v)
	return v.Tasks
}

// annotate adds an annotation, and says its number.
func (s *realStudio) annotate(task int64, label string) int64 {
	s.t.Helper()
	var v struct{ ID int64 }
	s.json("POST", fmt.Sprintf("/api/tasks/%d/annotations", task), map[string]any{"result": resultOf(label)}, &v)
	return v.ID
}

func resultOf(label string) []any { return says(label)["result"].([]any) }

// TestRealLabelStudio: the program of PyPI, which connects a daemon that has tokens, sends what people annotate, and
// shows what the daemon predicts.
func TestRealLabelStudio(t *testing.T) {
	program := os.Getenv("OCL_LABEL_STUDIO")
	if program == "" || os.Getenv("OCL_LONG") == "" {
		t.Skip("NOT RUN: OCL_LABEL_STUDIO or OCL_LONG is unset; the first is the program label-studio, as `pip install label-studio` has it")
	}
	s := startStudio(t, program)
	var project struct{ ID int64 }
	s.json("POST", "/api/projects", map[string]any{"title": "shades", "label_config": choices("dark", "bright")}, &project)
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for id := range int64(30) {
		name := fmt.Sprintf("%s_%d.png", []string{"bright", "dark"}[id%2], id)
		part, err := w.CreateFormFile(name, name)
		if err == nil {
			_, err = part.Write(shade(t, id))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.call("POST", fmt.Sprintf("/api/projects/%d/import", project.ID), w.FormDataContentType(), form.Bytes(), nil)
	var personal struct{ Token string }
	s.json("POST", "/api/token/", map[string]any{}, &personal)

	o := options(t)
	o.Daemon.Live = live.Options{Method: "slda", Size: size} // it needs few pictures
	o.Daemon.NewClasses = false
	o.Studio = serve.Studio{URL: fmt.Sprintf("%s/projects/%d", s.at, project.ID), Token: personal.Token}
	token, secret, err := api.NewToken("studio", api.RoleLabel, 0)
	if err != nil {
		t.Fatal(err)
	}
	o.Tokens = filepath.Join(t.TempDir(), "tokens")
	if err := serve.AddToken(o.Tokens, token); err != nil {
		t.Fatal(err)
	}
	address, end := run(t, o)
	o.Listen = strings.TrimPrefix(address, "http://") // of the second start too
	s.json("POST", "/api/ml", map[string]any{"project": project.ID, "title": "ocl",
		"url": strings.Replace(address, "://", "://any:"+secret+"@", 1)}, nil)

	c, err := client.New(address, client.Options{Token: secret})
	if err != nil {
		t.Fatal(err)
	}
	// until waits until the sample of a task has a label, or one of some states.
	until := func(task int64, more, label string, states ...string) {
		t.Helper()
		for n := 0; ; n++ {
			got, err := c.Sample(t.Context(), fmt.Sprintf("label-studio-%d-%d%s", project.ID, task, more))
			if err == nil && got.Label == label && len(states) == 0 || len(states) > 0 && got.State == states[0] {
				return
			}
			if n > 1000 {
				t.Fatalf("task %d is %+v (%v), want the label %q %v", task, got, err, label, states)
			}
			time.Sleep(100 * time.Millisecond) // the hook of Label Studio comes when it comes
		}
	}
	tasks := s.tasks(project.ID)
	if len(tasks) != 30 || tasks[0].truth() != "bright" || tasks[1].truth() != "dark" {
		t.Fatalf("there are %d tasks: %+v", len(tasks), tasks)
	}
	annotations := map[int64]int64{}
	for _, task := range tasks[:20] {
		annotations[task.ID] = s.annotate(task.ID, task.truth())
	}
	for _, task := range tasks[:20] {
		until(task.ID, "", task.truth())
	}
	// predicted lets Label Studio ask for predictions of all tasks, and says which version has made them.
	predicted := func(least int) (version string) {
		t.Helper()
		// all before it are learned
		if _, err := c.Learn(t.Context(), shade(t, 0), "bright", client.Learn{Wait: true}); err != nil {
			t.Fatal(err)
		}
		s.json("POST", fmt.Sprintf("/api/dm/actions?id=retrieve_tasks_predictions&project=%d", project.ID),
			map[string]any{"selectedItems": map[string]any{"all": true, "excluded": []int{}}}, nil)
		right := 0
		for _, task := range s.tasks(project.ID) {
			if len(task.Predictions) == 0 {
				t.Fatalf("task %d has no prediction", task.ID)
			}
			last := task.Predictions[len(task.Predictions)-1]
			if version == "" {
				version = last.Version
			}
			if last.Version != version || !strings.HasPrefix(version, "ocl-") || last.Score < 0.5 || last.Score > 1 {
				t.Errorf("task %d has %+v, want version %s", task.ID, last, version)
			}
			if last.Result[0].Value.Choices[0] == task.truth() {
				right++
			}
		}
		if right < least {
			t.Errorf("version %s is right on %d tasks, want at least %d", version, right, least)
		}
		return version
	}
	first := predicted(27)
	s.annotate(tasks[20].ID, tasks[20].truth())
	until(tasks[20].ID, "", tasks[20].truth())
	if second := predicted(27); second == first {
		t.Errorf("version %s predicts before and after learning", first)
	}

	id := tasks[0].ID
	path := fmt.Sprintf("/api/annotations/%d", annotations[id])
	s.json("PATCH", path, map[string]any{"result": resultOf("dark")}, nil)
	until(id, "", "dark")
	s.call("DELETE", path, "", nil, nil)
	until(id, "", "", "erased")
	s.annotate(id, "bright")
	until(id, "-2", "bright")
	id = tasks[1].ID
	s.json("PATCH", fmt.Sprintf("/api/annotations/%d", annotations[id]), map[string]any{"was_cancelled": true}, nil)
	until(id, "", "", "erased")
	s.call("DELETE", fmt.Sprintf("/api/tasks/%d", tasks[2].ID), "", nil, nil)
	until(tasks[2].ID, "", "", "erased")

	if err := end(); err != nil {
		t.Fatal(err)
	}
	s.annotate(tasks[25].ID, tasks[25].truth())
	s.json("PATCH", fmt.Sprintf("/api/annotations/%d", annotations[tasks[3].ID]), map[string]any{"result": resultOf("bright")}, nil)
	s.call("DELETE", fmt.Sprintf("/api/annotations/%d", annotations[tasks[4].ID]), "", nil, nil)
	run(t, o)
	until(tasks[25].ID, "", tasks[25].truth())
	until(tasks[3].ID, "", "bright")
	until(tasks[4].ID, "", "", "erased")
}
