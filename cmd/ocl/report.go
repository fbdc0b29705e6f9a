package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ocl/experiment"
	"ocl/report"
	"ocl/report/findings"
	"ocl/report/known"
	"ocl/report/paper"
)

func newReport() *cobra.Command {
	var (
		out           string
		all, raw, png bool
		table, beside bool
	)
	cmd := &cobra.Command{
		Use:   "report DIR...",
		Short: "Write one report, with figures and tables, of the results in experiment or run folders.",
		Example: `  ocl report runs/er5k
  ocl report runs/er1k runs/er5k runs/er10k -o study
  ocl report --all runs/methods
  ocl report --json runs/er5k > er5k.json
  ocl report --paper --beside-paper results -o paper`,
		Long: "DIR is an experiment folder, a run folder, a folder of compressed results (NAME.json.gz), or the file of one result. " +
			"Without -o, the report of a single folder is written into that folder, and the report of a file beside it. " +
			"Only result files are read, so the data are not needed. A result that cannot be read is named and left out, and the exit code is 1.\n\n" +
			"With --paper, the report has the tables and figures of the survey instead, each under its label, in paper.html. It reads all results in the folders and in " +
			"the folders below, and finds by what was run which cell each belongs to. Cells without a result are marked, with the command that runs them.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(fmt.Errorf("%s: no folder is given. Give at least one folder with results, such as runs/er5k", pathOf(cmd)))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" && len(args) > 1 {
				return usage(fmt.Errorf("%s: %d folders are given, but no folder for their report. Add -o DIR", pathOf(cmd), len(args)))
			}
			if beside && !table {
				return usage(fmt.Errorf("%s: --beside-paper sets published values beside the tables of the survey, which are not asked for. Add --paper", pathOf(cmd)))
			}
			if table && (all || png) {
				return usage(fmt.Errorf("%s: --all and --png are about a report that --paper does not write. Remove one of them", pathOf(cmd)))
			}
			if table {
				return paperReport(cmd, args, out, raw, paper.Options{Beside: beside, Comments: findings.Comments})
			}
			written, err := report.Write(args, out, report.Options{Known: known.Methods(), Catalogue: experiment.Schema(), All: all, PNG: png})
			if written == nil {
				return err
			}
			if raw {
				return errors.Join(printJSON(cmd.OutOrStdout(), written), err)
			}
			_, printed := fmt.Fprintln(cmd.OutOrStdout(), written.Page)
			return errors.Join(printed, err)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder for the report, which is made if needed (default: the folder given)")
	cmd.Flags().BoolVar(&all, "all", false, "draw every row; by default the error analysis shows at most six rows per panel, ten heat maps of each kind and four confusion matrices")
	cmd.Flags().BoolVar(&png, "png", false, "write each figure as PNG too, for programs that take neither SVG nor PDF")
	cmd.Flags().BoolVar(&raw, "json", false, "print JSON instead of the path of the report: what was written, and the rows of the main table")
	cmd.Flags().BoolVar(&table, "paper", false, "write the tables and figures of the survey, each under its label: paper.html, tables as CSV, Markdown and LaTeX, figures as SVG and PDF")
	cmd.Flags().BoolVar(&beside, "beside-paper", false, "with --paper: the published value beside each cell, the difference and the verdict")
	annotate(cmd.Flags(), groupOutput, map[string]string{"out": "DIR", "all": "", "png": "", "json": "", "paper": "", "beside-paper": ""})
	_ = cmd.MarkFlagDirname("out")
	return cmd
}

// paperReport writes the tables and figures of the survey.
func paperReport(cmd *cobra.Command, dirs []string, out string, raw bool, o paper.Options) error {
	written, err := paper.Write(dirs, out, o)
	if written == nil {
		return err
	}
	if raw {
		return errors.Join(printJSON(cmd.OutOrStdout(), written), err)
	}
	_, printed := fmt.Fprintln(cmd.OutOrStdout(), written.Page)
	return errors.Join(printed, err)
}
