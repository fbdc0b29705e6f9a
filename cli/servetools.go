package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ocl/internal/escape"
	"ocl/serve"
	"ocl/serve/api"
	"ocl/serve/daemon"
)

// replayed is the JSON that `ocl serve verify --json` prints.
type replayed struct {
	From   int64  `json:"from"`   // event of the snapshot from which the journal was learned again
	To     int64  `json:"to"`     // event of the snapshot with which the state was compared
	Last   int64  `json:"last"`   // event up to which the journal was learned after that
	Digest string `json:"digest"` // of the state that was made
	Want   string `json:"want"`   // of the state in the snapshot; empty where there is no second one
	Same   *bool  `json:"same"`   // null where there was no second snapshot to compare with
}

func newServeVerify() *cobra.Command {
	var asJSON jsonFlag
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Learn again what the journal of a daemon has, and compare.",
		Example: `  ocl serve verify cats
  ocl serve verify cats --json all`,
		Long: "The daemon must have ended, or DIR is a copy. The oldest snapshot is opened and the journal after it is learned again; the digest of that state is compared with that of the newest snapshot. " +
			"All other files are read too. Exit code 4 says that the folder is damaged, or lacks something. Nothing is changed, and DIR may be on a disk that cannot be written.",
		Args:              exactly("DIR"),
		ValidArgsFunction: completeFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := daemon.Verify(cmd.Context(), args[0], daemon.Options{})
			if err != nil {
				err = fmt.Errorf("serve verify: %w", inFolder(err))
			}
			if errors.Is(err, daemon.ErrDamaged) {
				return coded{err, exitDifferent}
			}
			if err != nil {
				return err
			}
			out, same := replayed{From: r.From, To: r.To, Last: r.Last, Digest: r.Digest, Want: r.Want}, r.Same()
			if r.Compared() {
				out.Same = &same
			}
			err = asJSON.printOr(cmd.OutOrStdout(), out, r.Text()+"\n")
			if r.Compared() && !same {
				err = errors.Join(err, coded{fmt.Errorf("serve verify: %s holds another state than its journal makes. docs/serve.md says what that can be",
					escape.Line(args[0])), exitDifferent})
			}
			return err
		},
	}
	addJSON(cmd, &asJSON, replayed{})
	return cmd
}

// inFolder is an error about the folder of a daemon, which has the pretrained network in a file.
func inFolder(err error) error {
	return named(err, ", in the option Backbone", ": put it into the folder as backbone.safetensors")
}

func newServeRebuild() *cobra.Command {
	var quiet bool
	cmd := &cobra.Command{
		Use:   "rebuild DIR",
		Short: "Learn everything again without the pictures that were forgotten.",
		Example: `  ocl serve rebuild cats
  ocl serve rebuild cats --quiet`,
		Long: "After a picture is forgotten, the weights still carry what was learned of it. rebuild learns all of the journal from its beginning, without such pictures. " +
			"Ids of erased pictures stay erased. What was measured of the old learner (accuracy, forgetting, drift) begins anew. The daemon must have ended, and must have kept its journal (--retain).",
		Args:              exactly("DIR"),
		ValidArgsFunction: completeFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := daemon.Rebuild(cmd.Context(), args[0], daemon.Options{}); err != nil {
				return fmt.Errorf("serve rebuild: %w", inFolder(err))
			}
			if !quiet {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s was learned again without what was forgotten; its accuracy is measured anew\n",
					escape.Line(args[0]))
			}
			return nil
		},
	}
	addQuiet(cmd.Flags(), &quiet)
	return cmd
}

func newServeToken() *cobra.Command {
	var (
		file string
		role string
		rate float64
	)
	cmd := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token for one who uses a daemon, and print it once.",
		Example: `  ocl serve token anna --role label --tokens tokens
  ocl serve token camera --role predict --rate 50 --tokens tokens`,
		Long: "The file gets a line with the name, the role, the rate and the hash of the token. Nobody can read the token from it. A token of the same name loses its place. " +
			"predict may predict and read; label may also send pictures, labels and classes; admin may also forget and go back. Send SIGHUP to a daemon that runs.",
		Args:              exactly("NAME"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return usage(errors.New("serve token: --tokens is missing. Name the file that gets the token"))
			}
			as, err := api.ParseRole(role)
			if err != nil {
				return usage(fmt.Errorf("serve token: --role: %w", err))
			}
			t, secret, err := api.NewToken(args[0], as, rate)
			if err != nil {
				return usage(fmt.Errorf("serve token: %w", err))
			}
			if err := serve.AddToken(file, t); err != nil {
				return fmt.Errorf("serve token: %w", err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), secret)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&role, "role", "predict", "ROLE\twhat the token may do: predict, label or admin")
	flags.Float64Var(&rate, "rate", 0, "N\trequests a second (default: any number)")
	flags.StringVar(&file, "tokens", "", "FILE\tfile of tokens, which is made if it is not there")
	_ = cmd.MarkFlagFilename("tokens")
	return cmd
}
