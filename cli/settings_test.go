package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrongWords: a word that is neither a flag nor KEY=VALUE, a flag that is a key, and the path of data are told with
// the form that works.
func TestWrongWords(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "pictures")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"run er":                    `run: "er" is neither a flag nor KEY=VALUE. Write --method er, with commas`,
		"run --method er, mir":      `run: "mir" is neither a flag nor KEY=VALUE. Write --method mir,`,
		"config show --trick lb rv": `config show: "rv" is neither a flag nor KEY=VALUE. Write --trick rv. Commas between tricks make a run with each`,
		"run optimizer.lr 0.1":      `run: "optimizer.lr" is neither a flag nor KEY=VALUE. Write optimizer.lr=VALUE`,
		"run here":                  `run: "here" is neither a flag nor KEY=VALUE. Write KEY=VALUE, such as optimizer.lr=0.05`,
		"run --hidden 5":            "unknown flag --hidden. Write network.hidden=VALUE",
		"run optimizer.lrr=0.1":     "unknown key optimizer.lrr. Did you mean optimizer.lr?",
		"run weight-decay=0.1":      "unknown key weight-decay. Did you mean optimizer.weight_decay?",
		"run seed=-1":               "seed cannot be -1. Use a whole number",
		"tune protocol=survey":      "protocol cannot be set for this command",
		"run --trick lb_+_rv":       `config: tricks (--trick): "lb + rv" has spaces. Write lb+rv`,
		"run --data mine.npz":       `--data: "mine.npz" is a path, not a data set. Write --data npz --data-dir mine.npz`,
		"run data.name=" + folder: `--data: "` + folder + `" is a path, not a data set. Write --data NAME --data-dir ` +
			folder + "; `ocl data list` lists the names",
		"run --data cifr100": "config: data.name (--data): unknown data set \"cifr100\". Did you mean cifar100? `ocl data list` lists all data sets",
		"run --method er,mir,icarl --trick ncm": "config: tricks (--trick): icarl with ncm: it already predicts by the nearest class mean. Use another method or another trick\n" +
			"config: tricks (--trick): ncm is taken by er, mir alone. Use --classifiers head,ncm without the trick",
		"run --method er,gdumb --trick lb": "lb is taken by er alone. Give these methods with the trick in a command of their own, or leave the pairs out by `exclude`",
	} {
		root := newRoot(io.Discard, io.Discard)
		var args []string
		for _, word := range strings.Fields(line) {
			args = append(args, strings.ReplaceAll(word, "_+_", " + "))
		}
		root.SetArgs(args)
		if err := root.Execute(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", line, err, want)
		}
	}
}

// TestOptionsOfMethods: a command that trains takes the options of methods, also those that a grid does not vary, and
// another one refuses them.
func TestOptionsOfMethods(t *testing.T) {
	for line, want := range map[string]string{
		"tune --method slda method.slda.shrinkage=0.1 --dry-run": "",
		"run --method slda method.slda.shrinkage=0.1 --dry-run":  "",
		"data preview glyphs method.slda.shrinkage=0.1":          "method.slda.shrinkage cannot be set for this command. Remove it",
	} {
		root := newRoot(io.Discard, io.Discard)
		root.SetArgs(append(strings.Fields(line), "data.size=8", "data.train_per_class=2", "data.test_per_class=1"))
		err := root.Execute()
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) && want != "" {
			t.Errorf("%s\ngot  %v\nwant %q", line, err, want)
		}
	}
}

// TestCompletion: keys, their values and names are completed.
func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"run optimizer.n": "optimizer.name=\n:6\n", "run optimizer.name=a": "optimizer.name=adam\n:4\n",
		"run replay.joint=": "replay.joint=true\nreplay.joint=false\n:4\n",
		"run methods=fin":   "methods=finetune\n:4\n", "learn RUN replay.b": ":6\n", "tune protoc": ":6\n",
		"methods --json=uses": "",
	} {
		args := strings.Fields(line)
		if _, stdout, _ := called(t.Context(), append([]string{"__complete"}, args...)...); !strings.HasPrefix(stdout, want) {
			t.Errorf("%s: %q, want %q", line, stdout, want)
		}
	}
}

// TestSymbolsKeepTheirCase: a sentence that begins with a symbol of a formula does not change it.
func TestSymbolsKeepTheirCase(t *testing.T) {
	for text, want := range map[string]string{"λ, the weight": "λ, the weight", "α": "α", "weight of λ": "Weight of λ",
		"épreuve": "Épreuve", "": ""} {
		if got := upperFirst(text); got != want {
			t.Errorf("%q begins a sentence as %q, want %q", text, got, want)
		}
	}
}
