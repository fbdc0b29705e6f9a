package arch

import (
	"fmt"
	"slices"

	"ocl/internal/origin"
)

// Register adds a network to the catalogue, for the whole program: --network NAME then chooses it. Call it from an init
// function or at the start of main, before anything reads the catalogue. Results of runs record the module that calls
// Register, with its version.
//
// An entry without a name or without Build, with a name that is taken or has other characters than letters, digits and
// single hyphens, or with settings that no network reads, is a bug and panics.
func Register(info Info) { catalogue.Register("arch", info) }

// fault is the first thing that is wrong with an entry.
func (i *Info) fault() error {
	if err := origin.CheckName(i.Name); err != nil {
		return err
	}
	switch {
	case i.Build == nil:
		return fmt.Errorf("%s: there is no Build. Set it to the function that makes the network", i.Name)
	case i.LeastSide < 0:
		return fmt.Errorf("%s: the smallest side %d is negative. Use 0 for any", i.Name, i.LeastSide)
	case i.Wide != "" && !slices.Contains(i.Settings, i.Wide):
		return fmt.Errorf("%s: Wide is %q, but Settings are %q. Use one of them, or none", i.Name, i.Wide, i.Settings)
	}
	for at, key := range i.Settings {
		if key != Width && key != Hidden || slices.Contains(i.Settings[:at], key) {
			return fmt.Errorf("%s: Settings has %q, which is no setting of a network or there twice. Use %s and %s", i.Name, key,
				Width, Hidden)
		}
	}
	i.least = nil
	return nil
}
