package api

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/time/rate"

	"ocl/internal/escape"
	"ocl/internal/limit"
)

// Role says which requests a token allows. Each role allows those of the roles before it.
type Role int

// Roles, from the least.
const (
	RoleNone    Role = iota
	RolePredict      // predict, and read the model and the status
	RoleLabel        // send pictures and labels, and make classes
	RoleAdmin        // boundaries, forgetting, and going back to a version
)

// roleNames are the roles as the file of tokens writes them.
var roleNames = map[Role]string{RolePredict: "predict", RoleLabel: "label", RoleAdmin: "admin"}

func (r Role) String() string { return roleNames[r] }

// ParseRole is the role of a name.
func ParseRole(name string) (Role, error) {
	for r, n := range roleNames {
		if n == name {
			return r, nil
		}
	}
	return RoleNone, fmt.Errorf("%.40q is no role. Use predict, label or admin", name)
}

// Token is one entry of the file of tokens.
type Token struct {
	Name string  // who has it: the author of the events that it makes
	Role Role    //
	Rate float64 // requests a second; 0 is any number
	Hash string  // SHA-256 of the token, in hex
}

// Line is the token as the file of tokens has it.
func (t Token) Line() string {
	return fmt.Sprintf("%s %s %s sha256:%s\n", t.Name, t.Role, strconv.FormatFloat(t.Rate, 'g', -1, 64), t.Hash)
}

// NewToken makes a token. The secret is shown once; only its hash is kept.
func NewToken(name string, role Role, perSecond float64) (t Token, secret string, err error) {
	t = Token{Name: name, Role: role, Rate: perSecond}
	if err := t.check(); err != nil {
		return Token{}, "", err
	}
	var random [32]byte
	if _, err := rand.Read(random[:]); err != nil {
		return Token{}, "", err
	}
	secret = "ocl_" + base64.RawURLEncoding.EncodeToString(random[:])
	t.Hash = hashed(secret)
	return t, secret, nil
}

// hashed is the hash by which a token is known. A secret of 256 random bits needs no slow hash.
func hashed(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func (t Token) check() error {
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.@", r)
	}
	switch {
	case t.Name == "" || len(t.Name) > 64 || strings.ContainsFunc(t.Name, other):
		return fmt.Errorf("the name %.80q of a token is not possible. Use 1 to 64 letters, digits and the signs _ - . @",
			t.Name)
	case roleNames[t.Role] == "":
		return errors.New("a token has no role. Use predict, label or admin")
	case !(t.Rate >= 0 && t.Rate <= 1e6):
		return fmt.Errorf("the rate %v is not possible. Use a number of requests a second up to 1,000,000, or 0 for any number",
			t.Rate)
	}
	return nil
}

// ParseTokens reads a file of tokens: a line for each, with its name, its role, its rate in requests a second (0 is any
// number) and sha256:HASH. Empty lines and those that begin with # say nothing.
func ParseTokens(text []byte) ([]Token, error) {
	var list []Token
	names := map[string]bool{}
	for n, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		wrong := func(err error) error { return fmt.Errorf("line %d: %w", n+1, err) }
		words := strings.Fields(line)
		if len(words) != 4 {
			return nil, wrong(fmt.Errorf("there are %d words. Write NAME ROLE RATE sha256:HASH, as `ocl serve token` prints it",
				len(words)))
		}
		role, err := ParseRole(words[1])
		if err != nil {
			return nil, wrong(err)
		}
		perSecond, err := strconv.ParseFloat(words[2], 64)
		if err != nil {
			return nil, wrong(fmt.Errorf("%s is no rate. Use a number of requests a second, or 0 for any number",
				escape.Line(fmt.Sprintf("%.40q", words[2]))))
		}
		hash, is := strings.CutPrefix(words[3], "sha256:")
		if raw, err := hex.DecodeString(hash); !is || err != nil || len(raw) != sha256.Size {
			return nil, wrong(errors.New("the hash is none. Write sha256: and 64 hexadecimal digits, as `ocl serve token` prints them"))
		}
		t := Token{Name: words[0], Role: role, Rate: perSecond, Hash: strings.ToLower(hash)}
		if err := t.check(); err != nil {
			return nil, wrong(err)
		}
		if names[t.Name] {
			return nil, wrong(fmt.Errorf("there are two tokens of the name %q. Give one another name", t.Name))
		}
		if names[t.Name] = true; len(list) == limit.ServeTokens {
			return nil, wrong(fmt.Errorf("there are more than %d tokens. Remove some", limit.ServeTokens))
		}
		list = append(list, t)
	}
	if len(list) == 0 {
		return nil, errors.New("there is no token. Make one with `ocl serve token NAME --role admin --tokens FILE`")
	}
	return list, nil
}

// Tokens has the tokens that are valid now. A nil *Tokens allows everything to everybody.
type Tokens struct {
	mu      sync.RWMutex
	list    []holder
	changed chan struct{} // closed and made anew by Set
}

// holder is a token with what it has used of its rate.
type holder struct {
	Token
	sum   [sha256.Size]byte
	limit *rate.Limiter // nil is any number
}

// NewTokens are the tokens of a list.
func NewTokens(list []Token) *Tokens {
	t := &Tokens{changed: make(chan struct{})}
	t.Set(list)
	return t
}

// Set replaces all tokens. One that stays as it was keeps what it has used of its rate.
func (t *Tokens) Set(list []Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.list
	t.list = nil
	for _, of := range list {
		h := holder{Token: of}
		raw, _ := hex.DecodeString(of.Hash) // ParseTokens has checked it
		copy(h.sum[:], raw)
		if of.Rate > 0 {
			h.limit = rate.NewLimiter(rate.Limit(of.Rate), max(1, int(of.Rate)))
		}
		for _, b := range before {
			if b.Token == of {
				h.limit = b.limit
			}
		}
		t.list = append(t.list, h)
	}
	close(t.changed)
	t.changed = make(chan struct{})
}

// next is closed when other tokens are set. nil is never.
func (t *Tokens) next() <-chan struct{} {
	if t == nil {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.changed
}

// find is the holder of a secret. It takes the same time whichever token is the right one.
func (t *Tokens) find(secret string) (h holder, ok bool) {
	sum := sha256.Sum256([]byte(secret))
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, of := range t.list {
		if subtle.ConstantTimeCompare(of.sum[:], sum[:]) == 1 {
			h, ok = of, true
		}
	}
	return h, ok
}
