package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"ocl/internal/limit"
)

// countValue is the value of a flag that takes a number from 1 to most; 0 is its default.
type countValue struct {
	to   *int
	most int
}

// addWorkers defines --workers.
func addWorkers(flags *pflag.FlagSet, to *int, usage string) {
	flags.Var(countValue{to, limit.Workers}, "workers", "N\t"+usage)
}

// addConcurrency defines --concurrency, where what is, such as "runs at the same time".
func addConcurrency(flags *pflag.FlagSet, to *int, what string) {
	flags.Var(countValue{to, limit.Concurrency}, "concurrency", "N\t"+what+"; results do not depend on it (default: chosen)")
}

// addCheckpointEvery defines --checkpoint-every.
func addCheckpointEvery(flags *pflag.FlagSet, to *int) {
	flags.IntVar(to, "checkpoint-every", 60,
		"SECONDS\ttime between checkpoints; with a negative number there is one after each task and no other")
}

// addQuiet defines --quiet.
func addQuiet(flags *pflag.FlagSet, to *bool) {
	flags.BoolVarP(to, "quiet", "q", false, "do not show progress")
}

func (v countValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > v.most {
		return errors.New(v.Type())
	}
	*v.to = n
	return nil
}

func (v countValue) String() string {
	if v.to == nil {
		return "0"
	}
	return strconv.Itoa(*v.to)
}

func (v countValue) Type() string {
	return fmt.Sprintf("a whole number from 1 to %d, or 0 for the default", v.most)
}
