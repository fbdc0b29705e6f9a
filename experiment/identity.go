package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"ocl/checkpoint"
	"ocl/config"
	"ocl/experiment/result"
)

// identity is everything that the numbers of a run depend on.
type identity struct {
	config      config.Config // of the run
	data        string        // digest
	numbers     int           // result.Numbers
	kernel      string        // kernel set
	convolution string        // algorithm of the network's convolutions
}

// identify is the identity of a job whose config is settled.
func (x *Experiment) identify(j Job) identity {
	return identity{config: j.Config, data: x.set.Digest, numbers: result.Numbers,
		kernel: j.Config.Engine.Kernel, convolution: j.Config.Engine.Convolution}
}

// key is a hash of the identity. Configs with the same meaning have the same key ([config.Config.Canonical]).
func (id identity) key() string {
	h := sha256.New()
	fmt.Fprintf(h, "ocl-key 1\ndata %s\nnumbers %d\nkernel %s\nconvolution %s\n%s", id.data, id.numbers, id.kernel, id.convolution, Schema().Canonical(id.config))
	return hex.EncodeToString(h.Sum(nil))
}

// Key is the key of the run that left a result. Results of earlier programs do not have it.
func Key(r *result.Result) string { return identityOf(r).key() }

// identityOf is the identity of the run that left a result.
func identityOf(r *result.Result) identity {
	return identity{config: Schema().Recorded(r.Config), data: r.Provenance.DataDigest, numbers: r.Provenance.Numbers,
		kernel: r.Provenance.Kernel, convolution: r.Provenance.Convolution}
}

// startAnew is what else to do about files that belong to another run.
const startAnew = "or start again with another --out"

// accept returns an error if what was made under the identity made does not belong to id. The error says what differs.
func (id identity) accept(made identity) error {
	switch {
	case made.data != id.data:
		return fmt.Errorf("it was made with the data %s, but this run has %s. Use the same data, %s", quoted(made.data), id.data, startAnew)
	case made.numbers != id.numbers: // first, as setting the others would not help
		return fmt.Errorf("it was made with numbers version %d, but this ocl has %d. Use the ocl that made it, %s", made.numbers, id.numbers, startAnew)
	case made.kernel != id.kernel:
		return fmt.Errorf("it was made with the %s kernels, but this run uses %s. Set OCL_KERNEL=%s, %s", quoted(made.kernel), id.kernel, quoted(made.kernel), startAnew)
	case made.convolution != id.convolution:
		return fmt.Errorf("it was made with %s convolutions, but this run uses %s. Set OCL_CONV=%s, %s",
			quoted(made.convolution), id.convolution, quoted(made.convolution), startAnew)
	case Schema().Canonical(made.config) != Schema().Canonical(id.config):
		return fmt.Errorf("it was made with another config: %s. Use that config, %s", config.Difference(made.config, id.config), startAnew)
	}
	return nil
}

// quoted is a word from a file, in quotes if it has characters that a terminal must not get.
func quoted(word string) string {
	for _, r := range word {
		if r <= ' ' || r > '~' {
			return fmt.Sprintf("%q", word)
		}
	}
	if word == "" {
		return "unknown"
	}
	return word
}

func (id *identity) parts() checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.JSON("config", (*recordedConfig)(&id.config)),
		checkpoint.Bytes("data", &id.data),
		checkpoint.Values("numbers", &id.numbers),
		checkpoint.Bytes("kernel", &id.kernel),
		checkpoint.Bytes("convolution", &id.convolution),
	}
}

// loadIdentity reads the identity in a checkpoint.
func loadIdentity(d *checkpoint.Decoder) (id identity, err error) {
	err = id.parts().LoadState(d)
	return id, err
}

// recordedConfig is a config in a file of this program or of an older one, which lacked some keys.
type recordedConfig config.Config

func (c recordedConfig) MarshalJSON() ([]byte, error) { return config.Config(c).MarshalJSON() }

func (c *recordedConfig) UnmarshalJSON(text []byte) error {
	read, err := Schema().ParseRecord("recorded config", text)
	if err != nil {
		return fmt.Errorf("%w. Another version of ocl made it; use that one, %s", err, startAnew)
	}
	*c = recordedConfig(read)
	return nil
}
