package serve

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/serve/api"
)

// keys are what SIGHUP reads again: tokens and the certificate.
type keys struct {
	o           Options
	tokens      *api.Tokens  // nil without tokens
	certificate *certificate // nil without TLS
}

// keys reads the tokens and the certificate, and refuses to listen beyond this machine without them.
func (o Options) keys() (*keys, error) {
	k := &keys{o: o}
	if (o.Cert == "") != (o.Key == "") {
		return nil, errors.New("--cert and --key belong together. Give both, or neither")
	}
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("--listen cannot be %.100q. Use an address and a port, such as 127.0.0.1:8100", o.Listen)
	}
	if !loopback(host) && !o.Insecure {
		if o.Tokens == "" || o.Cert == "" {
			return nil, fmt.Errorf("--listen %s lets other machines in. Give --tokens, --cert and --key, or --insecure if something else keeps strangers out",
				o.Listen)
		}
	}
	if o.Tokens != "" {
		list, err := readTokens(o.Tokens)
		if err != nil {
			return nil, err
		}
		k.tokens = api.NewTokens(list)
	}
	if o.Cert != "" {
		k.certificate = new(certificate)
		if err := k.certificate.read(o.Cert, o.Key); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// loopback says whether a host stays on this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// address is one at which a browser finds the daemon. One that listens on all addresses of the machine has the first of
// some names that is not "", or localhost.
func (k *keys) address(at net.Addr, names ...string) string {
	scheme := "http://"
	if k.certificate != nil {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(at.String())
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsUnspecified() {
		return scheme + at.String()
	}
	return scheme + net.JoinHostPort(cmp.Or(append(names, "localhost")...), port)
}

// readTokens reads a file of tokens, which only its owner may read.
func readTokens(path string) ([]api.Token, error) {
	text, err := secretFile(path)
	if err != nil {
		return nil, fmt.Errorf("--tokens: %w", err)
	}
	list, err := api.ParseTokens(text)
	if err != nil {
		return nil, fmt.Errorf("--tokens: %s: %w", path, err)
	}
	return list, nil
}

// secretFile reads a small file that others may not read.
func secretFile(path string) ([]byte, error) {
	file, _, err := input.Open(path, input.Want{Most: limit.ServeKeyFile})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, cause.Of(err))
	}
	info, err := file.Stat()
	_ = file.Close() // it was only read
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("everybody on this machine can read %s, which has secrets. Run `chmod 600 %s`", path, path)
	}
	text, err := input.ReadFile(path, input.Want{Most: limit.ServeKeyFile})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, cause.Of(err))
	}
	return text, nil
}

// again reads everything again. What cannot be read stays as it was.
func (k *keys) again() error {
	var errs []error
	if k.tokens != nil {
		list, err := readTokens(k.o.Tokens)
		if err == nil {
			k.tokens.Set(list)
		}
		errs = append(errs, err)
	}
	if k.certificate != nil {
		errs = append(errs, k.certificate.read(k.o.Cert, k.o.Key))
	}
	return errors.Join(errs...)
}

// reload reads everything again after each SIGHUP, until stop is called.
func (k *keys) reload(log *slog.Logger) (stop func()) {
	asked, stop := onReload()
	go func() {
		for range asked {
			if err := k.again(); err != nil {
				log.Error("tokens and certificates stay as they were, as they cannot be read", "error", err)
				continue
			}
			log.Info("tokens and certificates were read again")
		}
	}()
	return stop
}

// certificate is the one that new connections get.
type certificate struct {
	current atomic.Pointer[tls.Certificate]
}

// read takes the certificate of two files.
func (c *certificate) read(certFile, keyFile string) error {
	chain, err := input.ReadFile(certFile, input.Want{Most: limit.ServeKeyFile})
	if err != nil {
		return fmt.Errorf("--cert: %s: %w", certFile, cause.Of(err))
	}
	key, err := secretFile(keyFile)
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return fmt.Errorf("%s and %s are no certificate with its key (%w). Use PEM files that belong together", certFile,
			keyFile, err)
	}
	c.current.Store(&pair)
	return nil
}

// name is the first that the certificate has of a host; "" is none.
func (c *certificate) name() string {
	if c == nil {
		return ""
	}
	for _, name := range c.current.Load().Leaf.DNSNames {
		if !strings.HasPrefix(name, "*") {
			return name
		}
	}
	return ""
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}

// AddToken adds a token to a file, which is made if it is not there. It takes the place of one of the same name. A file
// that cannot be read is left as it is.
func AddToken(path string, t api.Token) error {
	text, err := secretFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var lines []byte
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 0 || words[0] != t.Name {
			lines = append(lines, strings.TrimSuffix(line, "\n")+"\n"...)
		}
	}
	lines = append(lines, t.Line()...)
	if _, err := api.ParseTokens(lines); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return atomicfile.Build(path, func(f *os.File) error {
		if err := f.Chmod(0o600); err != nil {
			return err
		}
		_, err := f.Write(lines)
		return err
	})
}
