package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"

	"ocl/checkpoint"
	"ocl/config"
	"ocl/internal/edition"
	"ocl/internal/kernel"
	"ocl/internal/origin"
	"ocl/nn"
	"ocl/run/build"
	"ocl/run/result"
	"ocl/run/tune"
)

// release is the version of ocl.
const release = edition.Release

// revision is that of the source. tools/dist sets it when it links; elsewhere Go's stamp of the build says it.
var revision string

// version is the JSON that `ocl --version --json` prints.
type version struct {
	Version     string   `json:"version"`     // release
	Revision    string   `json:"revision"`    // of the source, or "unknown"
	Modified    bool     `json:"modified"`    // the source had changes that were not committed
	Numbers     int      `json:"numbers"`     // rises with every change of a benchmark figure
	Formats     formats  `json:"formats"`     // of files
	Kernel      string   `json:"kernel"`      // kernel set in use
	Kernels     []string `json:"kernels"`     // kernel sets this machine can run, fastest first
	Convolution string   `json:"convolution"` // algorithm of convolutions in use
	Go          string   `json:"go"`
	Platform    string   `json:"platform"` // operating system and processor
	Modules     []module `json:"modules"`  // other ones that have registered something in this program
}

// module is a module with its version.
type module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// formats are the versions of the files that this program writes (docs/format). It reads the earlier ones of configs.
type formats struct {
	Config     int `json:"config"`
	Result     int `json:"result"`
	Events     int `json:"events"`
	Checkpoint int `json:"checkpoint"`
	Tuning     int `json:"tuning"`
}

func printVersion(w io.Writer, asJSON *jsonFlag) error {
	v := readVersion()
	text := fmt.Sprintf("ocl %s\nrevision     %s\nnumbers      %d\nkernel       %s, of %s\nconvolution  %s\ngo           %s %s\n",
		v.Version, v.source(), v.Numbers, v.Kernel, joinWords(v.Kernels), v.Convolution, v.Go, v.Platform)
	for _, m := range v.Modules {
		text += fmt.Sprintf("module       %s %s\n", m.Path, m.Version)
	}
	return asJSON.printOr(w, v, text)
}

func readVersion() version {
	info, _ := debug.ReadBuildInfo()
	v := version{Version: release, Numbers: result.Numbers, Kernel: nn.DefaultEngine().Kernel,
		Convolution: nn.DefaultEngine().Convolution,
		Formats:     formats{config.Version, result.Version, result.EventsVersion, checkpoint.Version, tune.Version},
		Go:          runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Modules: []module{}}
	v.Revision, v.Modified = originOf(revision, info)
	for _, s := range kernel.Available() {
		v.Kernels = append(v.Kernels, s.Name)
	}
	modules := build.Modules()
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		v.Modules = append(v.Modules, module{path, modules[path]})
	}
	return v
}

// originOf is the revision that was linked, or else the one in the stamp of the build, which may be nil, and whether
// its source was modified.
func originOf(linked string, info *debug.BuildInfo) (revision string, modified bool) {
	if linked != "" {
		return linked, false
	}
	revision, modified = origin.Revision(info)
	return cmp.Or(revision, "unknown"), modified
}

// source is the revision, marked if the source was modified.
func (v version) source() string {
	if v.Modified {
		return v.Revision + "+dirty"
	}
	return v.Revision
}
