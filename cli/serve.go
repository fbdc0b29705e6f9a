package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ocl/config"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/internal/nearest"
	"ocl/learn/learner"
	"ocl/predict"
	"ocl/serve"
	"ocl/serve/page"
)

// Groups of the flags of `ocl serve`.
const (
	groupLearner = "Learner"
	groupNetwork = "Network"
)

// serveFlags are the flags of `ocl serve`.
type serveFlags struct {
	o          serve.Options
	config     string
	workers    int
	newClasses string
	rememberMB int64
	open       bool
	quiet      bool
	logFormat  string
	logLevel   string
	pairs      []string // KEY=VALUE
}

func newServe() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve DIR [KEY=VALUE...]",
		Short: "Predict over HTTP while learning from the pictures that come, and lose none of them.",
		Example: `  ocl serve cats --method er --memory 5000 --size 32 optimizer.lr=0.05
  ocl serve cats --init runs/er5k
  ocl serve photos --backbone lite0.safetensors --method slda
  ocl serve --play
  ocl serve cats --listen 0.0.0.0:8100 --tokens tokens --cert cert.pem --key key.pem
  ocl serve --follow https://learner:8100`,
		Long: "DIR is the folder of the daemon, which is made if it is not there. It has the journal of everything that was taken, and snapshots of the learner. " +
			"With --init or --method, an empty folder gets a learner; later the folder says what it is. Only programs on this machine reach the daemon, unless --listen says otherwise. " +
			"Ctrl-C and SIGTERM end it within ten seconds, and SIGHUP reads tokens and certificates again. docs/serve.md has the requests.",
		Args: func(cmd *cobra.Command, args []string) error {
			pairs, args := pairsOf(args)
			f.pairs = pairs
			if len(args) == 0 && (f.o.Play || f.o.Follow.URL != "" || f.config != "") {
				return nil
			}
			if err := exactly("DIR")(cmd, args); err != nil {
				return err
			}
			if near := nearest.Word(args[0], commandNames(cmd)); near != "" && !isThere(args[0]) {
				return usage(fmt.Errorf("serve: there is no folder %q. Did you mean `%s %s`? Write ./%s for a new folder of that name",
					args[0], cmd.CommandPath(), near, args[0]))
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return completeFolder(cmd, args, word)
			}
			return (&configFlags{takes: ofLearner}).complete(word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, words := pairsOf(args); len(words) > 0 {
				f.o.Dir = words[0]
			}
			return f.serve(cmd)
		},
	}
	f.define(cmd)
	cmd.AddCommand(newServeVerify(), newServeRebuild(), newServeToken())
	return cmd
}

