package method

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"ocl/config"
	"ocl/internal/nearest"
	"ocl/internal/origin"
)

// Register adds a method to the catalogue, for the whole program: the command line, configs, studies and reports know
// it from then on. Call it from an init function or at the start of main, before anything reads the catalogue. The
// method counts as one of the module of the package that calls Register, and results of runs record that module and its
// version.
//
// A faulty entry is a bug and panics: no name, one that is taken or has characters that a name cannot have, no Build,
// an option without a default, a setting or a trick that does not exist, a grid with a key that is neither a setting
// nor an option of the method.
func Register(info Info) { catalogue.Register("method", info) }

// Origin is the module that registered the method, and its version: that of go.mod, or (devel) where it was built from
// a folder, with the revision of the folder if the build knows it. Both are "" for the methods of this module.
func (i Info) Origin() (module, version string) { return i.origin.Module, i.origin.Version }

// plain is a name as reports and file names compare it: ewc++, EWC-pp and ewcpp are one.
func plain(name string) string {
	return strings.NewReplacer("++", "pp", "+", "", "-", "").Replace(strings.ToLower(name))
}

var optionName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// fault is the first thing that is wrong with an entry.
func (i *Info) fault() error {
	if err := origin.CheckName(strings.TrimRight(i.Name, "+")); err != nil && strings.Contains(i.Name, "+") {
		return fmt.Errorf("%w. Plus signs may stand at the end", err)
	} else if err != nil {
		return err
	}
	switch {
	case len(i.Name) > origin.LongestName:
		return fmt.Errorf("the name %.50q has %d letters. Use at most %d", i.Name, len(i.Name), origin.LongestName)
	case i.Build == nil:
		return fmt.Errorf("%s: there is no Build. Set it to the function that makes the learner", i.Name)
	case i.OwnNetworks && (i.Begins == nil || i.Grows == nil):
		return fmt.Errorf("%s: OwnNetworks is set, but Begins and Grows are not. Set both", i.Name)
	case i.UsesMemory != slices.Contains(i.Settings, "memory"):
		return fmt.Errorf("%s: UsesMemory is %v, but Settings are %q. Set UsesMemory and add memory, or neither", i.Name,
			i.UsesMemory, i.Settings)
	case i.Teacher != "" && i.Teacher != config.TeacherTraining && i.Teacher != config.TeacherEvaluation:
		return fmt.Errorf("%s: the teacher is %q. Use %s or %s", i.Name, i.Teacher, config.TeacherTraining,
			config.TeacherEvaluation)
	}
	var keys []string
	for _, k := range config.Keys() {
		keys = append(keys, k.Name)
	}
	for _, key := range i.Settings {
		if !slices.Contains(keys, key) {
			return fmt.Errorf("%s: Settings has %q, which is no key of configs. %s", i.Name, key, nearest.Hint(key, keys))
		}
	}
	for name := range i.Refuses {
		if _, err := LookupTrick(name); err != nil {
			return fmt.Errorf("%s: Refuses: %w", i.Name, err)
		}
	}
	seen := map[string]bool{}
	for _, o := range i.Options {
		if err := optionFault(o); err != nil {
			return fmt.Errorf("%s: option %s: %w", i.Name, o.Name, err)
		}
		if seen[o.Name] {
			return fmt.Errorf("%s: option %s is there twice. Remove one", i.Name, o.Name)
		}
		seen[o.Name] = true
		keys = append(keys, "method."+i.Name+"."+o.Name)
	}
	for _, g := range slices.Concat([]Grid{i.Paper, i.Authors}, slices.Collect(maps.Values(i.PaperOn)),
		slices.Collect(maps.Values(i.AuthorsOn))) {
		for _, a := range g {
			if !slices.Contains(keys, a.Key) {
				return fmt.Errorf("%s: Tuning has %q, which is neither a key of configs nor an option of the method. %s", i.Name,
					a.Key, nearest.Hint(a.Key, keys))
			}
			if len(a.Values) == 0 {
				return fmt.Errorf("%s: Tuning has no values of %s. Add some, or remove it", i.Name, a.Key)
			}
		}
	}
	i.Title = cmp.Or(i.Title, i.Name)
	return nil
}

// optionFault is the first thing that is wrong with an option.
func optionFault(o Option) error {
	switch o.Default.(type) {
	case nil:
		return fmt.Errorf("there is no default. Set Default, whose type is that of the option")
	case bool, string, int, float64:
	default:
		return fmt.Errorf("the default is a %s. Use bool, string, int or float64", reflect.TypeOf(o.Default))
	}
	switch {
	case !optionName.MatchString(o.Name):
		return fmt.Errorf("%q cannot be a name. Use letters, digits and underscores, beginning with a letter", o.Name)
	case !o.Holds(o.Default):
		return fmt.Errorf("the default %v is not allowed. Use %s", o.Default, o.Wanted())
	}
	return nil
}
