package serve_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ocl/internal/lifecycle/lifecycletest"
	"ocl/live"
	"ocl/serve"
	"ocl/serve/api"
	"ocl/serve/client"
	"ocl/serve/daemon"
)

const size = 8

// options are those of a daemon that learns in microseconds.
func options(t *testing.T) serve.Options {
	t.Helper()
	return serve.Options{
		Dir: filepath.Join(t.TempDir(), "daemon"), Listen: "127.0.0.1:0", Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Daemon: daemon.Options{
			Live:  live.Options{Method: "er", Memory: 20, Size: size, Set: []string{"network.name=mlp", "network.hidden=8"}},
			Batch: 2, Age: time.Millisecond, Queue: 100, Remember: daemon.Remember{Count: 50, Bytes: 1 << 20, Age: time.Hour},
			NewClasses: true,
		},
	}
}

// run runs a daemon until end is called, which returns its error.
func run(t *testing.T, o serve.Options) (address string, end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	o.Ready = func(a string) { ready <- a }
	go func() { ended <- serve.Run(ctx, o) }()
	end = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = end() }) // tests that care call it
	select {
	case address = <-ready:
	case err := <-ended:
		cancel()
		ended <- err
		t.Fatal(err)
	}
	return address, end
}

func picture(n int) []byte {
	p := make([]byte, 3*size*size)
	for i := range p {
		p[i] = byte(i*n + n)
	}
	return p
}

