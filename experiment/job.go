package experiment

import (
	"fmt"
	"strings"

	"ocl/config"
	"ocl/experiment/identity"
)

// Job is one run of an experiment: one method with its tricks, one seed.
type Job struct {
	Index, Total int
	Method       string
	Tricks       []string // names; nil is none
	Seed         uint64
	Config       config.Config // of this run alone, resolved: running it again gives the same run
	// Key is the hash of everything that the numbers of the run depend on: its config without places, the digest of the
	// data, the numbers version, the kernel set and the algorithm of convolutions. It has 64 hexadecimal digits.
	Key    string
	Folder string // the name of its folder in the experiment's, such as "er-m5000-s3-1f2e3d4c"

	id identity.Identity
}

// Name is the method with its tricks, such as "er+lb+ncm".
func (j Job) Name() string { return strings.Join(append([]string{j.Method}, j.Tricks...), "+") }

// keyDigits is how many digits of the key a folder's name has.
const keyDigits = 8

// nameFolders gives each job its own folder: <method>_<trick>-m<capacity>-s<seed>-<digits of the key>, with all its
// tricks, and without -m if the method has no memory. If two keys begin with the same digits, the names have more
// digits.
func nameFolders(jobs []Job) {
	for digits := keyDigits; ; digits++ {
		taken := map[string]string{}
		clash := false
		for i := range jobs {
			j := &jobs[i]
			j.Folder = folderName(*j, digits)
			other, there := taken[j.Folder]
			clash = clash || there && other != j.Key
			taken[j.Folder] = j.Key
		}
		if !clash {
			return
		}
	}
}

func folderName(j Job, digits int) string {
	name := sanitised(j.Method)
	for _, t := range j.Tricks {
		name += "_" + sanitised(t)
	}
	if infoOf(j.Method).UsesMemory {
		name += fmt.Sprintf("-m%d", j.Config.Memory)
	}
	return fmt.Sprintf("%s-s%d-%s", name, j.Seed, j.Key[:digits])
}

// sanitised makes the name of a folder that every system accepts: a plus sign becomes p (ewc++ is ewcpp), an asterisk s
// (kdc* is kdcs), and all characters other than letters, digits, dot, underscore and hyphen become hyphens.
func sanitised(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '+':
			return 'p'
		case r == '*':
			return 's'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r >= 'A' && r <= 'Z', strings.ContainsRune("._-", r):
			return r
		}
		return '-'
	}, name)
}
