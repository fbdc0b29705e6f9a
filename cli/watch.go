package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/view/known"
	"ocl/view/report"
	watching "ocl/view/watch"
)

// watchFlags are the flags of `ocl watch`.
type watchFlags struct {
	out     string
	address string
	port    int
	open    bool
	idle    time.Duration
	quiet   bool
}

func newWatch() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch DIR",
		Short: "Show runs in a browser while they are at work, and write their report.",
		Example: `  ocl watch runs/er5k
  ocl watch runs/study --port 8080 --open`,
		Long: "DIR is the folder of a run, an experiment or a study. It may be missing: the page waits for it. The runs may be at work on other machines that share the folder. " +
			"The page is the report of what is measured so far. It also shows how far each run is and the time that is left, and it updates itself. " +
			"When all runs have ended, or after Ctrl-C, the report is written as `ocl report` writes it. Nothing else is changed. " +
			"Only programs on this machine can see the page, unless --address says otherwise.",
		Args:              exactly("DIR"),
		ValidArgsFunction: completeFolder,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.watch(cmd, args[0]) },
	}
	flags := cmd.Flags()
	addOut(cmd, &f.out)
	flags.StringVar(&f.address, "address", "127.0.0.1",
		"ADDRESS\taddress of this machine for the page; with another address than the default, other machines may see the page")
	flags.IntVar(&f.port, "port", 0, "N\tport of the page (default: a free one)")
	flags.BoolVar(&f.open, "open", false, "open the page in a browser")
	flags.DurationVar(&f.idle, "idle", 0, "TIME\tend when no run has been at work for this time, such as 30m (default: never)")
	addQuiet(flags, &f.quiet)
	return cmd
}

// watch serves the page until all runs have ended or a signal comes, and writes the report.
func (f *watchFlags) watch(cmd *cobra.Command, dir string) error {
	if f.port < 0 || f.port > 65535 {
		return usage(fmt.Errorf("--port cannot be %d. Use a number from 0 to 65535", f.port))
	}
	if f.idle < 0 {
		return usage(fmt.Errorf("--idle cannot be %s. Use a time above 0, such as 30m", f.idle))
	}
	ip := net.ParseIP(f.address)
	if ip == nil && f.address != "localhost" {
		return usage(fmt.Errorf("--address cannot be %q. Use an address of this machine in numbers, such as 127.0.0.1",
			f.address))
	}
	if err := watching.Check(dir); err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	on, err := listenForPage(cmd.Context(), stderr, f.address, strconv.Itoa(f.port))
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	page := "http://" + on.Addr().String() + "/"
	if !f.quiet {
		fmt.Fprintf(stderr, "%s shows %s. Ctrl-C ends it and writes the report\n", page, escape.Line(dir))
	}
	if f.open {
		openBrowser(stderr, page)
	}
	o := watching.Options{Report: report.Options{Known: known.Methods(), Tricks: known.Tricks(),
		Catalogue: experiment.Schema()}, Idle: f.idle,
		Told: func(problem string) { fmt.Fprintln(stderr, escape.Line(problem)) }}
	s, err := watching.New(dir, o).Serve(cmd.Context(), on, o)
	if err != nil {
		return fmt.Errorf("watch: the page cannot be shown any longer: %w. Give the same command again", err)
	}
	if !f.quiet && s != nil && s.Over() {
		fmt.Fprintf(stderr, "all runs have ended (%s failed)\n", count.Number(progress.Count(s.Jobs).Failed))
	}
	return f.leave(cmd, dir, s)
}

// leave writes the report, if there is a result.
func (f *watchFlags) leave(cmd *cobra.Command, dir string, s *watching.State) error {
	if s == nil {
		return fmt.Errorf("interrupted before anything was read: %w", context.Canceled)
	}
	if signalled := cmd.Context().Err() != nil; signalled && !s.Results() {
		fmt.Fprintln(cmd.ErrOrStderr(), "no run has a result yet, so there is no report")
		return nil
	} else if signalled {
		if !f.quiet {
			fmt.Fprintln(cmd.ErrOrStderr(), "writing the report. Ctrl-C again ends without it")
		}
		takeTime(cmd.Context()) // the report of hundreds of runs takes seconds
	}
	written, err := leaveReport(cmd, dir, f.out, f.quiet)
	if written == nil {
		return err
	}
	_, printed := fmt.Fprintln(cmd.OutOrStdout(), escape.Line(written.Page))
	return errors.Join(err, printed)
}

// listenForPage listens at an address, and warns where others than this machine can read the page.
func listenForPage(ctx context.Context, stderr io.Writer, host, port string) (net.Listener, error) {
	address := net.JoinHostPort(host, port)
	on, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w. Use another port or address", address, refused(err))
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		fmt.Fprintf(stderr, "warning: everybody who reaches %s over the network can read this page. Leave out the address if only this machine should\n",
			host)
	}
	return on, nil
}

// openBrowser opens a page in the browser of the person, or says that it could not.
func openBrowser(stderr io.Writer, page string) {
	words := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if words == nil {
		words = []string{"xdg-open"}
	}
	//nolint:noctx // it goes on when this command has ended
	if err := exec.Command(words[0], append(words[1:], page)...).Start(); err != nil {
		fmt.Fprintf(stderr, "no browser was opened (%v). Open %s yourself\n", err, page)
	}
}

// refused is the system's error about an address, without the address.
func refused(err error) error {
	var of *net.OpError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