// TestADaemonFromItsStartToItsEnd: a client teaches it, and asks; it drains with no error, and knows everything when it
// starts again.
func TestADaemonFromItsStartToItsEnd(t *testing.T) {
	o := options(t)
	address, end := run(t, o)
	c, err := client.New(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for i := range 6 {
		s, err := c.Learn(ctx, picture(i), fmt.Sprint("class ", i%2),
			client.Learn{ID: fmt.Sprint("s", i), Raw: true, Wait: i == 5})
		if err != nil || s.ID != fmt.Sprint("s", i) {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	p, err := c.Predict(ctx, picture(1), client.Predict{Raw: true, Remember: true, K: 2})
	if err != nil || len(p.Guesses) != 2 || !p.Remembered || p.Measure != "probability" {
		t.Fatalf("%+v, %v", p, err)
	}
	if s, err := c.Label(ctx, p.ID, "class 1"); err != nil || s.ID != p.ID {
		t.Errorf("%+v, %v", s, err)
	}
	if err := c.Class(ctx, "class 2"); err != nil {
		t.Error(err)
	}
	if err := c.Task(ctx); err != nil {
		t.Error(err)
	}
	if err := c.Forget(ctx, "s0"); err != nil {
		t.Error(err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	once, err := client.New(address, client.Options{Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := once.Predict(ctx, picture(1), client.Predict{Raw: true}); err == nil {
		t.Error("it answers after its end")
	}
	address, end = run(t, o)
	c, err = client.New(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var refused *client.Error
	if again, err := c.Learn(ctx, picture(2), "class 0", client.Learn{ID: "s2", Raw: true}); err != nil ||
		again.ID != "s2" {
		t.Errorf("the same sample after a restart: %+v, %v", again, err)
	}
	if _, err := c.Learn(ctx, picture(3), "class 0", client.Learn{ID: "s2", Raw: true}); !errors.As(err, &refused) ||
		refused.Status != http.StatusConflict {
		t.Errorf("another picture with its id after a restart: %v", err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

// TestLifecycle: a process ends with its context, leaves no goroutine, and may be started again in its folder.
func TestLifecycle(t *testing.T) {
	o := options(t)
	lifecycletest.Serve(t, func(ctx context.Context, ready func()) error {
		o.Ready = func(string) { ready() }
		return serve.Run(ctx, o)
	})
}

// TestTwoDaemonsOnOneFolder: the second one is an error.
func TestTwoDaemonsOnOneFolder(t *testing.T) {
	o := options(t)
	run(t, o)
	if err := serve.Run(t.Context(), o); err == nil {
		t.Error("a second daemon runs on the folder of the first")
	}
}

// TestAReplicaFollows: a replica predicts what the daemon predicts, also after the daemon has learned more, and learns
// nothing itself.
func TestAReplicaFollows(t *testing.T) {
	address, _ := run(t, options(t))
	learner, err := client.New(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	teach := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			if _, err := learner.Learn(t.Context(), picture(i), fmt.Sprint("class ", i%2),
				client.Learn{Raw: true, Wait: i == to-1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	teach(0, 4)
	o := options(t)
	o.Follow = serve.Follow{URL: address, Every: 10 * time.Millisecond}
	there, end := run(t, o)
	replica, err := client.New(there, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	same := func() {
		t.Helper()
		want, err := learner.Predict(t.Context(), picture(1), client.Predict{Raw: true, K: 2})
		if err != nil {
			t.Fatal(err)
		}
		for {
			got, err := replica.Predict(t.Context(), picture(1), client.Predict{Raw: true, K: 2})
			if err != nil {
				t.Fatal(err)
			}
			if got.Version < want.Version {
				continue
			}
			if got.Guesses[0] != want.Guesses[0] || got.Guesses[1] != want.Guesses[1] {
				t.Errorf("the replica says %+v, and the daemon %+v", got, want)
			}
			return
		}
	}
	same()
	teach(4, 12)
	same()
	var refused *client.Error
	if _, err := replica.Learn(t.Context(), picture(1), "class 1", client.Learn{Raw: true}); !errors.As(err, &refused) ||
		refused.Status != http.StatusMisdirectedRequest || !strings.Contains(refused.Detail, address) {
		t.Errorf("a sample for a replica: %v", err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// TestPlaySendsDrawings: classes appear by themselves.
func TestPlaySendsDrawings(t *testing.T) {
	o := options(t)
	o.Play = true
	address, end := run(t, o)
	for {
		answer, err := http.Get(address + "/v1/classes")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), "name") >= 3 {
			break
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// TestIdle: a daemon that nobody asks ends by itself.
func TestIdle(t *testing.T) {
	o := options(t)
	o.Idle = 10 * time.Millisecond
	if err := serve.Run(t.Context(), o); err != nil {
		t.Error(err)
	}
}

// TestWhoMayCome: beyond this machine a daemon wants tokens and TLS, unless it is told otherwise.
func TestWhoMayCome(t *testing.T) {
	for _, c := range []struct {
		change func(*serve.Options)
		words  string
	}{
		{func(o *serve.Options) { o.Listen = ":0" }, "lets other machines in"},
		{func(o *serve.Options) { o.Listen = "0.0.0.0:0" }, "or --insecure"},
		{func(o *serve.Options) { o.Listen = "[::]:0" }, "lets other machines in"},
		{func(o *serve.Options) { o.Listen = "8100" }, "Use an address and a port"},
		{func(o *serve.Options) { o.Cert = "x" }, "belong together"},
		{func(o *serve.Options) { o.Tokens = "missing" }, "missing: no such file"},
		{func(o *serve.Options) { o.Listen = "203.0.113.1:1"; o.Insecure = true }, "Use another --listen"},
	} {
		o := options(t)
		c.change(&o)
		if err := serve.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%+v: %v, want %q", o.Listen, err, c.words)
		}
	}
}

// TestAnAddressThatOpens: a daemon on all addresses of the machine says one at which a browser finds it.
func TestAnAddressThatOpens(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certificate(t, cert, key)
	for want, change := range map[string]func(o *serve.Options){
		"http://localhost:":     func(*serve.Options) {},
		"http://dogs.example:":  func(o *serve.Options) { o.Hosts = []string{"dogs.example"} },
		"https://cats.example:": func(o *serve.Options) { o.Cert, o.Key = cert, key },
		"http://127.0.0.1:":     func(o *serve.Options) { o.Listen = "127.0.0.1:0" },
	} {
		o := options(t)
		o.Listen, o.Insecure = "0.0.0.0:0", true
		change(&o)
		if address, _ := run(t, o); !strings.HasPrefix(address, want) {
			t.Errorf("%s, want %s…", address, want)
		}
	}
}

// TestTLSAndTokens: a daemon with both answers who has a token, and reads a file again.
func TestTLSAndTokens(t *testing.T) {
	dir := t.TempDir()
	o := options(t)
	o.Tokens, o.Cert, o.Key = filepath.Join(dir, "tokens"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certificate(t, o.Cert, o.Key)
	token, secret, err := api.NewToken("anna", api.RoleAdmin, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.AddToken(o.Tokens, token); err != nil {
		t.Fatal(err)
	}
	if err := serve.AddToken(o.Tokens, token); err != nil {
		t.Errorf("a second token of the same name does not take the place of the first: %v", err)
	}
	address, _ := run(t, o)
	text, err := os.ReadFile(o.Cert)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	c, err := client.New(address, client.Options{Token: secret, HTTP: trusting})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Learn(t.Context(), picture(1), "a", client.Learn{Raw: true}); err != nil {
		t.Error(err)
	}
	c, err = client.New(address, client.Options{HTTP: trusting, Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	var refused *client.Error
	if _, err := c.Learn(t.Context(), picture(1), "a", client.Learn{Raw: true}); !errors.As(err, &refused) ||
		refused.Status != http.StatusUnauthorized {
		t.Errorf("without a token: %v", err)
	}
	if err := os.Chmod(o.Tokens, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := serve.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("with tokens that all can read: %v", err)
	}
}

// certificate makes one for this machine.
func certificate(t *testing.T, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"*.example", "cats.example"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConfigFiles: keys with a value or a list, and what is wrong.
func TestConfigFiles(t *testing.T) {
	list, err := serve.ReadConfig([]byte("listen: 127.0.0.1:8100\nretain: true\nset: [a=1, b=2]\n"))
	if err != nil || len(list) != 3 || list[1].Values[0] != "true" || len(list[2].Values) != 2 || list[2].Line != 3 {
		t.Errorf("%+v, %v", list, err)
	}
	for text, words := range map[string]string{"- a": "no keys", "a: 1\na: 2": "twice", "a: {b: 1}": "keys of its own",
		"a: [": "no YAML", "a: [[1]]": "keys of its own"} {
		if _, err := serve.ReadConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", text, err, words)
		}
	}
	if list, err := serve.ReadConfig(bytes.TrimSpace(nil)); err != nil || len(list) != 0 {
		t.Errorf("an empty file: %v, %v", list, err)
	}
}
