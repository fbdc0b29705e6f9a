//go:build unix

package serve_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ocl/serve"
	"ocl/serve/api"
)

// TestHangUpReadsKeysAgain: after SIGHUP a new token and a new certificate hold, and an old token does not. Files that
// cannot be read change nothing.
func TestHangUpReadsKeysAgain(t *testing.T) {
	dir := t.TempDir()
	o := options(t)
	o.Tokens, o.Cert, o.Key = filepath.Join(dir, "tokens"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certificate(t, o.Cert, o.Key)
	tokenOf := func(name string) string {
		token, secret, err := api.NewToken(name, api.RolePredict, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := serve.AddToken(o.Tokens, token); err != nil {
			t.Fatal(err)
		}
		return secret
	}
	old := tokenOf("anna")
	var log lines
	o.Log = log.logged()
	address, _ := run(t, o)
	// seen is the certificate that a new connection gets.
	seen := func() []byte {
		c, err := tls.Dial("tcp", strings.TrimPrefix(address, "https://"),
			&tls.Config{InsecureSkipVerify: true}) //nolint:gosec // it is looked at
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Raw
	}
	// status is what a token gets.
	status := func(secret string) int {
		text, err := os.ReadFile(o.Cert)
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(text)
		pool.AddCert(mustParse(t, seen()))
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool},
			DialContext: (&net.Dialer{}).DialContext, DisableKeepAlives: true}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		answer, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	hangUp := func(told string) {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		log.wait(t, told, 1)
	}
	if got := status(old); got != http.StatusOK {
		t.Fatalf("the first token gets %d", got)
	}
	before := seen()
	certificate(t, o.Cert, o.Key)
	fresh := tokenOf("anna") // in the place of the old one
	if got := status(fresh); got != http.StatusUnauthorized {
		t.Errorf("a token that was not read yet gets %d", got)
	}
	hangUp("were read again")
	if got := status(fresh); got != http.StatusOK || string(seen()) == string(before) {
		t.Errorf("the new token gets %d, and the certificate is that of before: %v", got, string(seen()) == string(before))
	}
	if got := status(old); got != http.StatusUnauthorized {
		t.Errorf("the old token gets %d", got)
	}
	if err := os.WriteFile(o.Tokens, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	before = seen()
	certificate(t, o.Cert, o.Key)
	hangUp("tokens and certificates stay as they were")
	if string(seen()) == string(before) {
		t.Error("a broken file of tokens keeps the new certificate away")
	}
	if got := status(fresh); got != http.StatusOK {
		t.Errorf("with a broken file the token gets %d", got)
	}
}

func mustParse(t *testing.T, der []byte) *x509.Certificate {
	t.Helper()
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
