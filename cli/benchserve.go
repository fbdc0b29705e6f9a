package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ocl/cli/internal/bench/load"
	"ocl/internal/count"
	"ocl/internal/limit"
)

// servedBench is the JSON that `ocl bench serve` prints.
type servedBench struct {
	*load.Report
	// FsyncP50 and FsyncP99 are of a write of 3 kB with its fsync on the disk of the daemon's folder, in milliseconds; 0
	// for a daemon elsewhere.
	FsyncP50 float64 `json:"fsync_p50_ms"`
	FsyncP99 float64 `json:"fsync_p99_ms"`
}

func newBenchServe() *cobra.Command {
	var (
		o       load.Options
		labels  string
		asked   string
		seconds float64
		warm    float64
		method  string
		memory  int
		dir     string
		quiet   bool
		asJSON  jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "serve [KEY=VALUE...]",
		Short: "Measure how fast a daemon predicts and acknowledges labels while it learns.",
		Example: `  ocl bench serve
  ocl bench serve --jpeg
  ocl bench serve --labels 0 --batch 64 --predictions max
  ocl bench serve --labels 50 --seconds 60 --json all
  ocl bench serve --url http://127.0.0.1:8200`,
		Long: "Requests go at a steady rate, whether earlier ones were answered or not, and latencies count from the instant at which a request was meant to go. " +
			"With max they follow one another, and latencies count from the instant at which a request went. A daemon that has learned nothing is taught 100 pictures first. " +
			"Without --url a daemon with an empty learner is started for it, as a process of its own, and is removed at the end. With --url the load goes to a daemon that runs, which then " +
			"learns what it is sent, and gets ten classes: load-0 to load-9. OCL_TOKEN has the token of such a daemon. cli/internal/bench/serve_peer.py is a server to compare with. Run nothing else on the machine at the same time.",
		Args: func(cmd *cobra.Command, args []string) error {
			_, words := pairsOf(args)
			return exactly()(cmd, words)
		},
		RunE: func(cmd *cobra.Command, pairs []string) error {
			var err error
			if o.Feed, o.Labels, err = rateOf("labels", labels); err != nil {
				return err
			}
			if o.Flood, o.Predictions, err = rateOf("predictions", asked); err != nil {
				return err
			}
			if err := checkRanges([]rangeOf{
				{"batch", o.Batch >= 1 && o.Batch <= limit.LiveBatch, fmt.Sprintf("1 to %d", limit.LiveBatch)},
				{"size", o.Size >= 1 && o.Size <= 1024, "1 to 1024 pixels"},
				{"channels", o.Channels == 1 || o.Channels == 3, "1 or 3"},
				{"seconds", seconds > 0 && seconds < 1e6, "more than 0"}, {"warm", warm >= 0 && warm < 1e6, "0 or more"},
			}...); err != nil {
				return err
			}
			if o.JPEG && o.Batch != 1 {
				return usage(errors.New("--jpeg sends one photograph at a time. Leave out --batch"))
			}
			o.For, o.Warm, o.Token = time.Duration(seconds*float64(time.Second)), time.Duration(warm*float64(time.Second)),
				os.Getenv("OCL_TOKEN")
			o.URL = strings.TrimRight(o.URL, "/")
			if !quiet && isTerminal(cmd.ErrOrStderr()) {
				end := time.Now().Add(o.For + o.Warm)
				o.Watch = func(s load.Status) {
					fmt.Fprintf(cmd.ErrOrStderr(), "\r%s learned  %s left\x1b[K", count.Of(s.Samples.Learned, "picture"),
						duration(max(0, time.Until(end))))
				}
				defer fmt.Fprint(cmd.ErrOrStderr(), "\r\x1b[K")
			}
			var got servedBench
			if o.URL == "" {
				args := append([]string{"--method", method, "--memory", fmt.Sprint(memory), "--size", fmt.Sprint(o.Size),
					"--channels", fmt.Sprint(o.Channels)}, pairs...)
				own, err := startDaemon(cmd.Context(), dir, args)
				if err != nil {
					return err
				}
				defer own.end()
				if got.FsyncP50, got.FsyncP99, err = fsyncs(own.dir); err != nil {
					return fmt.Errorf("bench: measuring the disk: %w", err)
				}
				o.URL, o.Token = own.url, ""
			}
			if got.Report, err = load.Run(cmd.Context(), o); err != nil {
				return err
			}
			return asJSON.printOr(cmd.OutOrStdout(), got, printBenchServe(got))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.URL, "url", "", "URL\taddress of a daemon that runs (default: one is started)")
	flags.StringVar(&asked, "predictions", "100",
		"RATE\trequests for predictions a second; max for as many as are answered, 0 for none")
	flags.IntVar(&o.Batch, "batch", 1, "N\tpictures in a request")
	flags.BoolVar(&o.JPEG, "jpeg", false, "photographs of 640×480 as JPEG, in place of raw pixels")
	flags.StringVar(&labels, "labels", "max",
		"RATE\tlabelled pictures a second; max for as many as are learned, so that learning never pauses")
	flags.Float64Var(&seconds, "seconds", 20, "S\ttime to measure")
	flags.Float64Var(&warm, "warm", 3, "S\tseconds of load before it")
	flags.IntVar(&o.Size, "size", 32, "PIXELS\tside of the pictures that the network sees, in pixels")
	flags.IntVar(&o.Channels, "channels", 3, "N\t3 for colours, or 1 for grey")
	flags.StringVar(&method, "method", "er", "NAME\twithout --url: method of the daemon")
	flags.IntVar(&memory, "memory", 5000, "N\twithout --url: pictures that it stores")
	flags.StringVar(&dir, "dir", "", "DIR\twithout --url: a folder on the disk to measure (default: that for temporary files)")
	addJSON(cmd, &asJSON, servedBench{})
	addQuiet(flags, &quiet)
	return cmd
}

// rateOf reads a number of requests a second, or max.
func rateOf(flag, text string) (most bool, rate float64, err error) {
	if text == "max" {
		return true, 0, nil
	}
	if rate, err = strconv.ParseFloat(text, 64); err != nil || !(rate >= 0 && rate <= limit.BenchRate) {
		return false, 0, usage(fmt.Errorf("--%s: %.40q is out of range. Use max, or 0 to %d a second", flag, text,
			limit.BenchRate))
	}
	return false, rate, nil
}

// ownDaemon is a daemon that was started to be measured.
type ownDaemon struct {
	cmd *exec.Cmd
	dir string // removed at the end
	url string
}

// startDaemon starts a daemon in a new folder below dir, and returns when it answers.
func startDaemon(ctx context.Context, dir string, args []string) (*ownDaemon, error) {
	top, err := os.MkdirTemp(dir, "ocl-bench-")
	if err != nil {
		return nil, fmt.Errorf("bench: %w. Choose another --dir", err)
	}
	d := &ownDaemon{dir: top}
	program, err := os.Executable()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(top))
	}
	d.cmd = exec.CommandContext(ctx, program)
	d.cmd.Args = append([]string{os.Args[0], "serve", filepath.Join(top, "daemon"), "--listen", "127.0.0.1:0", "--log",
		"json", "--quiet"}, args...)
	d.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OCL_TOKEN=") })
	said, err := d.cmd.StderrPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bench: starting a daemon: %w", err), os.RemoveAll(top))
	}
	in, tail := bufio.NewScanner(said), bytes.Buffer{}
	for in.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(in.Bytes(), &line) == nil && line.Msg == "ready" {
			d.url = line.Address
			go func() { // its log goes on
				for in.Scan() {
				}
			}()
			return d, nil
		}
		fmt.Fprintf(&tail, "%s\n", in.Bytes())
	}
	d.end()
	if err := ctx.Err(); err != nil { // it was ended
		return nil, err
	}
	return nil, fmt.Errorf("bench: the daemon ended at once: %s", strings.TrimSpace(tail.String()))
}

