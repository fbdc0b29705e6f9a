package train

import (
	"fmt"

	"ocl/checkpoint"
	"ocl/config"
	"ocl/experiment/build"
	"ocl/experiment/identity"
	"ocl/internal/cause"
)

// startAnew is what else to do about files that belong to another run.
const startAnew = "or start again with another --out"

// Accept returns an error if what was made under the identity made does not belong to id. The error says what differs.
func Accept(id, made identity.Identity) error {
	switch {
	case made.Data != id.Data:
		return fmt.Errorf("it was made with the data %s, but this run has %s. Use the same data, %s", cause.Shown(made.Data), id.Data, startAnew)
	case made.Numbers != id.Numbers: // first, as setting the others would not help
		return fmt.Errorf("it was made with numbers version %d, but this ocl has %d. Use the ocl that made it, %s", made.Numbers, id.Numbers, startAnew)
	case made.Kernel != id.Kernel:
		return fmt.Errorf("it was made with the %s kernels, but this run uses %s. Set OCL_KERNEL=%s, %s", cause.Shown(made.Kernel), id.Kernel, cause.Shown(made.Kernel), startAnew)
	case made.Convolution != id.Convolution:
		return fmt.Errorf("it was made with %s convolutions, but this run uses %s. Set OCL_CONV=%s, %s",
			cause.Shown(made.Convolution), id.Convolution, cause.Shown(made.Convolution), startAnew)
	case build.Schema().Canonical(made.Config) != build.Schema().Canonical(id.Config):
		return fmt.Errorf("it was made with another config: %s. Use that config, %s", config.Difference(made.Config, id.Config), startAnew)
	}
	return nil
}

// identityParts are the parts of an identity in a checkpoint. A tuning is none of them: the config has the values that it chose.
func identityParts(id *identity.Identity) checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.JSON("config", (*recordedConfig)(&id.Config)),
		checkpoint.Bytes("data", &id.Data),
		checkpoint.Values("numbers", &id.Numbers),
		checkpoint.Bytes("kernel", &id.Kernel),
		checkpoint.Bytes("convolution", &id.Convolution),
	}
}

// ReadIdentity reads the identity in a checkpoint.
func ReadIdentity(d *checkpoint.Decoder) (identity.Identity, error) {
	id := identity.New(build.Schema(), config.Config{})
	return id, identityParts(&id).LoadState(d.Sub("identity"))
}

// recordedConfig is a config in a checkpoint. It is read with the catalogue, which knows the types of the options of methods.
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
