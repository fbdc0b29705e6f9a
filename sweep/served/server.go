package served

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"ocl/internal/atomicfile"
)

// Names in the folder of a study that is served.
const (
	lockFile   = ".serve"      // locked by the process that serves
	secretFile = ".serve.json" // word, secrets and certificate
	natsFolder = ".nats"       // what the server keeps; it may be removed at any moment
	begunFile  = ".begun"      // in the folder of a run there: a line for each process that had the job, until it ends
	ownWorkDir = ".hands"      // where the holder does jobs itself, and checks what came in
	asideDir   = "aside"       // results that could not be used
)

// holderUser is the name of the holder's connection. That of a worker has the name of its process.
const holderUser = "holder"

// mostRefused bounds the workers with one join file that may be refused, before no new worker with that file is taken.
const mostRefused = 3

// mostProcesses bounds the worker processes that may join while a study is served, because the holder keeps a record of
// each.
const mostProcesses = 100_000

// identity has the facts that stay the same each time a study is served, so that a join file remains valid.
type identity struct {
	Study        names  `json:"study"`
	HolderSecret string `json:"holder_secret"`
	WorkerSecret string `json:"worker_secret"`
	Certificate  string `json:"certificate"` // PEM
	Key          string `json:"key"`
}

// identityOf reads the identity of a study, or makes it.
func identityOf(dir string) (id identity, err error) {
	path := filepath.Join(dir, secretFile)
	there, err := readPrivate(path, &id)
	if err != nil || there && isName(string(id.Study)) {
		return id, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return id, err
	}
	of := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ocl"},
		NotBefore: time.Now().Add(-24 * time.Hour),
		NotAfter:  time.Now().AddDate(20, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	cert, err := x509.CreateCertificate(rand.Reader, &of, &of, key.Public(), key)
	if err != nil {
		return id, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return id, err
	}
	id = identity{Study: names(word(10)), HolderSecret: word(32), WorkerSecret: word(32),
		Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})),
		Key:         string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))}
	return id, writePrivate(path, id)
}

// word is a random word of so many letters.
func word(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	for i := range b {
		b[i] = letters[b[i]%32]
	}
	return string(b)
}

// embedded is the server in this process. It may be started again, as after its files were removed.
type embedded struct {
	dir    string
	id     identity
	listen string // HOST:PORT; "" listens nowhere
	cert   tls.Certificate

	mu     sync.Mutex
	srv    *server.Server
	proven map[string]bool            // marks of processes of which a result was taken in
	barred map[string]bool            // marks of processes that are refused
	at     map[string]map[uint64]bool // connections of a process, by its mark
	names  map[string]string          // of processes, by the tokens of their results
}

// mark is the end of a process's name. It is the hash of a key that the process alone knows, so no process can take the
// name of another one.
func mark(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:10])
}

// token stands for a process in the subjects of its results. Nobody else knows it: the server itself writes wherever
// the question of a worker says, so a name that others see would not do.
func token(key string) string { return mark("result " + key) }

// of is the name of the process of a token, and "" of one that is not known.
func (e *embedded) of(token string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.names[token]
}