// ofLearner says whether a key is one of those of a learner that sees no data set, most of which live takes.
func ofLearner(k config.Key) bool {
	return slices.ContainsFunc([]string{"network.", "optimizer.", "replay.", "method."},
		func(group string) bool { return strings.HasPrefix(k.Name, group) })
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// define defines the flags.
func (f *serveFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	d := &f.o.Daemon
	flags.StringVarP(&f.config, "config", "c", "",
		"FILE\tfile (YAML) with the names of these flags as keys, dir, and set with a list of KEY=VALUE; the command line overrides it")
	flags.StringVar(&d.Init, "init", "",
		"RUN\tan empty folder gets the learner of this run, or of this file of a program (default: none)")
	flags.StringVar(&d.Live.Method, "method", "",
		"NAME\tan empty folder gets a learner of this method, such as er or er+ncm (default: er)")
	flags.IntVar(&d.Live.Memory, "memory", 0, "N\tpictures that the method stores (default: 500)")
	flags.IntVar(&d.Live.Size, "size", 0,
		"N\tside of the pictures that the network sees, in pixels (default: 32, or that of --backbone)")
	flags.IntVar(&d.Live.Channels, "channels", 0, "N\t3 for colours, or 1 for grey (default: 3)")
	flags.IntVar(&d.Live.Capacity, "capacity", 0,
		"N\toutputs of the network at first; they double when all are taken (default: 256)")
	flags.StringVar(&d.Live.Backbone, "backbone", "",
		"FILE\tpretrained network: an empty folder gets a copy, and its learner learns embeddings of the pictures (docs/format/backbone.md); with --follow, that of the daemon (default: none)")
	flags.IntVar(&d.Batch, "batch", 10, "N\tpictures in a step")
	flags.DurationVar(&d.Age, "age", 200*time.Millisecond,
		"TIME\ttime after which a smaller batch is learned; a negative one is never")
	flags.IntVar(&d.Queue, "queue", 1000, "N\tpictures that may wait to be learned; further ones are put off")
	flags.StringVar(&f.newClasses, "new-classes", "refuse", "HOW\twhat an unknown label is: refuse, or allow for a new class")
	flags.Float64Var(&d.HeldOut, "held-out", 0.02,
		"SHARE\tshare of the samples that are not learned, and measure accuracy and forgetting")
	addUnknown(flags, &d.Live.Unknown)
	addCoverage(flags, &d.Live.Coverage)
	flags.IntVar(&d.Remember.Count, "remember", 10000,
		"N\tpictures that are remembered for their labels; beyond it the oldest go of the token that has most")
	flags.Int64Var(&f.rememberMB, "remember-mb", 256, "N\tsize of what is remembered, in megabytes")
	flags.DurationVar(&d.Remember.Age, "remember-age", 7*24*time.Hour, "TIME\ttime after which what is remembered goes")
	flags.IntVar(&d.VersionEvery, "version-every", 1000,
		"N\tpictures after which a version of the weights is kept, for going back to it; the last ten stay, and those with a name")
	flags.DurationVar(&d.VersionAge, "version-age", 10*time.Minute,
		"TIME\ttime after which a version is kept, where something was learned since the last")
	flags.BoolVar(&d.Retain, "retain", false, "keep all of the journal, for `ocl serve rebuild`; it then grows for ever")
	addWorkers(flags, &f.workers, "goroutines that learn; results do not depend on it (default: chosen)")
	flags.BoolVar(&f.o.Play, "play", false, "send built-in drawings as a stream: classes appear, and drift comes")
	inGroup(flags, groupLearner)
	flags.StringVar(&f.o.Listen, "listen", "127.0.0.1:8100", "ADDRESS\taddress and port")
	flags.StringVar(&f.o.Tokens, "tokens", "",
		"FILE\tfile of tokens, which `ocl serve token` makes; without it nobody is asked (default: none)")
	flags.StringVar(&f.o.Cert, "cert", "", "FILE\tfile of the certificate with its chain, PEM (default: no TLS)")
	flags.StringVar(&f.o.Key, "key", "", "FILE\tfile of the key of --cert, PEM")
	flags.BoolVar(&f.o.Insecure, "insecure", false, "let other machines in without tokens or without TLS")
	flags.StringSliceVar(&f.o.Hosts, "host", nil,
		"A,B\tnames by which the daemon may be asked for without tokens (default: localhost and addresses)")
	flags.StringVar(&f.o.Name, "name", "ocl", "NAME\tname of the model in the Open Inference Protocol")
	flags.StringVar(&f.o.Follow.URL, "follow", "",
		"URL\tpredict with the model of the daemon at this address, and learn nothing; OCL_TOKEN has its token")
	flags.StringVar(&f.o.Studio.URL, "label-studio", "",
		"URL\tlearn what is annotated in this project of Label Studio, such as http://localhost:8080/projects/1, and predict for it (docs/serve.md)")
	flags.StringVar(&f.o.Studio.TokenFile, "label-studio-token", "",
		"FILE\tfile of the access token of Label Studio (default: LABEL_STUDIO_API_KEY of the environment)")
	flags.StringVar(&f.o.Follow.CA, "ca", "",
		"FILE\twith --follow or --label-studio: file of certificates to trust, PEM (default: those of the system)")
	inGroup(flags, groupNetwork)
	flags.DurationVar(&f.o.Idle, "idle", 0, "TIME\tend when nobody has asked for this time, such as 30m (default: never)")
	flags.BoolVar(&f.open, "open", false, "open the page in a browser")
	flags.StringVar(&f.logFormat, "log", "text", "FORM\tform of the log on standard error: text or json")
	flags.StringVar(&f.logLevel, "log-level", "info", "LEVEL\tleast level of the log: debug, info, warn or error")
	addQuiet(flags, &f.quiet)
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	_ = cmd.MarkFlagFilename("backbone", "safetensors")
	completeFlag(cmd, "method", methodNames)
}

// serve runs the daemon until a signal comes.
func (f *serveFlags) serve(cmd *cobra.Command) error {
	if err := f.read(cmd); err != nil {
		return err
	}
	f.o.Daemon.Live.Set = append(f.o.Daemon.Live.Set, f.pairs...) // the last one of a key counts
	if err := f.check(); err != nil {
		return usage(fmt.Errorf("serve: %w", err))
	}
	log, err := serve.NewLog(cmd.ErrOrStderr(), f.logFormat, f.logLevel)
	if err != nil {
		return usage(fmt.Errorf("serve: %w", err))
	}
	playground := f.o.Play && f.o.Dir == ""
	if playground {
		dir, err := os.MkdirTemp("", "ocl-play-")
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		defer os.RemoveAll(dir)
		f.o.Dir = filepath.Join(dir, "daemon")
	}
	f.o.Daemon.NewClasses = f.newClasses == "allow"
	f.o.Daemon.Remember.Bytes = f.rememberMB * 1_000_000
	f.o.Daemon.Live.Workers, f.o.Daemon.Live.Nice = serve.Processors(f.workers)
	f.o.Log, f.o.Daemon.Log = log, log
	if f.o.Follow.URL == "" { // a replica has nothing to show
		f.o.Page = page.Handler()
	}
	f.o.Release = release
	f.o.Follow.Token = os.Getenv("OCL_TOKEN")
	f.o.Studio.Token, f.o.Studio.CA = os.Getenv("LABEL_STUDIO_API_KEY"), f.o.Follow.CA
	f.o.Ready = func(address string) {
		if !f.quiet {
			says := "%s/ shows the daemon. Ctrl-C ends it and keeps everything\n"
			switch {
			case f.o.Follow.URL != "":
				says = "%s predicts with the model of " + strings.ReplaceAll(escape.Line(f.o.Follow.URL), "%", "%%") +
					". Ctrl-C ends it\n"
			case playground:
				says = "%s/ shows the daemon. Ctrl-C ends it and removes everything; with a folder, as in `ocl serve cats --play`, it stays\n"
			}
			fmt.Fprintf(cmd.ErrOrStderr(), says, address)
			if share := f.o.Daemon.Live.Unknown; share > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "--unknown-below %v: nothing is unknown before %s calibrate the learner; ncm, slda and ranpac keep at most %d\n",
					share, count.Of(predict.CalibratedBy(share), "picture"), learner.MostKept)
			}
		}
		if f.open {
			openBrowser(cmd.ErrOrStderr(), address+"/")
		}
	}
	takeTime(cmd.Context()) // to drain is what a signal asks for
	err = inFlags(serve.Run(cmd.Context(), f.o))
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return nil
	case errors.Is(err, serve.ErrOther):
		return usage(fmt.Errorf("serve: %w", err))
	}
	return fmt.Errorf("serve: %w", err)
}

