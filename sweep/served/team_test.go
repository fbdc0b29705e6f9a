package served_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ocl/run/progress"
	"ocl/sweep/served"
	"ocl/sweep/study"
	"ocl/sweep/studytest"
)

// team is the URL of a server of a team, where whoever is connected may do anything.
func team(t testing.TB, user, password string) string {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true,
		StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		Username: user, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(srv.Shutdown)
	if !srv.ReadyForConnections(lag) {
		t.Fatal("the server does not start")
	}
	return srv.ClientURL()
}

// TestTeamServer: two studies are served by a team's own server, with a password from the environment. Somebody removes
// all that one of them keeps there while its workers are connected. A study that is done leaves nothing.
func TestTeamServer(t *testing.T) {
	url := team(t, "team", "word")
	all := studytest.Results(t, 2)
	entries := entriesOf(all)
	dir, other := made(t, entries), made(t, entries)
	serving := func(dir string) (*served.Holder, error) {
		return served.Serve(t.Context(), dir, study.OpenFolder(dir), entries,
			served.ServeOptions{NATS: url, Look: soon, Note: notesOf(t).add})
	}
	t.Setenv("OCL_NATS_USER", "team")
	t.Setenv("OCL_NATS_PASSWORD", "else")
	_, err := serving(dir)
	says(t, err, "does not answer: nats: Authorization Violation", "Correct --nats, and OCL_NATS_CREDS or OCL_NATS_USER")
	t.Setenv("OCL_NATS_PASSWORD", "word")
	h, err := serving(dir)
	if err != nil {
		t.Fatal(err)
	}
	o, err := serving(other)
	if err != nil {
		t.Fatal(err)
	}
	worker, told := join(t, h.Join(), t.TempDir())
	second, _ := join(t, o.Join(), t.TempDir())
	finish(t, worker, all[0])
	accepted(t, dir, entries[0])
	if st := second.Store().State(entries[0]); st.Phase != progress.Waiting {
		t.Errorf("the job of the other study is %+v", st)
	}
	c := claim(t, worker, entries[1])

	nc, err := nats.Connect(url, nats.UserInfo("team", "word"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	streams := func() (names []string) {
		for name := range js.StreamNames(t.Context()).Name() {
			names = append(names, name)
		}
		return names
	}
	if n := len(streams()); n != 12 {
		t.Errorf("%d streams, want six of each study", n)
	}
	_, word := worker.Conn()
	for _, name := range []string{"KV_ocl-" + word + "-study", "KV_ocl-" + word + "-claims", "KV_ocl-" + word + "-jobs",
		"KV_ocl-" + word + "-ends", "ocl-" + word + "-results", "ocl-" + word + "-bundles"} {
		if err := js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Beat(progress.Progress{Step: 2}); err != nil {
		t.Fatal(err)
	}
	within(t, "all is there again", func() bool { return len(streams()) == 12 })
	within(t, "the worker is back", func() bool { return told.count(away) == told.count(again) })
	if err := c.Beat(progress.Progress{Step: 3}); err != nil {
		t.Fatal(err)
	}
	studytest.Write(t, c, all[1])
	if err := c.Done(all[1]); err != nil {
		t.Fatal(err)
	}
	accepted(t, dir, entries[1])
	if n := told.count(away); n > 1 {
		t.Errorf("told %d times", n)
	}
	within(t, "the holder knows that all is done", func() bool {
		return h.Store().State(entries[0]).Phase == progress.Done && h.Store().State(entries[1]).Phase == progress.Done
	})
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(streams()); n != 6 {
		t.Errorf("%d streams are left, want those of the other study", n)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(streams()); n != 6 {
		t.Errorf("%d streams are left of a study that goes on", n)
	}
}

// TestHolderWorks: the process of the holder does jobs itself, and removes the folder of these at the end.
func TestHolderWorks(t *testing.T) {
	all := studytest.Results(t, 1)
	entries := entriesOf(all)
	dir := made(t, entries)
	h, _ := serve(t, dir, entries, "")
	jobs := []study.Job{{Entry: entries[0]}}
	w := study.Worker{Store: h.Store(), Jobs: jobs, Concurrency: 1, Workers: 1, Poll: 10 * time.Millisecond, Stay: true,
		Do: writing(all[0])}
	if _, err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	accepted(t, dir, entries[0])
	within(t, "the holder knows", func() bool { return h.Store().State(entries[0]).Phase == progress.Done })
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{served.NatsFolder, ".hands"} {
		if _, err := os.Stat(filepath.Join(dir, left)); err == nil {
			t.Errorf("%s is left", left)
		}
	}
}

// TestClaimsEndByThemselves: the server itself ends a claim that nobody renews, and keeps one that is renewed.
func TestClaimsEndByThemselves(t *testing.T) {
	if os.Getenv("OCL_LONG") == "" {
		t.Skip("NOT RUN: OCL_LONG is not set; with it the test waits two minutes")
	}
	all := studytest.Results(t, 2)
	entries := entriesOf(all)
	h, _ := serve(t, made(t, entries), entries, "127.0.0.1:0")
	closed(t, h)
	dead, _ := join(t, h.Join(), t.TempDir())
	alive, _ := join(t, h.Join(), t.TempDir())
	other, _ := join(t, h.Join(), t.TempDir())
	claim(t, dead, entries[0])
	kept := claim(t, alive, entries[1])
	served.Die(dead.Store())
	ctx, stop := context.WithCancel(t.Context())
	beats := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if err := kept.Beat(progress.Progress{Step: 1}); err != nil {
				beats <- err
				return
			}
			time.Sleep(served.MaxAge / 20)
		}
		beats <- nil
	}()
	began := time.Now()
	c := claim(t, other, entries[0])
	if d := time.Since(began); d < served.MaxAge/2 {
		t.Errorf("free after %v", d)
	}
	if n, _ := c.Attempt(); n != 2 {
		t.Errorf("attempt %d", n)
	}
	stop()
	if err := <-beats; err != nil {
		t.Error(err)
	}
	if st := other.Store().State(entries[1]); st.Phase != progress.Running {
		t.Errorf("a claim that is renewed is %+v", st)
	}
}
