package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ocl/data"
	"ocl/internal/count"
	"ocl/internal/escape"
)

func newDataCache() *cobra.Command {
	var asJSON jsonFlag
	cmd := group(&cobra.Command{
		Use:   "cache",
		Short: "List and remove the files of decoded images and of embeddings.",
		Example: `  ocl data cache
  ocl data cache --json files
  ocl data cache clean --older-than 30`,
		Long: "Image files are decoded once, and the embeddings of a --backbone are made once. ocl keeps them as files in the folder that OCL_CACHE names, or else in the folder ocl of " +
			"your user cache. If you remove a file, it is made again when it is needed. For each file the list shows the data set, the images, size, age, state and source.",
	}, newDataCacheClean())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		dir, err := data.CacheDir()
		if err != nil {
			return err
		}
		list, err := data.Caches()
		if asJSON.given {
			return errors.Join(asJSON.print(cmd.OutOrStdout(), cachesJSON{dir, append([]data.CacheFile{}, list...)}), err)
		}
		return errors.Join(writeCaches(cmd.OutOrStdout(), dir, list), err)
	}
	addJSON(cmd, &asJSON, cachesJSON{})
	return cmd
}

func newDataCacheClean() *cobra.Command {
	var (
		days   int
		asJSON jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "clean [NAME...]",
		Short: "Remove the files of decoded images, all or those of some data sets.",
		Example: `  ocl data cache clean
  ocl data cache clean glyphs npz
  ocl data cache clean --older-than 30`,
		Long: "Without NAME, damaged files are removed too, because they belong to no data set. What a killed command left unfinished is always removed. A file that " +
			"is being made is kept. On Windows, a file that another ocl uses is kept, and the command names it.",
		Args: func(_ *cobra.Command, args []string) error {
			for _, name := range args {
				if _, err := lookupData(name); err != nil {
					return err
				}
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return data.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, names []string) error {
			if days < 0 {
				return usage(fmt.Errorf("--older-than: %d is out of range. Use a number of days, or 0 for all files", days))
			}
			before := time.Now().AddDate(0, 0, -days)
			gone, err := data.CleanCaches(func(f data.CacheFile) bool {
				return (len(names) == 0 || slices.Contains(names, f.Name)) && (days == 0 || f.Made.Before(before))
			})
			if asJSON.given {
				return errors.Join(asJSON.print(cmd.OutOrStdout(), append([]data.CacheFile{}, gone...)), err)
			}
			return errors.Join(writeCleaned(cmd.OutOrStdout(), gone), err)
		},
	}
	cmd.Flags().IntVar(&days, "older-than", 0, "DAYS\tonly files that were made more than so many days ago")
	inGroup(cmd.Flags(), "Flags")
	addJSON(cmd, &asJSON, data.CacheFile{})
	return cmd
}

// cachesJSON is the JSON that `ocl data cache --json` prints.
type cachesJSON struct {
	Folder string           `json:"folder"`
	Files  []data.CacheFile `json:"files"`
}

// writeCaches prints a table of the files, their folder and how much room they take.
func writeCaches(w io.Writer, dir string, list []data.CacheFile) error {
	if len(list) == 0 {
		_, err := fmt.Fprintf(w, "no files of decoded images in %s\n", escape.Line(dir))
		return err
	}
	t := table{head: []string{"data set", ">images", "shape", ">size", "made", "state", "source"}}
	for _, f := range list {
		row := []string{"?", "?", "?", count.Bytes(f.Bytes), f.Made.Local().Format("2006-01-02 15:04"), "damaged",
			f.Path + ": " + f.Fault}
		if f.Fault == "" {
			row[0], row[1] = f.Name, count.Number(f.Images)
			row[2] = fmt.Sprintf("%d×%d×%d", f.Shape[0], f.Shape[1], f.Shape[2])
			row[5], row[6] = "good", f.Source
		}
		if f.Faults > 0 {
			row[5] = count.Number(f.Faults) + " left out"
		}
		t.rows = append(t.rows, row)
	}
	if err := t.write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s, %s, in %s\n", count.Of(len(list), "file"), count.Bytes(room(list)), escape.Line(dir))
	return err
}

// writeCleaned prints what was removed.
func writeCleaned(w io.Writer, gone []data.CacheFile) error {
	var b strings.Builder
	for _, f := range gone {
		what := fmt.Sprintf("%s, %s", f.Name, count.Of(f.Images, "image"))
		if f.Fault != "" {
			what = f.Fault
		}
		fmt.Fprintln(&b, escape.Line(fmt.Sprintf("removed %s (%s, %s)", f.Path, what, count.Bytes(f.Bytes))))
	}
	fmt.Fprintf(&b, "%s removed, %s freed\n", count.Of(len(gone), "file"), count.Bytes(room(gone)))
	_, err := io.WriteString(w, b.String())
	return err
}

// room is the size of files together, in bytes.
func room(list []data.CacheFile) (sum int64) {
	for _, f := range list {
		sum += f.Bytes
	}
	return sum
}