// inFlags is an error about options of package live, with flags in their places.
func inFlags(err error) error {
	if err == nil {
		return nil
	}
	return named(err, ", in the option Backbone", ", by --backbone FILE", "the option Backbone", "--backbone",
		"option Set: ", "", "Method: ", "--method: ", "option Size ", "--size ", "option Channels ", "--channels ")
}

// named is an error with other words in the places of some: what it names is called so here.
func named(err error, words ...string) error {
	return cause.As(errors.New(strings.NewReplacer(words...).Replace(err.Error())), err)
}

// check refuses flags that do not go together.
func (f *serveFlags) check() error {
	o := f.o
	d := o.Daemon
	learns := d.Init != "" || d.Live.Method != "" || d.Live.Memory != 0 || d.Live.Size != 0 || len(d.Live.Set) > 0
	switch {
	case o.Dir == "" && !o.Play && o.Follow.URL == "":
		return errors.New("DIR is missing. Write `ocl serve DIR`")
	case o.Follow.URL != "" && o.Studio.URL != "":
		return errors.New("--follow is for a replica, which learns nothing. Give --label-studio to the daemon that it follows")
	case o.Studio.URL != "" && o.Studio.TokenFile == "" && os.Getenv("LABEL_STUDIO_API_KEY") == "":
		return errors.New("--label-studio needs an access token. Put it into a file for --label-studio-token, or into LABEL_STUDIO_API_KEY of the environment")
	case o.Studio.URL == "" && o.Studio.TokenFile != "":
		return errors.New("--label-studio-token goes with --label-studio. Leave it out")
	case o.Follow.URL != "" && (o.Dir != "" || o.Play || learns):
		return errors.New("--follow is for a replica, which has no folder and learns nothing. Leave out DIR, --play, --init and --method")
	case o.Follow.CA != "" && o.Follow.URL == "" && o.Studio.URL == "":
		return errors.New("--ca goes with --follow or --label-studio. Leave it out")
	case o.Play && (o.Tokens != "" || o.Cert != ""):
		return errors.New("--play sends drawings without a token. Leave out --tokens and --cert")
	case d.Init != "" && (d.Live.Method != "" || d.Live.Memory != 0 || d.Live.Size != 0 || d.Live.Channels != 0 ||
		d.Live.Capacity != 0 || len(d.Live.Set) > 0):
		return errors.New("--init takes the learner of a run as it is. Leave out --method, --memory, --size, --channels, --capacity and KEY=VALUE; --backbone says where its pretrained network is")
	case o.Idle < 0:
		return fmt.Errorf("--idle cannot be %s. Use a time above 0, such as 30m", o.Idle)
	case f.newClasses != "refuse" && f.newClasses != "allow":
		return fmt.Errorf("--new-classes cannot be %.40q. Use refuse or allow", f.newClasses)
	case !(d.HeldOut >= 0 && d.HeldOut <= 0.5):
		return fmt.Errorf("--held-out cannot be %v. Use a share from 0 to 0.5", d.HeldOut)
	case d.Batch < 1 || d.Batch > limit.LiveBatch:
		return fmt.Errorf("--batch cannot be %d. Use 1 to %s", d.Batch, count.Number(limit.LiveBatch))
	case d.Queue < d.Batch || d.Queue > limit.LiveQueue:
		return fmt.Errorf("--queue cannot be %d. Use %d, which is --batch, to %s", d.Queue, d.Batch,
			count.Number(limit.LiveQueue))
	case d.VersionEvery < 1 || d.VersionAge <= 0:
		return errors.New("versions come after at least one picture and some time. Use 1 or more for --version-every, and a time above 0 for --version-age")
	case d.Remember.Count < 0 || f.rememberMB < 0 || d.Remember.Age < 0:
		return errors.New("what is remembered cannot be negative. Use 0 or more for --remember, --remember-mb and --remember-age")
	}
	return nil
}

