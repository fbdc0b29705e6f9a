package experiment

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"ocl/internal/fuzztest"
	"ocl/run/identity"
	"ocl/run/result"
	"ocl/run/train"
)

// FuzzFolder reads the files of an experiment's and of a run's folder, as they are and compressed: memory is in
// proportion to the text, no message has raw bytes of it, and what is read is read again as the same.
func FuzzFolder(f *testing.F) {
	c := one("er")
	c.Stream.Tasks, c.Data.TrainPerClass, c.Data.TestPerClass, c.Network.Hidden = 2, 1, 1, []int{4}
	results, err := Run(f.Context(), c, Options{Workers: 1})
	if err != nil {
		f.Fatal(err)
	}
	made, err := result.Encode(results[0])
	if err != nil {
		f.Fatal(err)
	}
	config, err := c.YAML()
	if err != nil {
		f.Fatal(err)
	}
	first := []byte(`{"time":"2026-01-31T12:00:00.000Z","event":"run","format":"ocl-events","version":1,"key":"0a"}` +
		"\n")
	f.Add(false, false, config)
	f.Add(true, false, config)
	f.Add(false, true, []byte{3, 0, 0, 9, 1, 4, 20, 6, 7})
	f.Add(true, true, []byte{7, 1, 0, 1, 3})
	f.Add(false, false, first)
	f.Fuzz(func(t *testing.T, packed, changed bool, text []byte) {
		if changed {
			text = fuzztest.JSON(made, fuzztest.Of(text))
		}
		file := text
		if packed {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := z.Write(text); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			file = b.Bytes()
		}
		dir := t.TempDir()
		for _, name := range []string{ConfigFile, RunConfigFile, ResultFile, EventsFile} {
			if err := os.WriteFile(filepath.Join(dir, name), file, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		plain := func(err error) {
			if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
				t.Fatalf("a message with a control character: %q", err)
			}
		}
		most := uint64(16<<20 + 5000*len(text))
		if n := fuzztest.Allocated(most, func() {
			got, _, _, err := Load(filepath.Join(dir, ResultFile))
			if plain(err); err == nil {
				if again, err := got.YAML(); err != nil {
					t.Fatalf("it cannot be written: %v", err)
				} else if back, err := Schema().Parse("x", again); err == nil && back.Canonical() != got.Canonical() {
					t.Fatalf("written and read it is\n%s\nwant\n%s", back.Canonical(), got.Canonical())
				}
			}
			_, _, err = ReadFolder(dir, "Choose another.")
			plain(err)
			_, err = train.MadeIn(dir)
			plain(err)
			_, err = readConfig(filepath.Join(dir, ConfigFile))
			plain(err)
			if r, err := result.ReadAny(filepath.Join(dir, ResultFile)); err != nil {
				plain(err)
			} else if err := identity.Intact(Schema(), r); err != nil {
				plain(err)
			}
		}); n > most {
			t.Fatalf("%d bytes were allocated for %d", n, len(text))
		}
	})
}
