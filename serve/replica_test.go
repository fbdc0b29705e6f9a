package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ocl/serve"
	"ocl/serve/client"
)

// fetch is what a path says.
func fetch(t *testing.T, address string) (status int, text string) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// TestAReplicaWithoutItsDaemonSaysSo: in the status, the metrics and readyz, as soon as it is missed; and no more when it is back.
func TestAReplicaWithoutItsDaemonSaysSo(t *testing.T) {
	leading := options(t)
	address, end := run(t, leading)
	learner, err := client.New(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := learner.Learn(t.Context(), picture(1), "class", client.Learn{Raw: true, Wait: true}); err != nil {
		t.Fatal(err)
	}
	o := options(t)
	o.Follow = serve.Follow{URL: address, Every: time.Millisecond}
	there, _ := run(t, o)
	says := func(wrong bool) {
		t.Helper()
		for path, words := range map[string]string{"/v1/status": "has not answered since", "/readyz": "Look at that daemon", "/metrics": "\nocl_problem 1\n"} {
			for {
				status, text := fetch(t, there+path)
				if status == http.StatusOK && strings.Contains(text, words) == wrong {
					break
				}
				time.Sleep(time.Millisecond) // without an answer the test does not end
			}
		}
	}
	says(false)
	if err := end(); err != nil {
		t.Fatal(err)
	}
	says(true)
	leading.Listen = strings.TrimPrefix(address, "http://")
	run(t, leading)
	says(false)
}

// TestTheModelOfAReplicaThatChanges: who asks for the model while another one takes its place gets one of them.
func TestTheModelOfAReplicaThatChanges(t *testing.T) {
	address, _ := run(t, options(t))
	learner, err := client.New(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	teach := func(i int) {
		if _, err := learner.Learn(t.Context(), picture(i), fmt.Sprint("class ", i%2), client.Learn{Raw: true, Wait: true}); err != nil {
			t.Error(err)
		}
	}
	teach(0)
	teach(1)
	o := options(t)
	o.Follow = serve.Follow{URL: address, Every: time.Millisecond}
	there, _ := run(t, o)
	var wait sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wait.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, format := range []string{"ocl", "safetensors"} {
					answer, err := http.Get(there + "/v1/model?format=" + format)
					if err != nil {
						t.Error(err)
						return
					}
					text, _ := io.ReadAll(answer.Body)
					_ = answer.Body.Close()
					if answer.StatusCode != http.StatusOK {
						t.Errorf("%s: %s %s", format, answer.Status, text)
					}
				}
			}
		})
	}
	for i := range 20 {
		teach(2 + i)
	}
	close(stop)
	wait.Wait()
}
