package faulttest

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// piece is how many bytes of a secret [Search] looks for. So it finds each stretch of 31 bytes and more, wherever it
// begins.
const piece = 16

// Search looks through every byte of every file below a folder for the contents of secrets, such as pictures that were
// erased: random bytes that stand nowhere else. It returns a line for each secret in each file that has 31 bytes of it
// side by side, also where the rest was overwritten. A secret of fewer bytes is found as a whole, from 16 on.
func Search(folder string, secrets map[string][]byte) (found []string, err error) {
	type place struct {
		name string
		at   int
	}
	pieces := map[[piece]byte]place{}
	var begins [1 << 16]bool // two bytes with which a piece begins
	for name, secret := range secrets {
		for at := 0; at+piece <= len(secret); at += piece {
			p := [piece]byte(secret[at:])
			pieces[p] = place{name, at}
			begins[binary.LittleEndian.Uint16(p[:])] = true
		}
	}
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for i := 0; i+piece <= len(text); i++ {
			if !begins[binary.LittleEndian.Uint16(text[i:])] {
				continue
			}
			if at, is := pieces[[piece]byte(text[i:])]; is && !seen[at.name] {
				seen[at.name] = true
				found = append(found, fmt.Sprintf("%s has byte %d of %s and those after it, from byte %d on", path, at.at, at.name,
					i))
			}
		}
		return nil
	})
	return found, err
}
