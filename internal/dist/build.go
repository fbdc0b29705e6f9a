package main

import (
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// platform is an operating system and a processor, in Go's words.
type platform struct{ os, arch string }

// command is the name of the binary there.
func (p platform) command() string {
	if p.os == "windows" {
		return "ocl.exe"
	}
	return "ocl"
}

// source is the commit that the binaries are built from.
type source struct {
	revision string
	time     time.Time // of the commit; all files in the archives have it
}

// readSource refuses changes that are not committed: nobody could build the same binaries again.
func readSource(ctx context.Context) (source, error) {
	changes, err := output(ctx, "git", "status", "--porcelain")
	if err != nil {
		return source{}, fmt.Errorf("%w. Use a clone of the repository, as binaries say their revision", err)
	}
	if changes != "" {
		return source{}, fmt.Errorf("these files are not committed:\n%s\nCommit or remove them, so that the revision says what is in the binaries", changes)
	}
	head, err := output(ctx, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return source{}, err
	}
	revision, seconds, _ := strings.Cut(head, " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("git log says %q, but must say a revision and a time. Check that git is not another program", head)
	}
	return source{revision, time.Unix(at, 0).UTC()}, nil
}

// build writes the binary for p to path. The revision is given because Go's own stamp is missing in worktrees and depends
// on the tags of a clone.
func (s source) build(ctx context.Context, p platform, path string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.revision="+s.revision, "-o", path, "./cmd/ocl")
	cmd.Env = p.environment()
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build for %s/%s: %w", p.os, p.arch, err)
	}
	return nil
}

// environment is that of a build for p. What whoever builds has set for Go, in the environment or with `go env -w`, does not
// change the binary; only GOTOOLCHAIN chooses the version of Go.
func (p platform) environment() []string {
	return append(os.Environ(), "GOENV=off", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
}

// version builds ocl for this machine and asks it for its version, and so checks that binaries say where they come from.
func (s source) version(ctx context.Context, path string) (string, error) {
	if err := s.build(ctx, platform{runtime.GOOS, runtime.GOARCH}, path); err != nil {
		return "", err
	}
	text, err := output(ctx, path, "version", "--json")
	if err != nil {
		return "", err
	}
	var v struct {
		Version, Revision string
		Modified          bool
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return "", fmt.Errorf("ocl version --json: %w", err)
	}
	if v.Version == "" || v.Revision != s.revision || v.Modified {
		return "", fmt.Errorf("the binary says version %q, revision %q, modified %v, but it was built from %s. Mend cmd/ocl/version.go", v.Version, v.Revision, v.Modified, s.revision)
	}
	return v.Version, nil
}

// check refuses a binary of more than most bytes, and one for Linux that needs a loader of shared libraries.
func check(path string, p platform, most int64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > most {
		return fmt.Errorf("the binary for %s/%s has %d bytes, more than %d. Look for what a new module brings in with \"go tool nm -size\"", p.os, p.arch, info.Size(), most)
	}
	if p.os != "linux" {
		return nil
	}
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, part := range f.Progs {
		if part.Type == elf.PT_INTERP {
			return fmt.Errorf("the binary for %s/%s is not static. Look for a module that needs cgo", p.os, p.arch)
		}
	}
	return nil
}

// output runs a command and returns what it prints, without the space around it.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return strings.TrimSpace(string(text)), nil
}
