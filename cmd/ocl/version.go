package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"ocl/experiment/result"
	"ocl/internal/kernel"
	"ocl/nn"
)

// release is the version of ocl. It is the only place that says it.
const release = "0.1.0"

// version is what `ocl version --json` prints.
type version struct {
	Version     string   `json:"version"`     // release
	Revision    string   `json:"revision"`    // of the source, or "unknown"
	Numbers     int      `json:"numbers"`     // rises with every change of a benchmark figure
	Kernel      string   `json:"kernel"`      // kernel set in use
	Kernels     []string `json:"kernels"`     // kernel sets this machine can run, fastest first
	Convolution string   `json:"convolution"` // algorithm of convolutions in use
	Go          string   `json:"go"`
	Platform    string   `json:"platform"`
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of ocl, its source revision, and the kernels and the algorithm of convolutions in use.",
		Example: `  ocl version
  ocl version --json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := readVersion()
			if asJSON {
				return printJSON(cmd.OutOrStdout(), v)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "ocl %s\nrevision     %s\nnumbers      %d\nkernel       %s, of %s\nconvolution  %s\ngo           %s %s\n",
				v.Version, v.Revision, v.Numbers, v.Kernel, joinWords(v.Kernels), v.Convolution, v.Go, v.Platform)
			return err
		},
	}
	addJSON(cmd, &asJSON)
	return cmd
}

func readVersion() version {
	v := version{Version: release, Numbers: result.Numbers, Kernel: kernel.Active().Name, Convolution: nn.Convolution(),
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, s := range kernel.Available() {
		v.Kernels = append(v.Kernels, s.Name)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		v.Revision = "unknown"
		return v
	}
	dirty := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	switch {
	case v.Revision == "":
		v.Revision = "unknown"
	case dirty:
		v.Revision += "+dirty"
	}
	return v
}