// end ends the daemon, whose folder nobody needs.
func (d *ownDaemon) end() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
	_ = os.RemoveAll(d.dir)
}

// fsyncs measures writes of 3 kB with an fsync each: the middle and the 99th of a hundred, in milliseconds.
func fsyncs(dir string) (p50, p99 float64, err error) {
	f, err := os.CreateTemp(dir, "fsync")
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	var took []time.Duration
	for range 200 {
		begun := time.Now()
		if _, err := f.Write(make([]byte, 3072)); err != nil {
			return 0, 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, 0, err
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	return took[len(took)/2].Seconds() * 1000, took[len(took)*99/100].Seconds() * 1000, nil
}

func printBenchServe(s servedBench) string {
	var b strings.Builder
	t := table{head: []string{"requests", ">a second", ">p50, ms", ">p90, ms", ">p99, ms", ">most, ms", ">refused", ">failed"}}
	ms := func(v float64) string { return fmt.Sprintf("%.1f", v) }
	for _, r := range []struct {
		name string
		c    load.Calls
	}{{"predictions", s.Predictions}, {"acknowledged labels", s.Labels}} {
		if r.c.Sent > 0 {
			t.rows = append(t.rows, []string{r.name, ms(r.c.PerSecond), ms(r.c.P50), ms(r.c.P90), ms(r.c.P99), ms(r.c.Max),
				count.Number(r.c.Refused), count.Number(r.c.Failed)})
		}
	}
	b.WriteString(t.String())
	fmt.Fprintf(&b, "\n%.1f pictures learned a second; at most %s of memory and %s on the disk\n", s.Learned,
		count.Bytes(s.MostMemory), count.Bytes(s.MostDisk))
	if s.FsyncP50 > 0 {
		fmt.Fprintf(&b, "a write of 3 kB with its fsync: p50 %.2f ms, p99 %.2f ms\n", s.FsyncP50, s.FsyncP99)
	}
	for _, c := range []load.Calls{s.Predictions, s.Labels} {
		if c.Fault != "" {
			fmt.Fprintf(&b, "first failure: %s\n", c.Fault)
		}
	}
	return b.String()
}
