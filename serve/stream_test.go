package serve_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"ocl/checkpoint"
	"ocl/config"
	"ocl/data"
	"ocl/live"
	"ocl/run/build"
	"ocl/run/experiment"
	"ocl/run/trained"
	"ocl/serve/client"
	"ocl/serve/daemon"
)

var streamPerClass = flag.Int("streamperclass", 50,
	"images of each class of CIFAR-100 in TestStreamOverHTTP; 500 are all, and take about ten minutes")

// picture in the JSON of a request.
type raw struct {
	Raw   []byte `json:"raw"`
	Label string `json:"label,omitempty"`
}

// sent posts pictures, and waits as the daemon asks where its queue is full.
func sent(t *testing.T, address, path string, list []raw, out any) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"pictures": list})
	if err != nil {
		t.Fatal(err)
	}
	for {
		answer, err := http.Post(address+path, "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		switch {
		case err != nil:
			t.Fatal(err)
		case answer.StatusCode == http.StatusTooManyRequests:
			time.Sleep(50 * time.Millisecond)
			continue
		case answer.StatusCode >= 300:
			t.Fatalf("%s: %d %s", path, answer.StatusCode, text)
		case out != nil:
			if err := json.Unmarshal(text, out); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
}

// streamed are all images of a run's stream, task by task.
func streamed(t *testing.T, s build.Stream) [][]raw {
	t.Helper()
	var tasks [][]raw
	for task := range s.Info().Tasks {
		var list []raw
		for b, err := range s.Train(task) {
			if err != nil {
				t.Fatal(err)
			}
			n := len(b.Pixels) / len(b.Y)
			for i, y := range b.Y {
				list = append(list, raw{bytes.Clone(b.Pixels[i*n:][:n]), fmt.Sprint(y)})
			}
		}
		tasks = append(tasks, list)
	}
	return tasks
}

// TestStreamOverHTTP: the stream of a run of `ocl run` (ER, CIFAR-100, ten tasks) goes to a daemon by requests. With
// its classes declared, nothing held out and batches cut by size, the daemon ends in the run's very parameters. With
// batches cut by time and classes as they come, its accuracy is within 3 points.
func TestStreamOverHTTP(t *testing.T) {
	dir := os.Getenv("OCL_DATA")
	if dir == "" || os.Getenv("OCL_LONG") == "" {
		t.Skip("NOT RUN: set OCL_LONG, and OCL_DATA to the folder of CIFAR-100: it learns 15,000 images with a ResNet-18")
	}
	c := config.Default()
	c.Data = config.Data{Name: "cifar100", Dir: dir, TrainPerClass: *streamPerClass, TestPerClass: 20}
	c.Stream.Tasks, c.Memory, c.Methods = 10, 1000, []string{"er"}
	folder := filepath.Join(t.TempDir(), "run")
	if _, err := experiment.Run(t.Context(), c, experiment.Options{Out: folder, KeepCheckpoint: true}); err != nil {
		t.Fatal(err)
	}
	m, err := trained.Open(t.Context(), folder, trained.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	set, err := data.Open(t.Context(), build.Data(m.Config))
	if err != nil {
		t.Fatal(err)
	}
	s, err := build.NewStream(set, m.Config)
	if err != nil {
		t.Fatal(err)
	}
	tasks := streamed(t, s)

	o := options(t)
	o.Daemon = daemon.Options{Live: live.Options{Method: "er", Memory: 1000, Size: 32, Capacity: m.Info.Classes},
		Batch: 10, Age: -1}
	address, end := run(t, o)
	api, err := client.New(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for k := range m.Info.Classes {
		if err := api.Class(t.Context(), fmt.Sprint(k)); err != nil {
			t.Fatal(err)
		}
	}
	for _, list := range tasks {
		for len(list) > 0 {
			n := min(len(list), 37) // which is no batch
			sent(t, address, "/v1/samples", list[:n], nil)
			list = list[n:]
		}
		if err := api.Task(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	settled(t, api, s.Info().Classes**streamPerClass)
	want, err := binary.Append(nil, binary.LittleEndian, m.Net.Params())
	if got := parameters(t, api); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the stream ends in other parameters than the run's (%v)", err)
	}
	exact := accuracy(t, address, set)
	if err := end(); err != nil {
		t.Fatal(err)
	}

	o = options(t)
	o.Daemon = daemon.Options{Live: live.Options{Method: "er", Memory: 1000, Size: 32}, HeldOut: 0.02, NewClasses: true}
	address, _ = run(t, o)
	if api, err = client.New(address, client.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, list := range tasks {
		for len(list) > 0 {
			n := min(len(list), 1+len(list)%13)
			sent(t, address, "/v1/samples", list[:n], nil)
			list = list[n:]
		}
	}
	settled(t, api, 1)
	got := accuracy(t, address, set)
	t.Logf("%d images a class: accuracy after all tasks is %.1f %% of the daemon with the run's bits, and %.1f %% of the one with batches by time and classes as they came",
		*streamPerClass, exact, got)
	if got < exact-3 || got > exact+3 {
		t.Errorf("accuracy is %.1f %%, and of the run %.1f %%", got, exact)
	}
}

// settled waits until a daemon has learned so many images at least, and all that wait.
func settled(t *testing.T, c *client.Client, least int) {
	t.Helper()
	for {
		var s daemon.Status
		if err := c.Status(t.Context(), &s); err != nil {
			t.Fatal(err)
		}
		if s.Samples.Waiting == 0 && s.Samples.Learned >= int64(least) && s.State == "idle" {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// parameters are those of the network of a daemon.
func parameters(t *testing.T, c *client.Client) []byte {
	t.Helper()
	var text bytes.Buffer
	if _, _, err := c.Model(context.Background(), "ocl", "", &text); err != nil {
		t.Fatal(err)
	}
	state, err := checkpoint.Parse(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	p, err := state.Decoder().Bytes("learner/net/params")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// accuracy is that of a daemon on a test set, in percent.
func accuracy(t *testing.T, address string, set *data.Set) float64 {
	t.Helper()
	right, n := 0, set.Test.Len()
	for from := 0; from < n; from += 50 {
		var list []raw
		for i := from; i < min(n, from+50); i++ {
			x, err := set.Test.Images.Image(i, make([]byte, set.ImageLen()))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, raw{Raw: bytes.Clone(x)})
		}
		var out struct {
			Predictions []struct {
				Guesses []struct{ Class string }
			}
		}
		sent(t, address, "/v1/predictions?k=1", list, &out)
		for i, p := range out.Predictions {
			if p.Guesses[0].Class == strconv.Itoa(int(set.Test.Y[from+i])) {
				right++
			}
		}
	}
	return 100 * float64(right) / float64(n)
}
