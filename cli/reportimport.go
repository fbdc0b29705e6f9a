package cli

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"ocl"
	"ocl/config"
	"ocl/data"
	"ocl/internal/escape"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/internal/nearest"
	"ocl/interop/foreign"
	"ocl/interop/output"
	"ocl/learn/method"
	"ocl/run/result"
)

// importFlags are the flags of `ocl report import`.
type importFlags struct {
	about  foreign.About
	memory int
	out    string
}

func newReportImport() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import MATRIX.csv",
		Short: "Read the accuracies that another program measured, so that a report can show them beside those of ocl.",
		Example: `  ocl report import er.csv --method er --data cifar100 --program avalanche
  ocl report import mine.csv --method mine --data cifar100 --program mine -o foreign/mine.json.gz
  ocl report runs/er5k foreign -o both`,
		Long: "MATRIX.csv has a row and a column for each task, and commas between the numbers. A number is the accuracy, from 0 to 1, after the task of " +
			"its row on the test images of the task of its column. Above the diagonal, values may be absent. One file is one run: import each seed into a file of its own.\n" +
			"The metrics are computed from the accuracies. Reports mark the result as foreign, because ocl has not run it, and only `ocl report` reads it.",
		Args: exactly("MATRIX.csv"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.convert(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.about.Method, "method", "", "NAME\tname of the method; that of a method of ocl, or another one")
	flags.StringVar(&f.about.Data, "data", "", "NAME\tname of the data set, as results of ocl have it, such as cifar100")
	flags.StringVar(&f.about.Source.Program, "program", "", "NAME\tname of the program that measured, with its version if known")
	flags.Uint64Var(&f.about.Source.Seed, "seed", 1, "N\tseed of the run; means are over seeds")
	flags.IntVar(&f.memory, "memory", 0, "N\tstored samples (default: unknown, or none)")
	flags.StringVar(&f.about.Scenario, "scenario", string(ocl.ClassIncremental), "NAME\tclass-incremental or domain-incremental")
	flags.StringVar(&f.about.Protocol, "protocol", config.ProtocolStandard, "NAME\tstandard, survey or tuning")
	flags.BoolVar(&f.about.CommonTest, "common-test", false, "all tasks share one test set: each row has one number")
	flags.StringVar(&f.about.Citation, "citation", "", "TEXT\twhere the numbers or the method are published (default: none)")
	flags.StringVarP(&f.out, "out", "o", "",
		"PATH\tfile to write, NAME.json or NAME.json.gz (default: beside MATRIX.csv, as .json.gz)")
	_ = cmd.MarkFlagFilename("out", "json", "gz")
	return cmd
}

// convert writes the result of a table of accuracies.
func (f *importFlags) convert(cmd *cobra.Command, path string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	if f.out == "" {
		f.out = strings.TrimSuffix(path, filepath.Ext(path)) + result.Packed
	}
	if err := replaceable(f.out); err != nil {
		return fmt.Errorf("%s: %w", pathOf(cmd), err)
	}
	text, err := readTable(path)
	if err != nil {
		return fmt.Errorf("%s: %w", pathOf(cmd), err)
	}
	accuracy, err := foreign.Read(path, bytes.NewReader(text), f.about.CommonTest)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	f.about.Source.File, f.about.Source.Digest = filepath.Base(path), "sha256:"+hex.EncodeToString(sum[:])
	v := readVersion()
	f.about.Provenance = result.Provenance{Program: v.Version, Revision: v.source(), Go: runtime.Version()}
	r, err := foreign.Result(accuracy, f.about)
	if err != nil {
		return err
	}
	if err := output.Write("import", f.out, func(w io.Writer) error {
		return writeResult(w, r,
			strings.HasSuffix(f.out, ".gz"))
	}); err != nil {
		return err
	}
	if name := f.about.Data; !slices.Contains(data.Names(), name) {
		if near := nearest.Word(name, data.Names()); near != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: ocl has no data set %s, so no result of ocl stands beside this one. If %s is meant, import it again with --data %s.\n",
				escape.Line(name), near, near)
		}
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), escape.Line(f.out))
	return err
}

// check checks the flags, and takes the title of a method of ocl.
func (f *importFlags) check(cmd *cobra.Command) error {
	var faults []error
	fault := func(format string, a ...any) { faults = append(faults, fmt.Errorf(format, a...)) }
	for _, n := range []struct {
		flag, what string
		value      *string
	}{
		{"method", "a method", &f.about.Method}, {"data", "the data set", &f.about.Data},
		{"program", "the program that measured", &f.about.Source.Program},
	} {
		*n.value = strings.TrimSpace(*n.value)
		switch {
		case *n.value == "":
			fault("%s: --%s is missing. Give the name of %s", pathOf(cmd), n.flag, n.what)
		case utf8.RuneCountInString(*n.value) > limit.ForeignName ||
			strings.ContainsFunc(*n.value, func(r rune) bool { return !unicode.IsPrint(r) }):
			fault("--%s cannot be %.80q. Use at most %d characters that can be printed", n.flag, *n.value, limit.ForeignName)
		}
	}
	for _, c := range []struct {
		flag, value string
		choices     []string
	}{
		{"scenario", f.about.Scenario, []string{string(ocl.ClassIncremental), string(ocl.DomainIncremental)}},
		{"protocol", f.about.Protocol, []string{config.ProtocolStandard, config.ProtocolSurvey, config.ProtocolTuning}},
	} {
		if !slices.Contains(c.choices, c.value) {
			fault("--%s cannot be %.80q. Use %s", c.flag, c.value, nearest.Or(c.choices))
		}
	}
	if f.memory < 0 {
		fault("--memory: %d is out of range. Use the number of stored samples, or leave it out", f.memory)
	}
	if cmd.Flags().Changed("memory") {
		f.about.Source.Memory = &f.memory
	}
	if f.out != "" && !strings.HasSuffix(f.out, ".json") && !strings.HasSuffix(f.out, result.Packed) {
		fault("-o %s: the name must end in .json or %s. Choose another one", f.out, result.Packed)
	}
	if info, err := method.Lookup(f.about.Method); err == nil {
		f.about.Method, f.about.Title = info.Name, info.Title
		f.about.Citation = cmp.Or(f.about.Citation, info.Citation)
	}
	return usage(errors.Join(faults...))
}

// replaceable refuses to write over anything but an earlier import: a result of ocl may have taken days.
func replaceable(path string) error {
	switch r, err := result.ReadAny(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s exists and is no import. Choose another -o, or remove it", path)
	case r.Foreign == nil:
		return fmt.Errorf("%s is the result of a run of ocl, which is not written over. Choose another -o", path)
	}
	return nil
}

// readTable reads a file that may be a table of accuracies, at most as much of it as one can have.
func readTable(path string) ([]byte, error) {
	text, err := input.ReadFile(path, input.Want{Most: limit.Foreign})
	if err != nil {
		return nil, fmt.Errorf("%w. Give the path of a CSV file", err)
	}
	return text, nil
}

// writeResult writes a result, compressed without name and time, so that the same one gives the same bytes.
func writeResult(w io.Writer, r *result.Result, packed bool) error {
	text, err := result.Encode(r)
	if err != nil {
		return err
	}
	if !packed {
		_, err = w.Write(text)
		return err
	}
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	return z.Close()
}
