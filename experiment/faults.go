package experiment

import (
	"errors"
	"fmt"
)

// faults collects everything that is wrong with a config, so that one run of the command tells it all.
type faults struct{ list []error }

// add notes `config: key: what was found; what was wanted; what to do`.
func (f *faults) add(key, found, wanted, remedy string) {
	f.list = append(f.list, fmt.Errorf("config: %s: %s; %s; %s", key, found, wanted, remedy))
}

// err is nil without faults, else all of them, one a line.
func (f *faults) err() error { return errors.Join(f.list...) }
