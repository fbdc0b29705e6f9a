package experiment

import (
	"fmt"

	"ocl/checkpoint"
)

// identity is what the numbers of a run are a function of.
type identity struct {
	config  string // canonical text of the run's config
	data    string // digest
	numbers int    // result.Numbers
	kernel  string
}

// accept returns an error that says which part differs when something made under identity made does not belong to id.
func (id identity) accept(made identity) error {
	what, found, want := "", "", ""
	switch {
	case made.data != id.data:
		what, found, want = "data", made.data, id.data
	case made.kernel != id.kernel:
		return fmt.Errorf("it was made with the %s kernels; this run uses %s; set OCL_KERNEL=%s, or start again with --force",
			made.kernel, id.kernel, made.kernel)
	case made.numbers != id.numbers:
		what, found, want = "numbers version", fmt.Sprint(made.numbers), fmt.Sprint(id.numbers)
	case made.config != id.config:
		return fmt.Errorf("it was made with another config; want that of this run; use another --out, or start again with --force")
	default:
		return nil
	}
	return fmt.Errorf("it was made with %s %s; this run has %s; give the same %s, or start again with --force", what, found, want, what)
}

func (id identity) save(e *checkpoint.Encoder) {
	e.Bytes("config", []byte(id.config))
	e.Bytes("data", []byte(id.data))
	e.Int64s("numbers", int64(id.numbers))
	e.Bytes("kernel", []byte(id.kernel))
}

func loadIdentity(d *checkpoint.Decoder) (identity, error) {
	var id identity
	for _, s := range []struct {
		name string
		to   *string
	}{{"config", &id.config}, {"data", &id.data}, {"kernel", &id.kernel}} {
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
