package served

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"runtime"
	"strings"

	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// JoinFile is the name of the file, in the folder of a study that is served, with all that a worker elsewhere needs.
const JoinFile = "join"

const joinFormat = "ocl-join"

// ticket is the content of a join file.
type ticket struct {
	Format  string   `json:"format"`
	Version int      `json:"version"`
	Servers []string `json:"servers"` // tls://HOST:PORT, or nats:// of a team's own servers
	Study   names    `json:"study"`
	Name    string   `json:"name"`             // of the study, for people
	Secret  string   `json:"secret,omitempty"` // "" takes a name and a password from the environment
	SHA256  string   `json:"sha256,omitempty"` // of the server's certificate; "" trusts those that the system trusts
	Holder  string   `json:"holder"`           // the key of its signatures, in hexadecimal
}

// parseJoin reads a join file.
func parseJoin(text []byte) (t ticket, err error) {
	if err := json.Unmarshal(text, &struct {
		Format  *string `json:"format"`
		Version *int    `json:"version"`
	}{&t.Format, &t.Version}); err != nil || t.Format != joinFormat {
		return ticket{}, errors.New("it is no join file, or it is damaged. Copy it again from the machine that serves the study")
	}
	if t.Version != 1 {
		return ticket{}, fmt.Errorf("another ocl wrote it (version %d of join files, this one reads 1). Use the same ocl on both machines",
			t.Version)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(&t)
	if key, twice := input.Twice(text); err == nil && twice {
		err = fmt.Errorf("it has the key %.40q twice", key)
	}
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return ticket{}, fmt.Errorf("the join file is damaged: %w. Copy it again from the machine that serves the study", err)
	}
	return t, nil
}

func (t ticket) check() error {
	if !isName(string(t.Study)) {
		return fmt.Errorf("its study is %.40q", t.Study)
	}
	if len(t.Servers) == 0 || len(t.Servers) > limit.ServedAddresses {
		return fmt.Errorf("it has %d servers", len(t.Servers))
	}
	for _, s := range t.Servers {
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "tls" && u.Scheme != "nats" || u.Host == "" || u.User != nil {
			return fmt.Errorf("its server is %.80q", s)
		}
		if t.SHA256 != "" && u.Scheme != "tls" {
			return fmt.Errorf("its server %.80q is not reached by TLS", s)
		}
	}
	if pin, err := hex.DecodeString(t.SHA256); err != nil || len(pin) != 0 && len(pin) != 32 {
		return fmt.Errorf("its sha256 is %.80q", t.SHA256)
	}
	if key, err := hex.DecodeString(t.Holder); err != nil || len(key) != ed25519.PublicKeySize {
		return fmt.Errorf("its holder is %.80q", t.Holder)
	}
	return nil
}

// readJoin reads a join file that nobody else can read.
func readJoin(path string) (ticket, error) {
	text, err := input.ReadFile(path, input.Want{Most: limit.ServedJoin})
	if err != nil {
		return ticket{}, fmt.Errorf("served: %w. Give the join file that `ocl sweep --listen` has written", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return ticket{}, fmt.Errorf("served: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return ticket{}, fmt.Errorf("served: others can read %s, and a join file has a secret. Run `chmod 600 %s`, if it is one",
			path, path)
	}
	t, err := parseJoin(text)
	if err != nil {
		return ticket{}, fmt.Errorf("served: %s: %w", path, err)
	}
	return t, nil
}

// writePrivate writes a file that only its owner can read.
func writePrivate(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	err = atomicfile.Build(path, func(f *os.File) error {
		if err := f.Chmod(0o600); err != nil && runtime.GOOS != "windows" {
			return err
		}
		_, err := f.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("served: %w. Make room on the disk", err)
	}
	return nil
}

// readPrivate reads what [writePrivate] has written; there is false without a file.
func readPrivate(path string, v any) (there bool, err error) {
	text, err := input.ReadFile(path, input.Want{Most: limit.ServedJoin})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return false, fmt.Errorf("served: %s is damaged: %w. Remove it; the workers then need the new join file", path, err)
	}
	return true, nil
}

// wordOf is a text as a part of a name of NATS.
func wordOf(text string) string {
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, text)
	return word[:min(len(word), 40)]
}
