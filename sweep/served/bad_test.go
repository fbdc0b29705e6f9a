package served_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/served"
	"ocl/sweep/study"
	"ocl/sweep/studytest"
)

// edited is a join file with a change.
func edited(t testing.TB, path string, change func(map[string]any)) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	change(v)
	text, _ = json.Marshal(v)
	to := filepath.Join(t.TempDir(), "join")
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestWrongJoinFiles: whoever cannot join is told why, and what to do.
func TestWrongJoinFiles(t *testing.T) {
	_, entries, _, h, _ := opened(t, 1)
	ctx := t.Context()
	joining := func(path string) error {
		_, err := served.Join(ctx, path, served.JoinOptions{Dir: t.TempDir()})
		return err
	}
	if info, err := os.Stat(h.Join()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the join file is %v, error %v", info.Mode(), err)
	}
	open := edited(t, h.Join(), func(map[string]any) {})
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	says(t, joining(open), "others can read "+open, "Run `chmod 600 "+open)
	says(t, joining(edited(t, h.Join(), func(v map[string]any) { v["secret"] = "guess" })), "refuses the secret",
		"Copy the join file again")
	says(t, joining(edited(t, h.Join(), func(v map[string]any) { v["sha256"] = strings.Repeat("00", 32) })),
		"another certificate", "Copy the join file again")
	says(t, joining(edited(t, h.Join(), func(v map[string]any) { v["servers"] = []string{"tls://127.0.0.1:1"} })),
		"no server of the study answers at tls://127.0.0.1:1", "Start `ocl sweep` with --listen there")
	says(t, joining(edited(t, h.Join(), func(v map[string]any) { v["study"] = "other" })),
		"the server has another study than that of", "Copy the join file again")
	other, _ := serve(t, made(t, entries), entries, "127.0.0.1:0")
	closed(t, other)
	says(t, joining(edited(t, h.Join(), func(v map[string]any) {
		v["servers"] = []string{"tls://" + addressOf(t,
			other.Join())}
	})), "the server serves another study", "Copy the join file again")
	says(t, joining(edited(t, h.Join(), func(v map[string]any) { v["version"] = 2 })), "another ocl wrote it (version 2",
		"Use the same ocl")
	says(t, joining(edited(t, h.Join(), func(v map[string]any) { v["more"] = 2 })), "the join file is damaged",
		"Copy it again")
	says(t, joining(edited(t, h.Join(), func(v map[string]any) { v["servers"] = []string{"tls://user:word@host"} })),
		"the join file is damaged", "Copy it again")
	says(t, joining(edited(t, h.Join(), func(v map[string]any) { v["format"] = "else" })), "it is no join file",
		"Copy it again")
	doubled := edited(t, h.Join(), func(map[string]any) {})
	text, err := os.ReadFile(doubled)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(doubled, append([]byte(`{"name": "other", `), text[1:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	says(t, joining(doubled), `it has the key "name" twice`, "Copy it again")
	says(t, joining(filepath.Join(t.TempDir(), "none")), "no such file", "Give the join file")
	if err := h.SetVersion("2"); err != nil {
		t.Fatal(err)
	}
	says(t, joining(h.Join()), "served by another ocl", "Use the same ocl on both machines")
}

// TestTwoHolders: a second process does not serve the same folder.
func TestTwoHolders(t *testing.T) {
	entries := entriesOf(studytest.Results(t, 1))
	dir := made(t, entries)
	if served.Serving(dir) {
		t.Error("a folder is served that nobody serves")
	}
	h, _ := serve(t, dir, entries, "")
	_, err := served.Serve(t.Context(), dir, study.OpenFolder(dir), entries, served.ServeOptions{})
	says(t, err, "another process serves the study in "+dir, "Join it with `ocl sweep join")
	if !served.Serving(dir) {
		t.Error("nobody seems to serve the folder")
	}
	if _, err := os.Stat(h.Join()); err == nil {
		t.Error("there is a join file, but nothing listens")
	}
	if err := h.Close(); err != nil || served.Serving(dir) {
		t.Errorf("still served, error %v", err)
	}
	_, err = served.Serve(t.Context(), dir, study.OpenFolder(dir), entries, served.ServeOptions{Listen: "127.0.0.1"})
	says(t, err, `"127.0.0.1" is not HOST:PORT`, "Use one such as :4222")
	again, _ := serve(t, dir, entries, "127.0.0.1:0")
	closed(t, again)
	other := made(t, entries)
	joined, err := os.ReadFile(again.Join())
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ Servers []string }
	if err := json.Unmarshal(joined, &v); err != nil {
		t.Fatal(err)
	}
	_, err = served.Serve(t.Context(), other, study.OpenFolder(other), entries,
		served.ServeOptions{Listen: strings.TrimPrefix(v.Servers[0], "tls://")})
	says(t, err, "address already in use", "Give --listen another address")
	if err := os.WriteFile(filepath.Join(other, served.SecretFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = served.Serve(t.Context(), other, study.OpenFolder(other), entries, served.ServeOptions{})
	says(t, err, served.SecretFile+" is damaged", "Remove it; the workers then need the new join file")
}

// archive is a compressed archive of files by their names.
func archive(files ...string) []byte {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	for i := 0; i < len(files); i += 2 {
		_ = w.WriteHeader(&tar.Header{Name: files[i], Size: int64(len(files[i+1])), Mode: 0o644})
		_, _ = w.Write([]byte(files[i+1]))
	}
	_, _ = w.Close(), zip.Close()
	return b.Bytes()
}

// bomb is an archive of less than a message whose file is larger than any result.
func bomb(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	w := tar.NewWriter(zip)
	_ = w.WriteHeader(&tar.Header{Name: experiment.ResultFile, Size: 64 << 30, Mode: 0o644})
	zeros := make([]byte, 1<<20)
	for range 700 {
		_, _ = w.Write(zeros)
	}
	_ = zip.Close()
	if b.Len() > 1<<20 {
		t.Fatalf("%d bytes do not fit into a message", b.Len())
	}
	return b.Bytes()
}

// TestForgedResults: a result that cannot be used is kept aside and its job offered again.
func TestForgedResults(t *testing.T) {
	all := studytest.Results(t, 2)
	entries := entriesOf(all)
	e := entries[0]
	better := *all[0]
	high := 0.99
	better.Metrics.AverageAccuracy = &high
	interrupted := *all[0]
	interrupted.Outcome = result.Outcome{State: result.Interrupted, Step: 1}
	whole, other, forged, half := encoded(t, all[0]), encoded(t, all[1]), encoded(t, &better), encoded(t, &interrupted)
	name := experiment.ResultFile
	bad := map[string][]byte{
		"a forged result":     archive(name, forged),
		"that of another run": archive(name, other),
		"an interrupted one":  archive(name, half),
		"no archive":          []byte("x"),
		"a cut archive":       archive(name, whole)[:200],
		"nothing":             archive(),
		"no result":           archive("config.yaml", "x"),
		"a file elsewhere":    archive("../../escaped", "x", name, whole),
		"an absolute path":    archive("/tmp/escaped", "x", name, whole),
		"a hidden file":       archive(".lock", "x", name, whole),
		"a file as a folder":  archive("a", "x", "a/b", "x", name, whole),
		"a bomb":              bomb(t),
		"a deep path":         archive(strings.Repeat("a/", 20)+"b", "x", name, whole),
	}
	dir := made(t, entries)
	h, told := serve(t, dir, entries, "127.0.0.1:0")
	closed(t, h)
	asides := func() int {
		files, _ := filepath.Glob(filepath.Join(dir, served.AsideDir, "[0-9a-z]*"))
		return len(files)
	}
	var worker *served.RemoteWorker
	sent := 0
	for what, data := range bad {
		if sent%2 == 0 {
			worker, _ = join(t, h.Join(), t.TempDir())
		}
		if err := errors.Join(worker.Send(e.Key, data, ""), h.SetHanded(e.Key)); err != nil {
			t.Fatal(what, err)
		}
		sent++
		within(t, what+" is put aside", func() bool { return asides() == sent && h.Waiting() == 0 })
		if st := study.OpenFolder(dir).State(e); st.Phase == progress.Done {
			t.Fatalf("%s: the job is done", what)
		}
	}
	if n := told.count("the job is offered again"); n != len(bad) {
		t.Errorf("%d results were told of, want %d", n, len(bad))
	}
	for _, escaped := range []string{filepath.Join(dir, "escaped"), filepath.Join(dir, "..", "escaped"), "/tmp/escaped"} {
		if _, err := os.Stat(escaped); err == nil {
			t.Errorf("%s was written", escaped)
		}
	}
	if err := worker.Send(strings.Repeat("0", 64), archive(name, whole), ""); err != nil { // of no job
		t.Fatal(err)
	}
	good, _ := join(t, h.Join(), t.TempDir())
	// parts that are not there
	if err := good.Send(e.Key, []byte(`{"word":"a","parts":1000000,"size":1,"sha256":"`+strings.Repeat("0", 64)+`"}`),
		"1"); err != nil {
		t.Fatal(err)
	}
	within(t, "both are put aside", func() bool { return h.Waiting() == 0 })
	finish(t, good, all[0])
	accepted(t, dir, e)
	finish(t, good, all[1])
	accepted(t, dir, entries[1])
}

// TestRefused: what cannot be used counts against the key of the process that has sent it, whatever it calls itself.
// After three it is refused, and after three such processes no new one is taken; one whose result was good goes on.
func TestRefused(t *testing.T) {
	all, entries, dir, h, told := opened(t, 2)
	honest, _ := join(t, h.Join(), t.TempDir())
	finish(t, honest, all[1])
	accepted(t, dir, entries[1])
	for n := range 3 {
		key := fmt.Sprint("key", n)
		for i, name := range []string{"a", "b-1", "c"} { // a name ends in what follows from the key
			f, err := served.Forge(h.Join(), key, name, "")
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Put(f.Result(f.Token, entries[0].Key), []byte("x")); err != nil {
				t.Fatal(err)
			}
			within(t, "it is put aside", func() bool { return told.count("the job is offered again") == 3*n+i+1 })
			if i < 2 {
				f.NC.Close()
			} else {
				within(t, "the connection ends", f.NC.IsClosed)
			}
		}
		if _, err := served.Forge(h.Join(), key, "d", ""); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("a worker that is refused connects again: %v", err)
		}
	}
	within(t, "the holder says so", func() bool {
		return told.count("3 workers with the join file were refused, so no new one is taken") == 1
	})
	_, err := served.Join(t.Context(), h.Join(), served.JoinOptions{Dir: t.TempDir()})
	says(t, err, "the server refuses the secret of the join file", "Copy the join file again")
	finish(t, honest, all[0])
	accepted(t, dir, entries[0])
}

// TestLargeResult: a result that is larger than a message comes in parts, which do not stay.
func TestLargeResult(t *testing.T) {
	all, entries, dir, h, _ := opened(t, 1)
	worker, _ := join(t, h.Join(), t.TempDir())
	before := h.Bundles()
	c := claim(t, worker, entries[0])
	noise := make([]byte, 3<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	if err := os.WriteFile(filepath.Join(c.Place().Folder, experiment.EventsFile), noise, 0o644); err != nil {
		t.Fatal(err)
	}
	studytest.Write(t, c, all[0])
	if err := c.Done(all[0]); err != nil {
		t.Fatal(err)
	}
	accepted(t, dir, entries[0])
	got, err := os.ReadFile(filepath.Join(dir, entries[0].Folder, experiment.EventsFile))
	if err != nil || !bytes.Equal(got, noise) {
		t.Errorf("the events are others, error %v", err)
	}
	within(t, "no part is left", func() bool { return h.Bundles() == before })
	if _, err := os.Stat(c.Place().Folder); err == nil {
		t.Error("the worker keeps what it has handed over")
	}
}

// TestNoRoom: a result that the holder cannot write waits, and it says so once.
func TestNoRoom(t *testing.T) {
	all, entries, dir, h, told := opened(t, 2)
	worker, _ := join(t, h.Join(), t.TempDir())
	// a file where the folder of the run should be stands for a disk that takes nothing
	blocked := filepath.Join(dir, entries[0].Folder)
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	finish(t, worker, all[0])
	within(t, "the holder says so", func() bool { return told.count("cannot be written") == 1 })
	if n := told.count("Make room in " + dir); n != 1 {
		t.Errorf("what to do is said %d times", n)
	}
	finish(t, worker, all[1]) // others go on to hand over
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	accepted(t, dir, entries[0])
	accepted(t, dir, entries[1])
	if n := told.count("cannot be written"); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// TestPermissions: a worker can do no more than its work.
func TestPermissions(t *testing.T) {
	_, entries, _, h, _ := opened(t, 1)
	worker, _ := join(t, h.Join(), t.TempDir())
	nc, word := worker.Conn()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // a refusal has no answer
	defer cancel()
	all := map[string]error{
		"deleting a stream":       js.DeleteStream(ctx, "ocl-"+word+"-results"),
		"deleting a bucket":       js.DeleteKeyValue(ctx, "ocl-"+word+"-jobs"),
		"other studies' messages": publish(ctx, js, "ocl.other.result.key"),
		"the study's files":       publish(ctx, js, "ocl."+word+".bundle.holder.study.files"),
		"data that are lent":      publish(ctx, js, "ocl."+word+".bundle.holder.data.0a"),
		"how a job has ended":     publish(ctx, js, "$KV.ocl-"+word+"-ends."+entries[0].Key),
		"settings":                publish(ctx, js, "$KV.ocl-"+word+"-study.cancelled"),
	}
	_, all["making a stream"] = js.CreateStream(ctx, jetstream.StreamConfig{Name: "mine", Subjects: []string{"mine"}})
	_, all["listing streams"] = js.AccountInfo(ctx)
	delete(all, "listing streams") // its sizes are no secret
	for what, err := range all {
		if err == nil {
			t.Errorf("%s is allowed", what)
		}
	}
	other, _ := join(t, h.Join(), t.TempDir())
	refused := make(chan string, 10)
	nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err.Error() })
	// what others send, and the answers to them
	for _, subject := range []string{"ocl.>", "_INBOX_" + other.Worker() + ".>", "_INBOX_holder.>", "_INBOX_worker.>",
		">"} {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-refused:
			if !strings.Contains(got, `Subscription to "`+subject+`"`) {
				t.Errorf("%s: %s", subject, got)
			}
		case <-time.After(lag):
			t.Errorf("a worker may read %s", subject)
		}
	}
}

// TestDoneIsOfTheFolder: a message that a job is done, or has failed, is none: the holder goes on until its folder has
// the result.
func TestDoneIsOfTheFolder(t *testing.T) {
	all, entries, dir, h, _ := opened(t, 2)
	worker, _ := join(t, h.Join(), t.TempDir())
	f := forger(t, h, "key")
	finish(t, worker, all[1])
	ended := make(chan study.Sum, 1)
	go func() {
		w := study.Worker{Store: h.Store(), Jobs: []study.Job{{Entry: entries[0]}, {Entry: entries[1]}},
			Poll: 5 * time.Millisecond, Attend: true}
		sum, _ := w.Run(t.Context())
		ended <- sum
	}()
	for _, phase := range []string{progress.Done, progress.Failed} {
		if err := f.Put(f.KV("jobs", entries[0].Key),
			[]byte(`{"phase":"`+phase+`","outcome":"finished","kept":true}`)); err != nil {
			t.Fatal(err)
		}
		for until := time.Now().Add(5 * soon); time.Now().Before(until); time.Sleep(time.Millisecond) {
			if st := h.Store().State(entries[0]); st.Phase == progress.Done || st.Phase == progress.Failed {
				t.Fatalf("%s: the job without a result is %+v", phase, st)
			}
		}
	}
	finish(t, worker, all[0])
	if sum := <-ended; sum.Left != 0 || sum.AllFailed != 0 ||
		study.OpenFolder(dir).State(entries[0]).Phase != progress.Done {
		t.Errorf("the holder ends with %+v", sum)
	}
}

// TestForeignBundles: bundles of no job of the study, and larger ones than its jobs need, do not stay on the server.
func TestForeignBundles(t *testing.T) {
	entries := entriesOf(studytest.Results(t, 1))
	dir := made(t, entries)
	h, err := served.Serve(context.Background(), dir, study.OpenFolder(dir), entries,
		served.ServeOptions{Listen: "127.0.0.1:0", Look: soon, Most: 1 << 20, Note: notesOf(t).add})
	if err != nil {
		t.Fatal(err)
	}
	closed(t, h)
	before := h.Bundles()
	f := forger(t, h, "key")
	for n := range 20 {
		for _, of := range []string{"else.saved", entries[0].Key + ".saved", entries[0].Key + ".other", "x"} {
			if err := f.Put(f.Bundle(f.Name, fmt.Sprintf("%s.w.%d", of, n)), make([]byte, served.PartBytes/4)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Put(f.Bundle(f.Name, entries[0].Key+".saved.w.0"), make([]byte, served.PartBytes+5000)); err == nil {
		t.Error("a part is taken that is larger than parts are")
	}
	within(t, "all is removed", func() bool { return h.Bundles() == before })
}

// TestNoDetour: what a worker may ask for cannot be answered into the ends of jobs, the settings or the name of another
// worker, or is put right.
func TestNoDetour(t *testing.T) {
	all := studytest.Results(t, 1)
	entries := entriesOf(all)
	key := entries[0].Key
	h, _ := serve(t, made(t, entries), entries, "127.0.0.1:0")
	closed(t, h)
	other, _ := join(t, h.Join(), t.TempDir())
	f := forger(t, h, "key")
	if err := f.Put(f.KV("jobs", key), []byte(`{"phase":"done","outcome":"finished"}`)); err != nil {
		t.Fatal(err)
	}
	bucket := strings.Split(f.KV("jobs", key), ".")[1]
	for _, to := range []string{f.KV("ends", key), f.KV("study", "cancelled"), f.KV("study", "refused."+other.Worker()),
		f.Result(other.Worker(), key)} {
		_ = f.NC.PublishRequest("$JS.API.DIRECT.GET.KV_"+bucket+".$KV."+bucket+"."+key, to, nil)
		_ = f.NC.PublishRequest("ocl."+strings.Split(f.Result("", ""), ".")[1]+".ask."+f.Name+"."+key, to, nil)
		_, _ = f.NC.Request("$JS.API.CONSUMER.CREATE.KV_"+bucket+".c",
			[]byte(`{"stream_name":"KV_`+bucket+`","config":{"name":"c","deliver_subject":"`+to+`","ack_policy":"none","deliver_policy":"all","mem_storage":true}}`),
			time.Second)
	}
	_ = f.NC.Flush()
	within(t, "all is put right", func() bool {
		return other.Store().State(entries[0]).Phase == progress.Waiting && len(h.Refused()) == 0
	})
	if other.Store().Cancelled() || h.Store().Cancelled() {
		t.Error("a worker has cancelled the study")
	}
	within(t, "the results are put aside", func() bool { return h.Waiting() == 0 })
	finish(t, other, all[0]) // it is not refused
}

// encoded is a result as its file has it.
func encoded(t testing.TB, r *result.Result) string {
	t.Helper()
	text, err := result.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func publish(ctx context.Context, js jetstream.JetStream, subject string) error {
	_, err := js.Publish(ctx, subject, []byte("yes"))
	return err
}
