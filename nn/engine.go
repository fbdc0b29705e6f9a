package nn

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"ocl/internal/kernel"
	"ocl/internal/samebits"
	"ocl/nn/internal/conv"
	"ocl/nn/internal/workers"
)

// Engine says how a network computes. Two networks of one process may have different engines, and then differ in the
// last bits. An empty field is what [DefaultEngine] has.
type Engine struct {
	Kernel      string // one of Kernels, or a set with the bits of one of them
	Convolution string // one of Convolutions
}

// Kernels lists the kernel sets that this machine can run, fastest first.
func Kernels() []string {
	var names []string
	for _, s := range kernel.Available() {
		names = append(names, s.Name)
	}
	return names
}

// AllKernels lists the kernel sets of all machines, fastest first.
func AllKernels() []string { return kernel.Names() }

// Convolutions lists the algorithms of 3×3 convolutions of stride 1: "direct" is the definition, "winograd" is
// Winograd's wherever it fits, and "table" is the faster one for each convolution.
func Convolutions() []string { return []string{conv.Direct, conv.Winograd, conv.Table} }

// DefaultEngine is the engine of a network for which nobody chose one: what the environment names, and else the fastest
// kernel set and the table. It panics with the error of [CheckEnvironment] if there is one.
func DefaultEngine() Engine {
	if errStandard != nil {
		panic(errStandard.Error())
	}
	return standard
}

// CheckEnvironment returns an error when OCL_KERNEL names a kernel set that cannot run here, or OCL_CONV no algorithm.
func CheckEnvironment() error { return errStandard }

var standard, errStandard = standardEngine(EngineOfEnvironment())

// standardEngine is e with the fastest set and the table where it has none.
func standardEngine(e Engine) (Engine, error) {
	set, err := kernel.Find(samebits.Among(Kernels(), e.Kernel))
	if err != nil {
		err = fmt.Errorf("kernel: OCL_KERNEL: %w, or unset it to use the fastest", err)
	} else {
		e.Kernel = set.Name
	}
	if e.Convolution == "" {
		e.Convolution = conv.Table
	} else if wrong := convolutionIsKnown(e.Convolution); wrong != nil {
		err = errors.Join(err, fmt.Errorf("nn: OCL_CONV: %w, or unset the variable", wrong))
	}
	return e, err
}

// EngineOfEnvironment is the engine that the environment variables OCL_KERNEL and OCL_CONV name; the field of a
// variable that is not set is empty. The names are not checked.
func EngineOfEnvironment() Engine { return Engine{os.Getenv("OCL_KERNEL"), os.Getenv("OCL_CONV")} }

// Check says whether a network with this engine can be built on this machine. The error says what the machine has.
func (e Engine) Check() error {
	_, _, err := e.choose()
	return err
}

// choose finds the kernel set and the algorithm.
func (e Engine) choose() (*kernel.Set, string, error) {
	if (e.Kernel == "" || e.Convolution == "") && errStandard != nil {
		return nil, "", errStandard
	}
	if e.Kernel == "" {
		e.Kernel = standard.Kernel
	}
	if e.Convolution == "" {
		e.Convolution = standard.Convolution
	}
	set, err := kernel.Find(samebits.Among(Kernels(), e.Kernel))
	if err != nil {
		return nil, "", fmt.Errorf("nn: %w", err)
	}
	if err := convolutionIsKnown(e.Convolution); err != nil {
		return nil, "", fmt.Errorf("nn: algorithm of convolutions %w", err)
	}
	return set, e.Convolution, nil
}

func convolutionIsKnown(name string) error {
	all := Convolutions()
	if slices.Contains(all, name) {
		return nil
	}
	return fmt.Errorf("%q is unknown. Use %s or %s", name, strings.Join(all[:len(all)-1], ", "), all[len(all)-1])
}

// ConvolutionsUsed is the algorithm that the network's 3×3 convolutions of stride 1 have with its [Engine]: "winograd"
// where all that Winograd's algorithm fits use it, "direct" where none does, "table" for both kinds. It makes the
// buffers of a pass of one image to find out.
func (n *Network) ConvolutionsUsed() string {
	whole := *n
	whole.latent = nil // what is frozen has convolutions too
	p := newPass(&whole, workers.New(1), 1, 1, &packs{})
	uses, could := 0, 0
	for _, c := range p.convs {
		used, fits := conv.ByWinograd(c.Conv)
		if used {
			uses++
		}
		if fits {
			could++
		}
	}
	switch uses {
	case 0:
		return conv.Direct
	case could:
		return conv.Winograd
	}
	return conv.Table
}
