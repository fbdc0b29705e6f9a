package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHints: what is left over of a list and the path of data are told with the form that works.
func TestHints(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "pictures")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"run er":                         `run: "er" is not a flag. Write --method er`,
		"run --method er mir":            `run: "mir" is not a flag. Write --method er,mir`,
		"run --method er, ewc++, gss":    `run: "ewc++," is not a flag. Write --method er,ewc++,gss`,
		"config show --method er mir":    `config show: "mir" is not a flag. Write --method er,mir`,
		"run --method er ncm":            `run: "ncm" is not a flag. Write --trick ncm`,
		"run --classifiers head ncm":     `run: "ncm" is not a flag. Write --classifiers head,ncm`,
		"run --trick lb rv":              `run: "rv" is not a flag. Write --trick lb,rv for a run with each, or --trick lb+rv for one with all of them`,
		"run --trick lb + rv":            `run: "+" is not a flag. Write --trick lb+rv`,
		"run --trick lb+ kdc*":           `run: "kdc*" is not a flag. Write --trick 'lb+kdc*'`,
		"run --method er here":           "run takes flags only, but \"here\" is given. `ocl run --help` lists all flags",
		"run +":                          "run takes flags only, but \"+\" is given. `ocl run --help` lists all flags",
		"run ,":                          "run takes flags only, but \",\" is given. `ocl run --help` lists all flags",
		"run --trick lb_+_rv":            `config: tricks (--trick): "lb + rv" has spaces. Write lb+rv`,
		"run --trick none,lb_rv":         `config: tricks (--trick): "lb rv" has spaces. Write lb+rv`,
		"run --trick lb_+_rw":            `config: tricks (--trick): unknown trick "lb ". Did you mean lb?`,
		"run --data mine.npz":            `--data: "mine.npz" is a path, not a data set. Write --data npz --data-dir mine.npz`,
		"run --data x/cifar-100-binary/": `--data: "x/cifar-100-binary/" is a path, not a data set. Write --data cifar100 --data-dir x/cifar-100-binary/`,
		"run --data " + folder:           `--data: "` + folder + `" is a path, not a data set. Write --data NAME --data-dir ` + folder + "; `ocl data list` lists the names",
		"run --data cifr100":             "config: data.name (--data): unknown data set \"cifr100\". Did you mean cifar100? `ocl data list` lists all data sets",
	} {
		root := newRoot(io.Discard, io.Discard)
		var args []string
		for _, word := range strings.Fields(line) {
			args = append(args, strings.ReplaceAll(word, "_", " "))
		}
		root.SetArgs(args)
		if err := root.Execute(); err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", line, err, want)
		}
	}
}