// markOf is the mark of the process of a name.
func markOf(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

// Check implements server.Authentication: a worker has the secret of the join file and the key of its name.
func (e *embedded) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	same := func(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
	if o.Username == holderUser {
		return same(o.Password, e.id.HolderSecret)
	}
	secret, key, _ := strings.Cut(o.Password, ".")
	if !same(secret, e.id.WorkerSecret) || !isName(o.Username) || markOf(o.Username) != mark(key) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	m := mark(key)
	if e.barred[m] || len(e.barred) >= mostRefused && !e.proven[m] || e.at[m] == nil && len(e.at) >= mostProcesses {
		return false
	}
	if e.at[m] == nil {
		e.at[m] = map[uint64]bool{}
	}
	e.at[m][c.GetID()] = true
	e.names[token(key)] = o.Username
	c.RegisterUser(&server.User{Username: o.Username, Permissions: permissions(e.id.Study, o.Username, token(key))})
	return true
}

// prove notes that a result of a process was taken in.
func (e *embedded) prove(m string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.proven[m] = true
}

// gone says whether a process was connected and is not any more.
func (e *embedded) gone(m string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id := range e.at[m] {
		if e.srv.GetClient(id) != nil {
			return false
		}
	}
	return len(e.at[m]) > 0
}

// others says whether a process is connected whose mark is not among some.
func (e *embedded) others(marks map[string]bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for m, at := range e.at {
		for id := range at {
			if !marks[m] && e.srv.GetClient(id) != nil {
				return true
			}
		}
	}
	return false
}

func (e *embedded) isBarred(m string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.barred[m]
}

// bar ends the connections of a process and takes no other one. It says how many processes are refused.
func (e *embedded) bar(m string) int {
	e.mu.Lock()
	e.barred[m] = true
	n, srv, at := len(e.barred), e.srv, e.at[m]
	e.mu.Unlock()
	for id := range at {
		_ = srv.DisconnectClientByID(id) // it may be gone
	}
	return n
}

func newEmbedded(dir, listen string, id identity) (*embedded, error) {
	e := &embedded{dir: dir, id: id, listen: listen, proven: map[string]bool{}, barred: map[string]bool{},
		at: map[string]map[uint64]bool{}, names: map[string]string{}}
	var err error
	if e.cert, err = tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key)); err != nil {
		return nil, fmt.Errorf("served: %s is damaged: %w. Remove it; the workers then need the new join file",
			filepath.Join(dir, secretFile), err)
	}
	return e, e.start()
}

// start starts the server, at the same address as before.
func (e *embedded) start() error {
	o := &server.Options{ServerName: "ocl", DontListen: e.listen == "", JetStream: true,
		StoreDir: filepath.Join(e.dir, natsFolder), NoLog: true, NoSigs: true,
		// the streams have limits, and what a disk has may change
		NoSystemAccount: true, CustomClientAuthentication: e, JetStreamMaxStore: 1 << 60, JetStreamMaxMemory: 1 << 40}
	if e.listen != "" {
		host, port, err := net.SplitHostPort(e.listen)
		number, failed := strconv.Atoi(port)
		if err != nil || failed != nil || number < 0 || number > 65535 {
			return fmt.Errorf("served: the address %q is not HOST:PORT. Use one such as :4222", e.listen)
		}
		if number == 0 {
			number = server.RANDOM_PORT
		}
		o.Host, o.Port = host, number
		if host == "" {
			o.Host = "0.0.0.0"
		}
		o.TLS, o.TLSTimeout = true, 10
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{e.cert}}
		probe, err := net.Listen("tcp", net.JoinHostPort(host, port)) // the server would wait for the address for ever
		if err != nil {
			return fmt.Errorf("served: %w. Give --listen another address, or end what uses this one", err)
		}
		_ = probe.Close()
	}
	srv, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("served: the server does not start: %w. Remove %s, and start again", err, o.StoreDir)
	}
	srv.Start()
	if !srv.ReadyForConnections(time.Minute) || !srv.JetStreamEnabled() {
		srv.Shutdown()
		return fmt.Errorf("served: the server does not start with the files in %s. Make room on the disk or remove that folder, and start again",
			o.StoreDir)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.srv = srv
	if tcp, is := srv.Addr().(*net.TCPAddr); is && e.listen != "" { // the same port again
		host, _, _ := net.SplitHostPort(e.listen)
		e.listen = net.JoinHostPort(host, strconv.Itoa(tcp.Port))
	}
	return nil
}

// vanished says that the files of the server were removed while it runs.
func (e *embedded) vanished() bool {
	_, err := os.Stat(filepath.Join(e.dir, natsFolder, "jetstream"))
	return errors.Is(err, os.ErrNotExist)
}

