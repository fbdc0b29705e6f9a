package cli

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ocl/data/fetch"
)

// fileServer is a server of one file of 3,000 bytes, and makes it the file of the data set cifar100. While before is
// not nil, the server sends 1,000 bytes and then calls it.
func fileServer(t *testing.T) (text []byte, before *func(*http.Request)) {
	t.Helper()
	text, before = bytes.Repeat([]byte("ocl"), 1000), new(func(*http.Request))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if end := *before; end != nil {
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			w.Write(text[:1000])
			w.(http.Flusher).Flush()
			end(r)
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
	}))
	t.Cleanup(server.Close)
	sum := md5.Sum(text)
	official := filesOf
	t.Cleanup(func() { filesOf = official })
	filesOf = func(name string) ([]fetch.File, bool) {
		if name != "cifar100" {
			return nil, false
		}
		return []fetch.File{{URL: server.URL + "/a", Name: "a/cifar.tar.gz", Bytes: int64(len(text)),
			MD5: hex.EncodeToString(sum[:])}}, true
	}
	return text, before
}

// called is what a command line prints and its exit code.
func called(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, faults bytes.Buffer
	code = execute(ctx, args, &out, &faults)
	return code, out.String(), faults.String()
}

// The file lies where the output says, and the output ends with the command to run next.
func TestFetchDownloads(t *testing.T) {
	text, _ := fileServer(t)
	dir := filepath.Join(t.TempDir(), "my data")
	code, stdout, stderr := called(context.Background(), "data", "fetch", "cifar100", "--data-dir", dir)
	path := filepath.Join(dir, "a", "cifar.tar.gz")
	if want := path + "\n\nnext:\n  ocl data verify cifar100 --data-dir '" + dir + "'\n"; code != exitDone ||
		stdout != want {
		t.Errorf("exit code %d, %s\nwant %s", code, stdout, want)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes came (%v), want %d", len(got), err, len(text))
	}
	if want := "downloading 1 file of 3.0 kB to " + dir; !strings.HasPrefix(stderr, want) {
		t.Errorf("standard error has %q, want %q", stderr, want)
	}
}

// An interrupted download keeps its bytes and says so, with 130; the same command continues.
func TestFetchContinues(t *testing.T) {
	text, before := fileServer(t)
	dir := t.TempDir()
	part := filepath.Join(dir, "a", "cifar.tar.gz.part")
	*before = func(r *http.Request) { <-r.Context().Done() }
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if info, err := os.Stat(part); err == nil && info.Size() == 1000 {
				stop()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	code, stdout, stderr := called(ctx, "data", "fetch", "cifar100", "--data-dir", dir)
	if code != exitInterrupted || stdout != "" || !strings.Contains(stderr, "stopped after 1,000 of 3,000 bytes") ||
		!strings.Contains(stderr, "it continues with "+part) {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	if got, err := os.ReadFile(part); err != nil || !bytes.Equal(got, text[:1000]) {
		t.Fatalf("%d bytes are kept (%v), want 1,000", len(got), err)
	}
	*before = nil
	if code, _, stderr := called(context.Background(), "data", "fetch", "cifar100", "--data-dir", dir); code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if _, err := os.Stat(part); err == nil {
		t.Error("the part is still there")
	}
}

// A connection that broke is no silence of some seconds.
func TestFetchTriesAgainAloud(t *testing.T) {
	_, before := fileServer(t)
	*before = func(*http.Request) {
		*before = nil
		panic(http.ErrAbortHandler)
	}
	code, _, stderr := called(context.Background(), "data", "fetch", "cifar100", "--data-dir", t.TempDir())
	if want := "a/cifar.tar.gz: the connection broke: unexpected EOF; trying again in 1.0s, attempt 2 of 6, from byte 1,000\n"; code != exitDone ||
		!strings.Contains(stderr, want) {
		t.Errorf("exit code %d, standard error\n%swant in it\n%s", code, stderr, want)
	}
}

// What cannot be downloaded says what to do instead.
func TestFetchOfOtherData(t *testing.T) {
	fileServer(t)
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"glyphs"}, exitDone, "glyphs needs no files", ""},
		{[]string{"npz", "--data-dir", "d"}, exitUsage, "", "npz is made of your own files"},
		{[]string{"cifar100"}, exitUsage, "", "no folder is given. Use --data-dir"},
		{[]string{"cifr100"}, exitUsage, "", "Did you mean cifar100?"},
	} {
		code, stdout, stderr := called(context.Background(), append([]string{"data", "fetch"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || (c.stdout == "") != (stdout == "") ||
			!strings.Contains(stderr, c.stderr) {
			t.Errorf("%v: exit code %d, %q, %q", c.args, code, stdout, stderr)
		}
	}
}

// Data without an official address have steps for a person, and nothing came: exit code 1.
func TestFetchSaysHow(t *testing.T) {
	cmd := newDataFetch()
	var out bytes.Buffer
	cmd.SetOut(&out)
	info, err := lookupData("npz")
	if err != nil {
		t.Fatal(err)
	}
	info.Name = "mini-imagenet"
	err = byHand(cmd, info)
	if exitCode(err) != exitFailed || !strings.Contains(err.Error(),
		"has no official address, so nothing was downloaded") || !strings.Contains(out.String(), "kaggle") {
		t.Errorf("%v after %s", err, &out)
	}
}