// read reads the config file into the flags that are not on the command line.
func (f *serveFlags) read(cmd *cobra.Command) error {
	if f.config == "" {
		return nil
	}
	text, err := input.ReadFile(f.config, input.Want{Most: limit.Config})
	if err != nil {
		return fmt.Errorf("serve: --config: %s: %w", f.config, cause.Of(err))
	}
	list, err := serve.ReadConfig(text)
	if err != nil {
		return usage(fmt.Errorf("serve: %s: %w", f.config, err))
	}
	var faults []error
	for _, s := range list {
		if err := f.set(cmd.Flags(), s); err != nil {
			faults = append(faults, fmt.Errorf("serve: %s: line %d: %w", f.config, s.Line, err))
		}
	}
	return usage(errors.Join(faults...))
}

// set gives a flag the values of a config file.
func (f *serveFlags) set(flags *pflag.FlagSet, s serve.Setting) error {
	var names []string
	flags.VisitAll(func(g *pflag.Flag) {
		if g.Name != "config" && g.Name != "help" && g.Name != "no-color" && g.Name != "quiet" {
			names = append(names, g.Name)
		}
	})
	switch {
	case s.Name == "dir" && len(s.Values) == 1:
		if f.o.Dir == "" {
			f.o.Dir = s.Values[0]
		}
		return nil
	case s.Name == "set":
		f.o.Daemon.Live.Set = s.Values
		return nil
	case !slices.Contains(names, s.Name):
		hint := nearest.Names{List: append(names, "dir", "set"),
			All: "`ocl serve --help` lists all flags, which are the keys"}
		return fmt.Errorf("unknown key %.60q. %s", s.Name, hint.Hint(s.Name))
	case flags.Changed(s.Name):
		return nil
	}
	g := flags.Lookup(s.Name)
	if list := g.Value.Type() == "stringArray" || g.Value.Type() == "stringSlice"; !list && len(s.Values) != 1 {
		return fmt.Errorf("%s takes one value. Write %s: VALUE", s.Name, s.Name)
	}
	for _, v := range s.Values {
		if err := g.Value.Set(v); err != nil {
			return fmt.Errorf("%s cannot be %s. Use %s", s.Name, escape.Line(fmt.Sprintf("%.60q", v)), valueWords(g))
		}
	}
	return nil
}
