package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/nn"
	"ocl/nn/safetensors"
	"ocl/nn/weights"
	"ocl/run/build"
)

// readStart reads the file of network.init for networks such as net, and sets network.init_digest.
func (x *Experiment) readStart(net *nn.Network) error {
	n := &x.config.Network
	if n.Init == "" {
		return nil
	}
	s, digest, err := readWeights(n.Init, net)
	if err == nil && n.InitDigest != "" && n.InitDigest != digest {
		err = fmt.Errorf("its digest is %s, but network.init_digest is %s. Give the same file, or start another experiment without the digest (network.init_digest=)",
			digest, n.InitDigest)
	}
	if err != nil {
		err = fmt.Errorf("network.init: %s: %w", n.Init, err)
		if x.opts.resumed && n.InitDigest != "" {
			x.absent = fmt.Errorf("the run has no checkpoint yet, so it needs its first weights: %w. If they have moved, add network.init=FILE to --resume",
				err)
			return nil
		}
		return err
	}
	x.weights, n.InitDigest = s, digest
	if s.Prefix != "" {
		x.notes = append(x.notes, fmt.Sprintf("network.init: %s: names of tensors are read without %.60q before them", n.Init,
			s.Prefix))
	}
	if s.OtherHead != "" {
		x.notes = append(x.notes, fmt.Sprintf("network.init: %s: %s", n.Init, s.OtherHead))
		return nil
	}
	for _, name := range x.config.Methods {
		if build.Method(name).OwnOutputs {
			x.notes = append(x.notes, fmt.Sprintf("network.init: %s gives its outputs to classes in the order in which they appear. Its head starts from drawn weights",
				name))
		}
	}
	return nil
}

// readWeights reads a file of weights for networks such as net, and its digest.
func readWeights(path string, net *nn.Network) (s *weights.Start, digest string, err error) {
	f, size, err := input.Open(path, input.Want{Most: limit.Weights})
	if err != nil {
		return nil, "", fmt.Errorf("%w. Give the path of a safetensors file, such as `ocl export` writes", cause.Of(err))
	}
	defer f.Close()
	r, err := safetensors.NewReader(f, size)
	if err != nil {
		if other := otherFormat(f, size); other != "" {
			err = errors.New(other)
		}
		return nil, "", err
	}
	if s, err = weights.Match(net, r); err != nil {
		return nil, "", err
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, size)); err != nil {
		return nil, "", err
	}
	return s, "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// otherFormat says what a file of weights is that is no safetensors file, and what to give instead; "" is not known.
func otherFormat(f io.ReaderAt, size int64) string {
	const instead = "Give a safetensors file, such as `ocl export RUN --to safetensors` writes"
	switch what := safetensors.Foreign(f, size); what {
	case "":
		return ""
	case safetensors.NumPy:
		return "this is " + what + ". " + instead + ", or save the arrays with save_file of safetensors.numpy"
	case safetensors.Torch, safetensors.OldTorch:
		return "this is " + what + ". Save the state_dict with save_file of safetensors.torch, and give that file"
	default:
		return "this is " + what + ", whose weights ocl does not read. " + instead
	}
}
