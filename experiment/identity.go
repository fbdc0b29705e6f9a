package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"ocl/checkpoint"
	"ocl/config"
	"ocl/experiment/result"
)

// identity is what the numbers of a run are a function of.
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

// key is a hash of the identity. Configs count by their meaning ([config.Config.Canonical]).
func (id identity) key() string {
	h := sha256.New()
	fmt.Fprintf(h, "ocl-key 1\ndata %s\nnumbers %d\nkernel %s\nconvolution %s\n%s", id.data, id.numbers, id.kernel, id.convolution, Schema().Canonical(id.config))
	return hex.EncodeToString(h.Sum(nil))
}

// startAnew is the way out for what belongs to another run.
const startAnew = "or start again with another --out"

// accept returns an error that says which part differs when something made under identity made does not belong to id.
func (id identity) accept(made identity) error {
	switch {
	case made.data != id.data:
		return fmt.Errorf("it was made with data %s, and this run has %s. Give the same data, %s", quoted(made.data), id.data, startAnew)
	case made.numbers != id.numbers: // before what can be set: that alone would not help
		return fmt.Errorf("it was made with numbers version %d, and this program has %d. Use the program that made it, %s", made.numbers, id.numbers, startAnew)
	case made.kernel != id.kernel:
		return fmt.Errorf("it was made with the %s kernels, and this run uses %s. Set OCL_KERNEL=%s, %s", quoted(made.kernel), id.kernel, quoted(made.kernel), startAnew)
	case made.convolution != id.convolution:
		return fmt.Errorf("it was made with %s convolutions, and this run uses %s. Set OCL_CONV=%s, %s",
			quoted(made.convolution), id.convolution, quoted(made.convolution), startAnew)
	case Schema().Canonical(made.config) != Schema().Canonical(id.config):
		return fmt.Errorf("it was made with another config: %s. Use that config, %s", config.Difference(made.config, id.config), startAnew)
	}
	return nil
}

// quoted is a word that comes from a file: as it is, or in quotes where a terminal should not get it so.
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

func (id identity) save(e *checkpoint.Encoder) error {
	text, err := json.Marshal(id.config)
	if err != nil {
		return err
	}
	e.Bytes("config", text)
	e.Bytes("data", []byte(id.data))
	e.Int64s("numbers", int64(id.numbers))
	e.Bytes("kernel", []byte(id.kernel))
	e.Bytes("convolution", []byte(id.convolution))
	return nil
}

// loadIdentity reads what save wrote, or a program that did not know some keys yet.
func loadIdentity(d *checkpoint.Decoder) (identity, error) {
	var id identity
	for _, s := range []struct {
		name string
		to   *string
	}{{"data", &id.data}, {"kernel", &id.kernel}, {"convolution", &id.convolution}} {
		b, err := d.Bytes(s.name)
		if err != nil {
			return id, err
		}
		*s.to = string(b)
	}
	var numbers int64
	if err := d.Int64s("numbers", &numbers); err != nil {
		return id, err
	}
	id.numbers = int(numbers)
	text, err := d.Bytes("config")
	if err != nil {
		return id, err
	}
	if id.config, err = Schema().ParseRecord("its config", text); err != nil {
		return id, fmt.Errorf("%w. Another version of the program made it; use that one, %s", err, startAnew)
	}
	return id, nil
}
