package experiment

import (
	"fmt"

	"ocl/checkpoint"
)

// unsetConvolution is the algorithm of convolutions that OCL_CONV does not name: nn.Convolution when it is unset.
const unsetConvolution = "table"

// identity is what the numbers of a run are a function of.
type identity struct {
	config      string // canonical text of the run's config
	data        string // digest
	numbers     int    // result.Numbers
	kernel      string // kernel set
	convolution string // nn.Convolution; "" where numbers version 1 did not say
}

// accept returns an error that says which part differs when something made under identity made does not belong to id.
func (id identity) accept(made identity) error {
	switch {
	case made.data != id.data:
		return fmt.Errorf("it was made with data %s; this run has %s; give the same data, or start again with --out and --force, without --resume", made.data, id.data)
	case made.numbers != id.numbers: // before what can be set: that alone would not help
		return fmt.Errorf("it was made with numbers version %d; this program has %d; use the program that made it, or start again with --out and --force, without --resume",
			made.numbers, id.numbers)
	case made.kernel != id.kernel:
		return fmt.Errorf("it was made with the %s kernels; this run uses %s; set OCL_KERNEL=%s, or start again with --out and --force, without --resume",
			made.kernel, id.kernel, made.kernel)
	case made.convolution != id.convolution:
		set := "set OCL_CONV=" + made.convolution
		if made.convolution == unsetConvolution {
			set = "unset OCL_CONV"
		}
		return fmt.Errorf("it was made with %q convolutions; this run uses %q; %s, or start again with --out and --force, without --resume",
			made.convolution, id.convolution, set)
	case made.config != id.config:
		return fmt.Errorf("it was made with another config; want that of this run; use another --out, or start again with --out and --force, without --resume")
	}
	return nil
}

func (id identity) save(e *checkpoint.Encoder) {
	e.Bytes("config", []byte(id.config))
	e.Bytes("data", []byte(id.data))
	e.Int64s("numbers", int64(id.numbers))
	e.Bytes("kernel", []byte(id.kernel))
	e.Bytes("convolution", []byte(id.convolution))
}

// loadIdentity reads what save wrote. Numbers version 1 wrote no convolution; its checkpoint is refused for the version.
func loadIdentity(d *checkpoint.Decoder) (identity, error) {
	var id identity
	for _, s := range []struct {
		name string
		to   *string
	}{{"config", &id.config}, {"data", &id.data}, {"kernel", &id.kernel}, {"convolution", &id.convolution}} {
		if s.to == &id.convolution && d.Len(s.name) < 0 {
			continue // numbers version 1
		}
		b, err := d.Bytes(s.name)
		if err != nil {
			return id, err
		}
		*s.to = string(b)
	}
	var numbers int64
	err := d.Int64s("numbers", &numbers)
	id.numbers = int(numbers)
	return id, err
}
