package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/experiment"
	"ocl/survey/findings"
	"ocl/survey/paper"
	"ocl/sweep/study"
	"ocl/view/known"
	"ocl/view/report"
)

func newReport() *cobra.Command {
	var (
		out             string
		dataDir         string
		images          bool
		all, png, latex bool
		quiet           bool
		raw             jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "report DIR...",
		Short: "Write one report, with figures and tables, of the results in experiment or run folders.",
		Example: `  ocl report runs/er5k
  ocl report runs/er1k runs/er5k runs/er10k -o study
  ocl report --all runs/methods
  ocl report --latex runs/er5k
  ocl report runs/er5k --data-dir DIR
  ocl report runs/er5k --json rows > er5k.json
  ocl report paper survey/results --beside -o paper`,
		Long: "DIR is an experiment folder, a run folder, a folder of compressed results (NAME.json.gz), or the file of one result. " +
			"Without -o, the report of a folder is written into that folder, and the report of a file beside it. " +
			"All numbers are read from result files. The data are not needed; where they are at hand, in --data-dir, in the recorded folder or in $" +
			dataVariable +
			", the page has images of the classes that are confused most. A result that cannot be read is left out and named, and the exit code is 1.",
		Args:              atLeastOne("DIR", "a folder with results, such as runs/er5k"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneFolder(cmd, args, out); err != nil {
				return err
			}
			o := report.Options{Known: known.Methods(), Tricks: known.Tricks(), Catalogue: experiment.Schema(), All: all,
				PNG: png, LaTeX: latex}
			if images {
				shown := &examples{dir: dataDir, stderr: cmd.ErrOrStderr(), quiet: quiet}
				o.Examples, o.Mistaken = shown.of, shown.mistaken
			}
			written, err := report.Write(cmd.Context(), args, out, o)
			if written == nil {
				return err
			}
			noteMissing(cmd.ErrOrStderr(), args)
			return errors.Join(err, raw.printOr(cmd.OutOrStdout(), written, escape.Line(written.Page)+"\n"))
		},
	}
	addOut(cmd, &out)
	cmd.Flags().BoolVar(&all, "all", false,
		"draw every row; by default the error analysis shows at most 8 rows per figure, ten heat maps of each kind and four confusion matrices")
	cmd.Flags().BoolVar(&latex, "latex", false,
		"write for a paper too: PDF figures for one and two columns, LaTeX tables, and paper.tex with all of them")
	cmd.Flags().BoolVar(&png, "png", false, "write each figure as PNG too, for programs that take neither SVG nor PDF")
	cmd.Flags().BoolVar(&images, "images", true,
		"show images of the classes that are confused most; false does not open the data")
	cmd.Flags().StringVar(&dataDir, "data-dir", "",
		"PATH\twhere the data lie on this machine, for data that are read from files (default: the recorded folder, or $"+dataVariable+")")
	addQuiet(cmd.Flags(), &quiet)
	addJSON(cmd, &raw, report.Written{})
	_ = cmd.MarkFlagDirname("data-dir")
	cmd.AddCommand(newReportPaper(), newReportImport())
	return cmd
}

// noteMissing says how many jobs of studies have no result, as when the folder of a shard was not copied: their report
// looks whole.
func noteMissing(to io.Writer, dirs []string) {
	for _, dir := range dirs {
		entries, err := study.ReadJobs(dir) // a folder that is no study, or was made by hand, has no list
		if err != nil {
			continue
		}
		missing := 0
		for _, e := range entries {
			if _, err := os.Stat(filepath.Join(dir, e.Folder, experiment.ResultFile)); err != nil {
				missing++
			}
		}
		if missing > 0 {
			fmt.Fprintf(to, "%s of %s in %s have no result, and the report shows the others. `ocl sweep status %s` lists them\n",
				count.Number(missing), count.Of(len(entries), "job"), escape.Line(dir), escape.Word(dir))
		}
	}
}

// addOut defines -o, the folder of a report.
func addOut(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "out", "o", "",
		"DIR\tfolder for the report, which is made if needed (default: the folder given)")
}

// oneFolder is an error where nobody says into which of several folders a report goes.
func oneFolder(cmd *cobra.Command, dirs []string, out string) error {
	if out == "" && len(dirs) > 1 {
		return usage(fmt.Errorf("%s: %d folders are given, but no folder for their report. Add -o DIR", pathOf(cmd),
			len(dirs)))
	}
	return nil
}

func newReportPaper() *cobra.Command {
	var (
		out    string
		beside bool
		raw    jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "paper DIR...",
		Short: "Write the tables and figures of the survey from results, each under its label.",
		Example: `  ocl report paper survey/results -o paper
  ocl report paper runs/study --beside`,
		Long: "All results in the folders and below them are read. Each belongs to the cell of the survey that its config says. A cell without a result is " +
			"marked, with the command that runs it. paper.html has everything. Tables are also written as CSV, Markdown and LaTeX, and figures as SVG and PDF.",
		Args:              atLeastOne("DIR", "a folder with results, such as runs/study"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			if err := oneFolder(cmd, dirs, out); err != nil {
				return err
			}
			written, err := paper.Write(cmd.Context(), dirs, out, paper.Options{Beside: beside, Comments: findings.Comments})
			if written == nil {
				return err
			}
			return errors.Join(err, raw.printOr(cmd.OutOrStdout(), written, escape.Line(written.Page)+"\n"))
		},
	}
	addOut(cmd, &out)
	cmd.Flags().BoolVar(&beside, "beside", false,
		"put the published value beside each cell, with the difference and the verdict")
	addJSON(cmd, &raw, paper.Written{})
	return cmd
}