// ill is why the server takes nothing any more: after a write that failed, as on a full disk, a stream refuses all
// others until the server starts again.
func (e *embedded) ill() error {
	if h := e.current().Healthz(nil); h.StatusCode != 0 && h.StatusCode != http.StatusOK {
		return errors.New(cmp.Or(h.Error, h.Status))
	}
	return nil
}

// hasRoom says whether the disk takes a file as large as the part of a bundle.
func (e *embedded) hasRoom() bool {
	probe := filepath.Join(e.dir, natsFolder, "room")
	err := atomicfile.WriteBytes(probe, make([]byte, min(partBytes, 256<<10)))
	return errors.Join(err, os.Remove(probe)) == nil
}

// stop ends the server.
func (e *embedded) stop() {
	srv := e.current()
	srv.Shutdown()
	srv.WaitForShutdown()
}

func (e *embedded) current() *server.Server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.srv
}

// InProcessConn implements nats.InProcessConnProvider.
func (e *embedded) InProcessConn() (net.Conn, error) { return e.current().InProcessConn() }

// addresses returns the addresses by which workers may reach the server.
func (e *embedded) addresses() (all []string) {
	host, port, _ := net.SplitHostPort(e.listen)
	hosts := []string{host}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		hosts = nil
		if name, err := os.Hostname(); err == nil {
			hosts = append(hosts, name)
		}
		found, _ := net.InterfaceAddrs() // without them the name has to do
		for _, a := range found {
			if ip, is := a.(*net.IPNet); is && ip.IP.IsGlobalUnicast() && len(hosts) < 8 {
				hosts = append(hosts, ip.IP.String())
			}
		}
	}
	for _, h := range hosts {
		all = append(all, "tls://"+net.JoinHostPort(h, port))
	}
	return all
}

// pin is the SHA-256 of the certificate in hexadecimal, which a join file states.
func (e *embedded) pin() string {
	sum := sha256.Sum256(e.cert.Certificate[0])
	return hex.EncodeToString(sum[:])
}

// permissions returns the rights of a worker of a study: to keep claims and jobs, to hand over results and bundles
// under its own name, to ask the holder, and to read.
func permissions(n names, worker, token string) *server.Permissions {
	publish := []string{"$KV." + n.claims() + ".*", "$KV." + n.jobs() + ".*", n.result(token, "*"), n.bundle(worker, ">"),
		n.ask(worker, "*"), "$JS.FC.>", "$JS.API.INFO"}
	for _, stream := range []string{"KV_" + n.settings(), "KV_" + n.claims(), "KV_" + n.jobs(), "KV_" + n.ends(),
		n.bundles()} {
		for _, api := range []string{"STREAM.INFO.%s", "STREAM.MSG.GET.%s", "CONSUMER.CREATE.%s.>", "CONSUMER.DELETE.%s.>",
			"CONSUMER.INFO.%s.>"} {
			publish = append(publish, "$JS.API."+fmt.Sprintf(api, stream))
		}
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: publish},
		Subscribe: &server.SubjectPermission{Allow: []string{inboxOf(worker) + ".>"}},
	}
}

// inboxOf are the subjects of the answers to a process.
func inboxOf(name string) string { return "_INBOX_" + name }

// errOther says that the server has another certificate than the join file, as that of another study has.
var errOther = errors.New("the server serves another study, or has another certificate than the join file says. Copy the join file again from the machine that serves the study")

// secure is TLS with a server whose certificate has a digest; nothing else about it counts.
func secure(pin string, failed func(error)) nats.Option {
	// the digest is compared instead
	return nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if sum := sha256.Sum256(s.PeerCertificates[0].Raw); hex.EncodeToString(sum[:]) != pin {
				failed(errOther)
				return errOther
			}
			failed(nil)
			return nil
		}})
}
