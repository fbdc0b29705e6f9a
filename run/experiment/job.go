package experiment

import (
	"fmt"
	"strings"

	"ocl/run/build"
)

// keyDigits is the number of digits of a job's key in the name of its folder.
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
	if build.Method(j.Method).UsesMemory {
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
