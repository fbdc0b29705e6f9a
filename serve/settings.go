package serve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ocl/config"
	"ocl/run/build"
	serving "ocl/serve/daemon"
)

// ErrOther says that the folder has another learner than the one that was asked for.
var ErrOther = errors.New("the folder has another learner")

// other is an error that is [ErrOther], without its words.
type other struct{ error }

func (other) Is(target error) bool { return target == ErrOther }

// fits refuses settings of a learner that are not those of the folder's, which would be passed over. Nothing of the
// folder is opened before: other options, such as what is retained, change it.
func (o Options) fits() error {
	l := o.Daemon.Live
	if l.Method == "" && l.Memory == 0 && l.Size == 0 && l.Channels == 0 && len(l.Set) == 0 {
		return nil
	}
	s := build.Schema()
	text, shape, err := serving.Learner(o.Dir)
	var is config.Config
	if err == nil {
		is, err = s.Parse(o.Dir, text)
	}
	if err != nil {
		return nil //nolint:nilerr // there is none yet, or opening it says what is wrong
	}
	channels, side := shape[0], shape[1]
	var faults []string
	differ := func(name string, there, said any) {
		faults = append(faults, fmt.Sprintf("%s is %v there and %v here", name, there, said))
	}
	if m := methodOf(is); l.Method != "" && !slices.Equal(parts(l.Method), parts(m)) {
		differ("--method", m, l.Method)
	}
	if l.Memory != 0 && l.Memory != is.Memory {
		differ("--memory", is.Memory, l.Memory)
	}
	if l.Size != 0 && l.Size != side {
		differ("--size", side, l.Size)
	}
	if l.Channels != 0 && l.Channels != channels {
		differ("--channels", channels, l.Channels)
	}
	said := is.Clone()
	for _, pair := range l.Set {
		key, value, _ := strings.Cut(pair, "=")
		if err := s.Set(&said, key, value); err != nil {
			return other{err}
		}
	}
	if text := config.Difference(is, said); text != "" {
		faults = append(faults, text)
	}
	if len(faults) == 0 {
		return nil
	}
	return other{fmt.Errorf("%s has a learner already: %s. Leave that out to go on with it, or name another folder for a new one",
		o.Dir, strings.Join(faults, ", "))}
}

func methodOf(c config.Config) string {
	if t := c.Tricks[0]; t != config.NoTrick {
		return c.Methods[0] + "+" + t
	}
	return c.Methods[0]
}

// parts are a method and its tricks, in any order.
func parts(method string) []string { return slices.Sorted(strings.SplitSeq(method, "+")) }
