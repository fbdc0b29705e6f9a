// Command dist builds what people install: one static binary of ocl for each platform, packed with its documents, and the
// file SHA256SUMS. `make dist` runs it in the root of a clone. The same commit and the same version of Go give the same
// bytes, in any folder.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

const (
	folder = "dist"   // where the archives go; git ignores it
	most   = 40000000 // bytes of a binary
)

// platforms have binaries. The continuous integration vets the code for each of them.
var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}

// documents lie beside the binary in every archive.
var documents = []string{"README.md", "CHANGELOG.md", "LICENSE", "NOTICE"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := dist(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// dist builds all binaries before it writes the first archive. A failure leaves the archives of before.
func dist(ctx context.Context) error {
	src, err := readSource(ctx)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "ocl-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	version, err := src.version(ctx, filepath.Join(work, "here.exe")) // a name that Windows runs too
	if err != nil {
		return err
	}
	packages := make([]pack, len(platforms))
	for i, p := range platforms {
		fmt.Printf("building %s/%s\n", p.os, p.arch)
		binary := filepath.Join(work, p.os+"-"+p.arch)
		if err := src.build(ctx, p, binary); err != nil {
			return err
		}
		if err := check(binary, p, most); err != nil {
			return err
		}
		packages[i] = pack{name: fmt.Sprintf("ocl-%s-%s-%s", version, p.os, p.arch), windows: p.os == "windows", time: src.time,
			files: []file{{p.command(), binary, 0o755}}}
		for _, d := range documents {
			packages[i].files = append(packages[i].files, file{d, d, 0o644})
		}
	}
	return replace(folder, func(dir string) error { return writeAll(dir, packages, os.Stdout) })
}

// replace fills a new folder beside folder, which then takes its place. A failure to fill leaves folder as it was.
func replace(folder string, fill func(dir string) error) error {
	dir := folder + ".new" // on the same disk; git ignores what a crash leaves of it
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := fill(dir); err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.Rename(dir, folder)
}
