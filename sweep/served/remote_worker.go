package served

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ocl/internal/atomicfile"
	"ocl/internal/limit"
	"ocl/sweep/study"
)

// RemoteWorker is the connection of a process to a study that another machine serves, and whose jobs it does. Any
// number of goroutines may use it. The caller closes it.
type RemoteWorker struct {
	store  *store
	folder string
}

// JoinOptions say how a process joins a study.
type JoinOptions struct {
	// Dir is the folder of this machine for the studies that it joins. Each has a folder there, which its processes share.
	Dir string
	// Look is how often the process looks whether the server answers; 0 is 5 seconds.
	Look time.Duration
	// Note is told what a person should know, once each; may be nil.
	Note func(string)
}

// errSecret is the error of a server that does not accept the secret of the join file.
var errSecret = errors.New("the server refuses the secret of the join file. Copy the join file again from the machine that serves the study")

// Join joins the study of a join file, and fetches the study's files into a folder, for [study.Load]. It fails if no
// server answers, if the server has another study or another ocl, or if the folder cannot be written. After ctx ends,
// results that are under way are handed over for at most a minute.
func Join(ctx context.Context, file string, o JoinOptions) (*RemoteWorker, error) {
	t, err := readJoin(file)
	if err != nil {
		return nil, err
	}
	h := &RemoteWorker{folder: filepath.Join(o.Dir, string(t.Study))}
	if err := atomicfile.MakeFolder(h.folder); err != nil {
		return nil, fmt.Errorf("served: %w. Choose a folder that can be written", err)
	}
	h.store = newStore(ctx, t.Study, h.folder, o.Look, noted(o.Note))
	nc, err := h.store.connect(t)
	if err != nil {
		return nil, err
	}
	if err := h.begin(ctx, nc, file); err != nil {
		nc.Close()
		return nil, err
	}
	h.store.look() // so that states are right at once
	h.store.following.Go(h.store.follow)
	return h, nil
}

func noted(note func(string)) func(string) {
	if note == nil {
		return func(string) {}
	}
	return note
}

// connect connects to the servers of a join file. It fails if none answers, if the certificate is another one, or if
// the secret is refused.
func (s *store) connect(t ticket) (*nats.Conn, error) {
	options := s.options()
	s.holder, _ = hex.DecodeString(t.Holder) // it was checked
	var fault atomic.Value                   // why the certificate is refused
	if t.SHA256 != "" {
		options = append(options, secure(t.SHA256, func(err error) {
			fault.Store(&err)
			if err != nil && s.epoch() != "" { // it was served with the right one before
				s.die(err)
			}
		}))
	}
	if t.Secret != "" {
		options = append(options, nats.UserInfo(s.worker, t.Secret+"."+s.key))
		s.token = token(s.key)
	} else {
		options = append(options, fromEnvironment()...)
	}
	nc, err := nats.Connect(joined(t.Servers), options...)
	if other, is := fault.Load().(*error); err != nil && is && *other != nil {
		return nil, fmt.Errorf("served: %s: %w", joined(t.Servers), errOther)
	}
	if errors.Is(err, nats.ErrAuthorization) {
		return nil, fmt.Errorf("served: %w", errSecret)
	}
	if err != nil {
		return nil, fmt.Errorf("served: no server of the study answers at %s: %w. Start `ocl sweep` with --listen there, or copy the join file again",
			joined(t.Servers), err)
	}
	return nc, nil
}

// fromEnvironment returns the credentials for a team's own servers, from environment variables; nil without them.
func fromEnvironment() []nats.Option {
	if path := os.Getenv("OCL_NATS_CREDS"); path != "" {
		return []nats.Option{nats.UserCredentials(path)}
	}
	if user := os.Getenv("OCL_NATS_USER"); user != "" {
		return []nats.Option{nats.UserInfo(user, os.Getenv("OCL_NATS_PASSWORD"))}
	}
	return nil
}

// begin compares the versions of the messages, and fetches the files of the study. file is the join file, for messages.
func (w *RemoteWorker) begin(ctx context.Context, nc *nats.Conn, file string) error {
	s := w.store
	within, cancel := context.WithTimeout(ctx, opTime)
	defer context.AfterFunc(s.forbidden, cancel)() // who may not ask gets no answer
	err := s.use(within, nc)
	cancel()
	if err != nil && s.forbidden.Err() != nil {
		return fmt.Errorf("served: the server has another study than that of %s. Copy the join file again from the machine that serves the study",
			file)
	}
	if missing(err) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("served: the server does not have the study of %s: %w. Start its holder again, or copy the join file again",
			file, err)
	}
	if err != nil {
		return fmt.Errorf("served: %w. Look at the server of the study", err)
	}
	within, cancel = context.WithTimeout(ctx, patience)
	defer cancel()
	other, err := s.setting(within, versionKey)
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return fmt.Errorf("served: %w. Look at the server of the study", err)
	}
	if other == "" {
		return errors.New("served: the holder of the study is still at its start. Try again in a minute")
	}
	if other != version {
		return fmt.Errorf("served: the study is served by another ocl (messages of version %.20q, here %q). Use the same ocl on both machines",
			other, version)
	}
	m, there, err := s.manifest(within, holderUser, studyBundle)
	if err == nil && !there {
		err = errors.New("its files are missing")
	}
	from := filepath.Join(w.folder, ".in-"+s.worker)
	defer os.RemoveAll(from)
	if err == nil {
		err = s.fetch(within, studyBundle, m, from, limit.StudyJobs)
	}
	if err == nil {
		err = place(w.folder, from)
	}
	if err != nil {
		return fmt.Errorf("served: the study cannot be fetched: %w. Try again, or look at its holder", err)
	}
	return nil
}

// place moves all files below from into a folder, over files of the same name.
func place(folder, from string) error {
	paths, err := study.Files(from)
	for _, p := range paths {
		to := filepath.Join(folder, filepath.FromSlash(p))
		if err == nil {
			err = atomicfile.MakeFolder(filepath.Dir(to))
		}
		if err == nil {
			err = os.Rename(filepath.Join(from, filepath.FromSlash(p)), to)
		}
	}
	return err
}

// Folder is the folder on this machine that has the files of the study, and the runs at work.
func (w *RemoteWorker) Folder() string { return w.folder }

// Store is the store of the study. It is the same in all calls.
func (w *RemoteWorker) Store() study.Store { return w.store }

// Lent fetches data of a digest that the holder lends, and returns the path of the file. The file stays, for other
// processes of this machine. The path is "" if the holder does not lend these data. An error says that they did not
// arrive whole; nothing is left then.
func (w *RemoteWorker) Lent(ctx context.Context, digest string) (path string, err error) {
	path = filepath.Join(w.folder, "lent-"+wordOf(digest))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	m, there, err := w.store.manifest(ctx, holderUser, dataOf(digest))
	if err != nil || !there {
		return "", err
	}
	from := &parts{ctx: ctx, from: w.store.bundles, base: w.store.bundle(m.from, dataOf(digest)), m: m, sum: sha256.New()}
	if err := atomicfile.Write(path, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	}); err != nil {
		return "", fmt.Errorf("served: the data that the holder lends did not arrive: %w. Make room on the disk, or try again",
			err)
	}
	return path, nil
}

// Close ends the connection. The claims of jobs that have not ended expire after a minute.
func (w *RemoteWorker) Close() { w.store.close() }

// joined joins addresses with commas, as the client library takes them.
func joined(servers []string) string { return strings.Join(servers, ",") }
