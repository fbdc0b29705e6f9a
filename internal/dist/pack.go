package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// pack is one archive: a folder of its name with the files.
type pack struct {
	name    string // without an ending
	windows bool   // a zip; elsewhere a tar.gz
	time    time.Time
	files   []file
}

// file is a file of an archive.
type file struct {
	name string // in the archive
	path string // on this machine
	mode fs.FileMode
}

// writeAll writes the archives and their SHA256SUMS to dir, and lists them on w with the bytes of binary and archive.
func writeAll(dir string, packages []pack, w io.Writer) error {
	var sums strings.Builder
	for _, p := range packages {
		var archive bytes.Buffer
		name, write := p.name+".tar.gz", p.writeTarGz
		if p.windows {
			name, write = p.name+".zip", p.writeZip
		}
		if err := write(&archive); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), archive.Bytes(), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(archive.Bytes()), name)
		info, err := os.Stat(p.files[0].path)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-34s %5.1f MB, binary %5.1f MB\n", name, float64(archive.Len())/1e6, float64(info.Size())/1e6)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// writeTarGz writes the archive without the owner and the times of the files on this machine.
func (p pack) writeTarGz(w io.Writer) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	err = p.each(func(f file, text []byte) error {
		head := tar.Header{Typeflag: tar.TypeReg, Name: p.name + "/" + f.name, Size: int64(len(text)), Mode: int64(f.mode), ModTime: p.time, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(&head); err != nil {
			return err
		}
		_, err := archive.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return packed.Close()
}

// writeZip writes the archive likewise.
func (p pack) writeZip(w io.Writer) error {
	archive := zip.NewWriter(w)
	err := p.each(func(f file, text []byte) error {
		head := zip.FileHeader{Name: p.name + "/" + f.name, Method: zip.Deflate, Modified: p.time}
		head.SetMode(f.mode)
		to, err := archive.CreateHeader(&head)
		if err != nil {
			return err
		}
		_, err = to.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	return archive.Close()
}

func (p pack) each(add func(f file, text []byte) error) error {
	for _, f := range p.files {
		text, err := os.ReadFile(f.path)
		if err != nil {
			return err
		}
		if err := add(f, text); err != nil {
			return fmt.Errorf("%s: %s: %w", p.name, f.name, err)
		}
	}
	return nil
}
