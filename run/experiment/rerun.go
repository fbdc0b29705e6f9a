package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ocl/config"
	"ocl/internal/cause"
	"ocl/internal/samebits"
	"ocl/nn"
	"ocl/run/identity"
	"ocl/run/result"
)

// OpenRerun opens the experiment of one run that left a result, to run it again: with the config and the engine that
// the result records, and data, first weights and parent from where the options say they lie now. parent is the folder
// of the parent, "" for the recorded one. It is an error if the numbers could not be the same: if the result was edited
// or its run was interrupted, if this program has another numbers version, this machine does not have the engine, or
// the data are others.
func OpenRerun(ctx context.Context, made *result.Result, parent string, o Options) (*Experiment, error) {
	if err := Schema().Lacks(made.Provenance.Registered); err != nil { // or the key would seem to be edited
		return nil, fmt.Errorf("experiment: %w", err)
	}
	if err := repeatable(made); errors.Is(err, result.ErrEdited) {
		return nil, fmt.Errorf("experiment: %w. Get the file again from where it was made, or make the run again", err)
	} else if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	c := recordedOf(made)
	switch {
	case parent != "" && made.Parent == nil:
		return nil, errors.New("experiment: a parent is given, but the run began with a new learner. Leave the parent out")
	case parent != "":
		c.Parent.Run = parent
	}
	o.Tuning, o.NewClasses = made.Tuning, true
	x, err := Open(ctx, c, o)
	if err != nil {
		return nil, err
	}
	if len(x.jobs) != 1 {
		return nil, fmt.Errorf("experiment: its config has %d runs, but a result is of one. Give a result.json that `ocl run` wrote",
			len(x.jobs))
	}
	was, is := IdentityOf(made), x.jobs[0].Identity
	switch {
	case was.Data != is.Data:
		return nil, fmt.Errorf("experiment: the data have the digest %s, but the result was made with %s. Give the same data (--data-dir)",
			is.Data, cause.Shown(was.Data))
	case config.OtherVersions(was.Registered, is.Registered) != "":
		return nil, fmt.Errorf("experiment: %s. Use the version that made it",
			config.OtherVersions(was.Registered, is.Registered))
	case was.Key() != is.Key():
		return nil, fmt.Errorf("experiment: this ocl makes another run of its config: %s. Use the ocl that made it (%s)",
			config.Difference(was.Config, is.Config), programOf(made))
	}
	return x, nil
}

// recordedOf is the config of the run that left a result, with its engine.
func recordedOf(r *result.Result) config.Config {
	c := r.Config
	if c.Engine.Kernel == "" {
		c.Engine.Kernel = r.Provenance.Kernel
	}
	if c.Engine.Convolution == "" {
		c.Engine.Convolution = r.Provenance.Convolution
	}
	return c
}

// repeatable refuses a result whose numbers this program on this machine could not find again.
func repeatable(recorded *result.Result) error {
	p, env := recorded.Provenance, nn.EngineOfEnvironment()
	switch {
	case recorded.Outcome.State == result.Interrupted:
		return fmt.Errorf("its run was interrupted at step %d, so it is not the final result. Let the run end first (`ocl run --resume`)",
			recorded.Outcome.Step)
	case p.Numbers != result.Numbers:
		return fmt.Errorf("it was made with numbers version %d, but this ocl has %d. Use the ocl that made it (%s)",
			p.Numbers, result.Numbers, programOf(recorded))
	case !slices.Contains(nn.Kernels(), samebits.Among(nn.Kernels(), p.Kernel)):
		return fmt.Errorf("it was made with the %s kernels, but this machine has only %s. Use a machine that has them",
			cause.Shown(p.Kernel), strings.Join(nn.Kernels(), ", "))
	case env.Kernel != "" && !samebits.Same(env.Kernel, p.Kernel):
		return fmt.Errorf("it was made with the %s kernels, but OCL_KERNEL=%s asks for others. Unset OCL_KERNEL",
			cause.Shown(p.Kernel), env.Kernel)
	case env.Convolution != "" && env.Convolution != p.Convolution:
		return fmt.Errorf("it was made with %s convolutions, but OCL_CONV=%s asks for others. Unset OCL_CONV",
			cause.Shown(p.Convolution), env.Convolution)
	}
	return identity.Intact(Schema(), recorded)
}

// programOf names the program that wrote a result, as far as it says so.
func programOf(r *result.Result) string {
	p := r.Provenance
	if p.Program == "" {
		return "revision " + cause.Shown(cmp.Or(p.Revision, "unknown"))
	}
	return "version " + cause.Shown(cmp.Or(p.Program, "unknown")) + ", revision " +
		cause.Shown(cmp.Or(p.Revision, "unknown"))
}
