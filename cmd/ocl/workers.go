package main

import (
	"errors"
	"strconv"

	"github.com/spf13/pflag"
)

// maxWorkers is far above what one network can use. Each worker has its own activations, so a slip such as 99999 would
// fill the memory of the machine.
const maxWorkers = 256

// workersValue is the value of --workers.
type workersValue struct{ to *int }

// addWorkers defines --workers; 0 is its default.
func addWorkers(flags *pflag.FlagSet, to *int, usage string) {
	flags.Var(workersValue{to}, "workers", usage)
}

func (v workersValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxWorkers {
		return errors.New(workersType)
	}
	*v.to = n
	return nil
}

func (v workersValue) String() string {
	if v.to == nil {
		return "0"
	}
	return strconv.Itoa(*v.to)
}

// workersType is what messages say that --workers takes.
const workersType = "a whole number from 1 to 256, or 0 for the default"

func (v workersValue) Type() string { return workersType }
