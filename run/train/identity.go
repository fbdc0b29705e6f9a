package train

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"ocl/checkpoint"
	"ocl/config"
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/internal/samebits"
	"ocl/run/build"
	"ocl/run/identity"
	"ocl/run/result"
)

// startAnew is the end of messages about files of another run: the second way out.
const startAnew = "or start again with another --out"

// Accept returns an error if what was made under the identity made does not belong to id. The error says what differs.
func Accept(id, made identity.Identity) error {
	if what, remedy := differ(id, made); what != "" {
		return fmt.Errorf("%s. %s, %s", what, remedy, startAnew)
	}
	return nil
}

// differ says how what was made differs from id, and what to do to make the same; "" is not at all.
func differ(id, made identity.Identity) (what, remedy string) {
	switch {
	case made.Data != id.Data:
		return fmt.Sprintf("it was made with the data %s, but this run has %s", cause.Shown(made.Data), cause.Shown(id.Data)),
			"Use the same data"
	case made.Numbers != id.Numbers: // first, as setting the others would not help
		return fmt.Sprintf("it was made with numbers version %d, but this ocl has %d", made.Numbers, id.Numbers),
			"Use the ocl that made it"
	case !samebits.Same(made.Kernel, id.Kernel):
		return fmt.Sprintf("it was made with the %s kernels, but this run uses %s", cause.Shown(made.Kernel),
			cause.Shown(id.Kernel)), "Set OCL_KERNEL=" + cause.Shown(made.Kernel)
	case made.Convolution != id.Convolution:
		return fmt.Sprintf("it was made with %s convolutions, but this run uses %s", cause.Shown(made.Convolution),
			cause.Shown(id.Convolution)), "Set OCL_CONV=" + cause.Shown(made.Convolution)
	case config.OtherVersions(made.Registered, id.Registered) != "":
		return config.OtherVersions(made.Registered, id.Registered), "Use the version that made it"
	case build.Schema().Canonical(made.Config) != build.Schema().Canonical(id.Config):
		return "it was made with another config: " + config.Difference(made.Config, id.Config), "Use that config"
	}
	return "", ""
}

// OfRun returns an error if a checkpoint in the folder of a run, made under the identity made, is of another run than
// the folder's config and the first line of its events say. A file that cannot be read
// is passed over.
func OfRun(folder string, made identity.Identity) error {
	run := made
	if c, err := ReadConfig(folder); err == nil {
		run.Config = c
	}
	if e, err := firstEvent(folder); err == nil {
		take(&run, e)
	}
	if what, _ := differ(run, made); what != "" {
		return fmt.Errorf("this checkpoint is of another run than its folder: %s. Remove it, or give the folder of its run",
			strings.NewReplacer("this ocl", "this run", "this program", "this run").Replace(what))
	}
	return nil
}

// MadeIn is the identity of the run in a folder, by its config and the first line of its events. It is an error if one
// of them is absent or cannot be read.
func MadeIn(folder string) (id identity.Identity, err error) {
	if id.Config, err = ReadConfig(folder); err != nil {
		return id, err
	}
	e, err := firstEvent(folder)
	take(&id, e)
	return id, err
}

// take copies the identity that the first event of a run states into id.
func take(id *identity.Identity, e result.Event) {
	id.Data, id.Numbers, id.Kernel, id.Convolution, id.Registered = e.DataDigest, e.Numbers, e.Kernel, e.Convolution,
		e.Registered
}

// Lacks is an error if the run in a folder used something of another module that this program does not have. A folder
// that is not that of a run, or whose events cannot be read, lacks nothing.
func Lacks(folder string) error {
	e, err := firstEvent(folder)
	if err != nil {
		return nil //nolint:nilerr // whoever reads the run says so
	}
	return build.Schema().Lacks(e.Registered)
}

// ReadConfig reads the config in the folder of a run. What this program lacks of other modules is an error.
func ReadConfig(folder string) (config.Config, error) {
	text, err := input.ReadFile(filepath.Join(folder, ConfigFile), input.Want{Most: limit.Config})
	if err != nil {
		return config.Config{}, err
	}
	if len(text) == 0 { // it would be the config without any setting
		return config.Config{}, io.ErrUnexpectedEOF
	}
	if err := Lacks(folder); err != nil {
		return config.Config{}, err
	}
	return build.Schema().Parse(ConfigFile, text)
}

// firstEvent is the first line of the events of a run, which says what run it is.
func firstEvent(folder string) (result.Event, error) {
	f, _, err := input.Open(filepath.Join(folder, EventsFile), input.Want{Most: math.MaxInt64})
	if err != nil {
		return result.Event{}, err
	}
	defer f.Close()
	for e, err := range result.Events(f) {
		return e, err
	}
	return result.Event{}, io.ErrUnexpectedEOF
}

// identityParts are the parts of an identity in a checkpoint. A tuning is none of them: the config has the values that
// it chose.
func identityParts(id *identity.Identity) checkpoint.Parts {
	registered := len(id.Registered) > 0
	return checkpoint.Parts{
		checkpoint.Either(&registered, registeredSection,
			checkpoint.Parts{checkpoint.JSON(registeredSection, &id.Registered)}, checkpoint.Parts{
				checkpoint.Then(func() error { id.Registered = nil; return nil }),
			}),
		checkpoint.Then(func() error { return build.Schema().Lacks(id.Registered) }),
		checkpoint.JSON("config", (*recordedConfig)(&id.Config)),
		checkpoint.Bytes("data", &id.Data),
		checkpoint.Values("numbers", &id.Numbers),
		checkpoint.Bytes("kernel", &id.Kernel),
		checkpoint.Bytes("convolution", &id.Convolution),
	}
}

// registeredSection is the section of a checkpoint with the names that other modules registered and the run uses. A
// checkpoint without such names does not have it.
const registeredSection = "registered"

// ReadIdentity reads the identity in a checkpoint.
func ReadIdentity(d *checkpoint.Decoder) (identity.Identity, error) {
	id := identity.New(build.Schema(), config.Config{})
	return id, identityParts(&id).LoadState(d.Sub("identity"))
}

// recordedConfig is a config in a checkpoint. It is read with the catalogue, which knows the types of the options of
// methods.
type recordedConfig config.Config

func (c recordedConfig) MarshalJSON() ([]byte, error) { return config.Config(c).MarshalJSON() }

func (c *recordedConfig) UnmarshalJSON(text []byte) error {
	read, err := build.Schema().Parse("recorded config", text)
	if err != nil {
		return fmt.Errorf("%w. Another version of ocl made it; use that one, %s", err, startAnew)
	}
	*c = recordedConfig(read)
	return nil
}
