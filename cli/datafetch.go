package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ocl/data"
	"ocl/data/fetch"
	"ocl/internal/count"
	"ocl/internal/escape"
)

// filesOf returns the addresses of a data set. Tests put files of their own server there.
var filesOf = fetch.Files

func newDataFetch() *cobra.Command {
	var (
		dir   string
		quiet bool
	)
	cmd := &cobra.Command{
		Use:   "fetch NAME",
		Short: "Download the files of a data set from their official address.",
		Example: `  ocl data fetch cifar100 --data-dir DIR
  ocl data fetch cifar100 --data-dir DIR && ocl data verify cifar100 --data-dir DIR`,
		Long: "A file gets its name when it is complete and its checksum is right. Ctrl-C keeps the part that has come, in a file whose name ends in .part. " +
			"The same command continues there, and does not download complete files again. If a data set has no official address, the command " +
			"says how to get the files, and the exit code is 1.",
		Args:              exactly("NAME"),
		ValidArgsFunction: completeFirst(data.Names),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := lookupData(args[0])
			if err != nil {
				return err
			}
			if !info.NeedsDir {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s needs no files. Try `ocl run --data %s`\n", info.Name, info.Name)
				return err
			}
			files, known := filesOf(info.Name)
			if !known {
				return byHand(cmd, info)
			}
			if dir == "" {
				return usage(fmt.Errorf("%s: no folder is given. Use --data-dir with the folder for the files", pathOf(cmd)))
			}
			return fetchFiles(cmd, info.Name, files, dir, quiet)
		},
	}
	cmd.Flags().StringVar(&dir, "data-dir", "", "DIR\tfolder for the files; it is made if it is missing")
	inGroup(cmd.Flags(), "Flags")
	addQuiet(cmd.Flags(), &quiet)
	_ = cmd.MarkFlagDirname("data-dir")
	return cmd
}

// byHand says how to obtain a data set that cannot be downloaded.
func byHand(cmd *cobra.Command, info data.Info) error {
	text := fetch.HowTo(info.Name)
	if text == "" {
		return usage(fmt.Errorf("%s: %s is made of your own files, so there is nothing to download. `ocl data info %s` describes them",
			pathOf(cmd), info.Name, info.Name))
	}
	if _, err := fmt.Fprint(cmd.OutOrStdout(), text); err != nil {
		return err
	}
	return fmt.Errorf("%s: %s has no official address, so nothing was downloaded. Follow the steps above, then run `ocl data verify %s` with the folder",
		pathOf(cmd), info.Name, info.Name)
}

// fetchFiles downloads files to dir and says where they are and what to do next.
func fetchFiles(cmd *cobra.Command, name string, files []fetch.File, dir string, quiet bool) error {
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	show := newOpening(stderr, quiet)
	fmt.Fprintf(show.out, "downloading %s%s to %s. Ctrl-C stops, and the same command continues\n",
		count.Of(len(files), "file"), sizeOf(files), escape.Line(dir))
	show.words = count.Bytes
	err := fetch.Get(cmd.Context(), files, fetch.Options{
		Dir: dir, Progress: func(f fetch.File, done, total int64) { show.tell(f.Name, done, total) },
		Retrying: func(f fetch.File, r fetch.Retry) {
			show.end()
			fmt.Fprintf(stderr, "%s: %s; trying again in %s, attempt %d of %d, from byte %s\n",
				f.Name, escape.Line(r.Why.Error()), duration(r.Wait), r.Attempt, r.Of, count.Number(r.From))
		},
	})
	show.end()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintln(&b, escape.Line(filepath.Join(dir, filepath.FromSlash(f.Name))))
	}
	if text := fetch.HowTo(name); text != "" {
		fmt.Fprintf(&b, "\n%s", strings.ReplaceAll(text, "DATA-DIR", escape.Word(dir)))
	}
	fmt.Fprintf(&b, "\nnext:\n  ocl data verify %s --data-dir %s\n", name, escape.Word(dir))
	_, err = fmt.Fprint(stdout, b.String())
	return err
}

// sizeOf is the size of files together in words, "" if one of them is unknown.
func sizeOf(files []fetch.File) string {
	sum := int64(0)
	for _, f := range files {
		if f.Bytes == 0 {
			return ""
		}
		sum += f.Bytes
	}
	return " of " + count.Bytes(sum)
}
